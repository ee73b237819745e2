"""Worker counts are adopted on evidence: beside a run of what is held, with the step as it is."""

import msgspec
import pytest

from search.imagined_gpu import QUICK_LOADER, STEP_MILLISECONDS, searched
from search.simulated_find import BASELINE, answer_of, goal_of, plan_of, search
from search.test_find import spoiled
from search.test_find_disturbed import slowed
from traindyno.analysis.find.attempts import UNCOMPARED, tried_end_to_end
from traindyno.analysis.find.forecast import forecast_seconds
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.analysis.probes import MOST_WORKERS
from traindyno.core.loading import GPU_DECODER, Decoder
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord
from traindyno.search.find.goal import Goal
from traindyno.search.find.sides import WORTH_SEARCHING
from traindyno.search.find.trials import changed

ON_CPU = Settings(batch_size=256, device="cpu")
CRASHED = Failure(outcome=Outcome.CRASH, message="it crashed", remedy="")


@pytest.mark.parametrize(
    ("cpus", "profile", "decoders"),
    [
        (24, "transfer_seconds=0.001", ()),
        (8, "transfer_seconds=0.0005,decode_seconds=5e-4", ()),
        (16, "", (GPU_DECODER,)),
    ],
)
def test_nothing_is_adopted_without_a_comparison_when_the_step_has_changed(
    cpus: int, profile: str, decoders: tuple[str, ...]
) -> None:
    goal = goal_of(cpus=cpus, decoders=("pil", "torchvision", "simplejpeg", *decoders))
    adopted = [each for each in answer_of(goal, search(goal, profile)).attempts if each.side == "data" and each.adopted]
    assert len(adopted) > 1
    assert all(each.ratio is not None for each in adopted)


def test_workers_that_are_slower_with_the_new_step_are_not_held() -> None:
    """24 workers are held when the step becomes faster; all other counts are slower with it."""

    def slow_others(record: TrialRecord) -> TrialRecord:
        settings, searching = record.spec.settings, record.spec.repeat < FIRST_ROUND
        others = record.spec.kind == "feed" and settings.precision == "bf16" and settings.num_workers != 24
        return slowed(record, 5.0) if others and searching else record

    goal = goal_of(cpus=24)
    history = search(goal, tamper=slow_others)
    assert plan_of(goal).findings(history).held.settings.num_workers == 24


def test_a_run_beside_nothing_is_not_adopted() -> None:
    goal = goal_of()
    history = search(goal)
    findings = plan_of(goal).findings(history[:1])
    held, tried = changed(findings.held, {"memory_format": "channels_last"}), changed(findings.held, {"num_workers": 4})
    findings.held = held
    record = history[0]
    findings.note_feed(tried, record)
    attempt = tried_end_to_end(findings, tried, record, 1.01)
    assert not attempt.adopted
    assert attempt.outcome == UNCOMPARED
    findings.note_feed(held, msgspec.structs.replace(record, measurement=None, failure=CRASHED))
    assert tried_end_to_end(findings, tried, record, 1.01).adopted


def test_a_run_that_differs_too_much_to_tell_is_not_called_slower() -> None:
    goal = goal_of()
    history = search(goal)
    findings = plan_of(goal).findings(history[:1])
    tried, told = changed(findings.held, {"num_workers": 4}), history[0].measurement
    assert told is not None
    once = slowed(msgspec.structs.replace(history[0], measurement=msgspec.structs.replace(told, steps=1)), 1.2)
    findings.note_feed(tried, once)
    assert tried_end_to_end(findings, tried, once, 1.01).outcome == "not told apart: its steps differ too much"
    steady = slowed(history[0], 1.2)
    findings.feeds[tried] = [steady]
    assert tried_end_to_end(findings, tried, steady, 1.01).outcome == "not faster"


def test_a_source_whose_runs_fail_is_given_up_after_two() -> None:
    def failing(record: TrialRecord) -> TrialRecord:
        fails = record.spec.kind == "feed" and record.spec.workload.data == "prepared:/store"
        return msgspec.structs.replace(record, measurement=None, failure=CRASHED) if fails else record

    goal = goal_of(cpus=8, prepare="prepared:/store", is_prepared=True)
    history = search(goal, tamper=failing)
    assert len([each for each in history if each.measurement is None]) == 2
    answer = answer_of(goal, history)
    assert answer.recommended.data == "folder:/data"
    assert len(answer.attempts) == len({(each.change, each.outcome) for each in answer.attempts})


@pytest.mark.parametrize("settings", [ON_CPU, BASELINE], ids=["CPU", "GPU"])
@pytest.mark.parametrize("own", [0, 1])
def test_where_two_workers_do_not_share_a_stream_out_more_are_not_tried(settings: Settings, own: int) -> None:
    refused = Failure(outcome=Outcome.USER_ERROR, message="not shared", remedy="", details={MOST_WORKERS: "1"})

    def refusing(record: TrialRecord) -> TrialRecord:
        several = record.spec.kind in ("feed", "load") and record.spec.settings.num_workers > 1
        ended = {"outcome": Outcome.USER_ERROR, "measurement": None, "failure": refused} if several else {}
        return msgspec.structs.replace(record, **ended)

    goal = goal_of(msgspec.structs.replace(settings, num_workers=own), cpus=8, decoders=("pil",))
    history = search(goal, tamper=refusing)
    several = [each.spec.settings.num_workers for each in history if each.spec.settings.num_workers > 1]
    assert len(several) == 1
    attempts = answer_of(goal, history).attempts
    (said,) = [each for each in attempts if each.change == "more than 1 worker"]
    assert said.outcome == "not tried: they do not share the data out"


def test_what_ran_beside_nothing_is_judged_once_what_is_held_has_run() -> None:
    """Prepared data should be far faster and are not: the first run of them is compared with a run, not a forecast."""

    def hardly_faster(record: TrialRecord) -> TrialRecord:
        late = record.spec.kind == "feed" and record.spec.settings.precision == "bf16"
        if not late:
            return record
        usual = 0.30 if record.spec.workload.data == "prepared:/store" else 0.31
        return slowed(record, usual / record.measurement.step_seconds) if record.measurement is not None else record

    goal = goal_of(cpus=8, prepare="prepared:/store", is_prepared=True, decoders=("pil",))
    history = search(goal, "decode_seconds=1e-3", tamper=hardly_faster)
    answer = answer_of(goal, history)
    assert any(each.spec.workload.data == "prepared:/store" for each in history)
    assert not [each for each in answer.attempts if each.outcome == UNCOMPARED]


def loaders_tried(goal: Goal, profile: str = "") -> list[tuple[str, bool]]:
    """Decoder and pinning of all that was fed while it was searched, without the baseline."""
    searching = [each.spec for each in search(goal, profile) if each.spec.repeat < FIRST_ROUND]
    fed = [spec.settings for spec in searching if spec.kind == "feed" and spec.settings.num_workers]
    return [(settings.decoder, settings.pin_memory) for settings in fed]


def test_on_a_gpu_a_loader_is_tried_with_its_batches_pinned() -> None:
    """Left to a switch of its own, it came too late: copies that are not pinned had let the GPU's decoder win."""
    decoders = ("pil", "torchvision", "simplejpeg", "nvjpeg")
    tried = loaders_tried(goal_of(cpus=8, decoders=decoders), "transfer_seconds=0.001")
    assert "simplejpeg" in {decoder for decoder, _ in tried}
    assert all(pinned for _, pinned in tried)


def test_batches_are_not_pinned_where_that_may_not_change_or_gains_nothing() -> None:
    assert not any(pinned for _, pinned in loaders_tried(goal_of(keep=("pin_memory",))))
    goal = goal_of(Settings(batch_size=256, device="cpu"))
    assert loaders_tried(goal)
    assert not any(pinned for _, pinned in loaders_tried(goal))


def test_batches_that_are_pinned_faster_than_assumed_do_not_keep_the_step_from_being_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """60,000 examples/s came from pinned memory, and a step three times as fast was thought to gain nothing."""
    quick = {step: 0.06 * milliseconds for step, milliseconds in STEP_MILLISECONDS.items()}
    monkeypatch.setattr("search.imagined_gpu.STEP_MILLISECONDS", quick)
    own = Settings(batch_size=256, device="simulated", num_workers=4)
    goal = goal_of(own, cpus=32, budget_seconds=600, prepare="prepared:/store")
    answer = answer_of(goal, searched(goal))
    assert answer.recommended.settings["compile"] != "none"


def test_a_step_in_balance_with_its_loader_has_its_switches_tried() -> None:
    """Each takes as long as the other and holds it up, more than the simulation foretells."""
    goal = goal_of(cpus=8)
    history = search(goal)
    first_pair = next(number for number, record in enumerate(history) if record.spec.kind == "pair")
    findings = plan_of(goal).findings(history[:first_pair])
    measured, foretold = findings.rate(findings.held), forecast_seconds(findings, findings.held)
    assert measured is not None
    assert foretold is not None
    assert measured.step_seconds > WORTH_SEARCHING * foretold
    assert answer_of(goal, history).recommended.settings["precision"] == "bf16"


def test_no_switch_is_tried_for_a_loader_that_is_slower_than_foretold() -> None:
    """Training waits for it most of the time, and no faster step would change that."""

    def slow_loader(record: TrialRecord) -> TrialRecord:
        return slowed(record, 1.15) if record.spec.kind == "feed" else record

    history = search(goal_of(keep=("num_workers", "decoder")), tamper=slow_loader)
    assert "pair" not in {record.spec.kind for record in history}


@pytest.mark.parametrize("minutes", [4, 8, 15])
def test_on_a_host_of_two_cpus_the_training_process_is_not_thought_faster_than_its_workers(minutes: int) -> None:
    own = Settings(batch_size=256, device="simulated", num_workers=1)
    goal = goal_of(own, cpus=2, budget_seconds=60.0 * minutes, decoders=("pil",), also=("memory:folder:/data",))
    found = answer_of(goal, searched(goal, loader=QUICK_LOADER))
    assert found.recommended.confirmed
    assert found.recommended.settings["num_workers"] == 2
    assert found.speedup > 1.8


def test_fewer_workers_are_not_held_beside_a_step_that_has_not_run_with_the_others() -> None:
    """Lower precision spoils the loss; without it the step has run with no worker, and not with the two held."""
    own = Settings(batch_size=256, device="simulated")
    decoders: tuple[Decoder, ...] = ("pil", "torchvision", "simplejpeg")
    for minutes in range(3, 11):
        goal = goal_of(
            own,
            cpus=2,
            budget_seconds=60.0 * minutes,
            decoders=decoders,
            also=("memory:folder:/data",),
            keep=("memory_format",),
        )
        found = answer_of(goal, searched(goal, spoiled, loader=QUICK_LOADER))
        assert found.recommended.confirmed
        assert found.speedup > 2.5
