"""The planted bottleneck must be the one that is named."""

import math
import random
from dataclasses import replace

import msgspec
import pytest

from search.fake_loader import FakeMachine, blocks_of, loader_template, run_loader
from traindyno.analysis.stall_causes import TRANSFER
from traindyno.analysis.stall_commands import prepare_command, stalls_command
from traindyno.analysis.stall_losses import Losses
from traindyno.analysis.stall_runs import COLD, HOST_CACHED, WARM, run_name
from traindyno.analysis.stall_shares import Difference
from traindyno.analysis.stall_verdicts import headline, hidden
from traindyno.analysis.stalls import conclude_stalls
from traindyno.core.answers import Remedy, StallCause, StallsAnswer
from traindyno.core.codec import encode
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec
from traindyno.core.requests import Bench, StallsRequest
from traindyno.search.stalls import StallsPlan

LIGHT = {"fetch": 0.001, "decode": 0.002, "augment": 0.001}


def template(machine: FakeMachine, workers: int = 4) -> TrialSpec:
    made = loader_template(machine.device)
    return msgspec.structs.replace(made, settings=msgspec.structs.replace(made.settings, num_workers=workers))


def request(machine: FakeMachine, workers: int = 4, also: tuple[str, ...] = ()) -> StallsRequest:
    made = template(machine, workers)
    return StallsRequest(workload=made.workload, bench=Bench(device=machine.device), settings=made.settings, also=also)


def study(machine: FakeMachine, workers: int = 4, also: tuple[str, ...] = ()) -> list[TrialRecord]:
    return run_loader(StallsPlan(template(machine, workers), also=also), machine)


def concluded(machine: FakeMachine, workers: int = 4, also: tuple[str, ...] = ()) -> StallsAnswer:
    asked = request(machine, workers, also)
    return conclude_stalls(asked, study(machine, workers, also), usable_cpus=machine.cpus)


def cause(answer: StallsAnswer, name: str) -> StallCause:
    return next(each for each in answer.causes if each.cause == name)


def remedy(answer: StallsAnswer, words: str) -> Remedy | None:
    return next((each for each in answer.remedies if words in each.action), None)


def said(answer: StallsAnswer, *words: str) -> bool:
    return any(all(word in verdict for word in words) for verdict in answer.verdicts)


def changed(record: TrialRecord, **fields: object) -> TrialRecord:
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, **fields))


def taking(machine: FakeMachine, name: str, seconds: tuple[float | None, ...]) -> list[TrialRecord]:
    """A study whose run of that name took so long in each round; null leaves a round as it was."""
    made = template(machine)
    history = []
    for record in study(machine):
        same = run_name(record.spec, made.workload.data, 64) == name
        planted = seconds[record.spec.repeat] if same else None
        fields = {} if planted is None else {"step_seconds": planted, "blocks": blocks_of(planted, spread=0.002)}
        history.append(changed(record, **fields))
    return history


CPU = FakeMachine(device="cpu", cpus=2, step_seconds=0.04, stages={"example": 0.005}, noise=0.0001, interference=0.0)


def on_a_cpu(
    wait: float | None,
    slower: tuple[float, ...] = (0.02,) * 3,
    drift: float | None = 1.0,
    run: str = WARM,
    machine: FakeMachine = CPU,
) -> StallsAnswer:
    """A step of 40 ms whose run of that name waits so long for its batch, and takes longer besides in each round.

    The second look of its trials is `drift` times as long as the first. The warm run loses nothing beside another.
    """
    made, history = template(machine, workers=2), []
    for record in run_loader(StallsPlan(made, cold=run == COLD), machine):
        name, repeat = run_name(record.spec, made.workload.data, 64), record.spec.repeat
        if name == run:
            record = losing(record, wait, slower[repeat], drift)
        elif name == WARM:
            record = losing(record, 0.0, 0.0, 1.0)
        history.append(record)
    asked = msgspec.structs.replace(request(machine, workers=2), cold=run == COLD)
    return conclude_stalls(asked, history, usable_cpus=2)


def losing(record: TrialRecord, wait: float | None, slower: float, drift: float | None) -> TrialRecord:
    """The same trial with a step that takes 40 ms by itself at first; null is what an old record does not tell."""
    assert record.measurement is not None
    looks = 0.04 * math.sqrt(drift or 1.0)
    loading = {"wait_seconds": wait, "resident_drift": drift, "resident_step_seconds": looks}
    told = msgspec.structs.replace(record.measurement.loading, **loading)
    seconds = 0.04 + (wait or 0.0) + slower
    return changed(record, step_seconds=seconds, blocks=blocks_of(seconds, spread=0.002), loading=told)


def held_up(record: TrialRecord) -> TrialRecord:
    """The same trial, in which every fifth block holds a batch that came late: it lasts half as long again."""
    assert record.measurement is not None
    blocks = tuple(
        msgspec.structs.replace(block, seconds=block.seconds * (1.5 if number % 5 == 3 else 1.0))
        for number, block in enumerate(record.measurement.blocks)
    )
    return changed(record, blocks=blocks)


PLANTED = {
    "data: fetch": {"stages": {"fetch": 0.6, "decode": 0.1, "augment": 0.05, "collate": 0.01}},
    "data: decode": {"stages": {"fetch": 0.05, "decode": 0.6, "augment": 0.1, "collate": 0.01}},
    "data: augment": {"stages": {"fetch": 0.05, "decode": 0.1, "augment": 0.6, "collate": 0.01}},
    "data: example": {"stages": {"example": 0.7}},
    "data: hand-off": {"stages": LIGHT, "hand_off_seconds": 0.08},
    "transfer": {"stages": LIGHT, "transfer_seconds": 0.02},
    "launch": {"stages": LIGHT, "transfer_seconds": 0.0, "launch_share": 0.97},
    "compute": {"stages": LIGHT, "transfer_seconds": 0.0},
}


@pytest.mark.parametrize("bound", PLANTED)
@pytest.mark.parametrize("seed", range(2))
def test_the_planted_bottleneck_is_named(bound: str, seed: int) -> None:
    answer = concluded(FakeMachine(**PLANTED[bound], seed=seed))  # type: ignore[arg-type]
    assert answer.bound == bound


@pytest.mark.parametrize("bound", ["data: decode", "data: augment"])
def test_on_a_cpu_too_the_planted_stage_is_named(bound: str) -> None:
    machine = FakeMachine(device="cpu", cpus=2, step_seconds=0.2, **PLANTED[bound])  # type: ignore[arg-type]
    assert concluded(machine, workers=1).bound == bound


def test_a_step_that_is_slower_beside_the_loader_on_a_cpu_waits_for_nothing() -> None:
    """It waits 1.2 ms of 61.2, and takes 60 ms beside the loader where it takes 40 alone."""
    answer = on_a_cpu(wait=0.0012)
    assert answer.bound == "compute, shared with the loader"
    assert answer.stall_share == pytest.approx(0.0012 / 0.0612, abs=0.002)
    assert answer.slowed_share == pytest.approx(0.02 / 0.0612, abs=0.002)
    assert answer.runs["warm"].wait_seconds == 0.0012
    assert cause(answer, "slower beside the loader").exposed_seconds == pytest.approx(0.02, rel=0.02)
    assert cause(answer, "example").exposed_seconds == pytest.approx(0.0012, rel=0.05)
    assert said(answer, "Beside the loader it is slower: 33 % of each step is lost to that, 2 % to waiting")
    assert said(answer, "takes 60.0 ms beside the loader and 40.0 ms alone: 2 workers and the step share 2 CPUs")
    assert said(answer, "Fewer workers may help, a faster loader would not")
    assert not said(answer, "Training waits")


def test_a_step_that_is_slower_beside_the_loader_is_offered_fewer_workers_and_no_other_loader() -> None:
    """What the simulation foretells nothing from is not offered."""
    assert on_a_cpu(wait=0.0012).remedies == ()
    (found,) = on_a_cpu(wait=0.0012, machine=replace(CPU, stages={"example": 0.02}, found={})).remedies
    assert found.action == "use 0 workers instead of 2"


def test_a_launch_bound_step_that_is_slower_beside_the_loader_is_offered_a_larger_batch() -> None:
    answer = on_a_cpu(wait=0.0012, machine=replace(CPU, launch_share=0.97, found={}))
    assert answer.bound == "launch, shared with the loader"
    assert said(answer, "half the batch takes nearly as long. Beside the loader it is slower: 33 % of each step")
    assert [each.action for each in answer.remedies] == ["use a batch of 128"]


def test_a_step_by_itself_that_drifted_blames_nobody() -> None:
    """By itself it takes 40 ms before its loader has run and 60 ms after: the loader need not be why."""
    answer = on_a_cpu(wait=0.0012, drift=1.5)
    assert answer.bound == "not settled"
    assert answer.stall_share == pytest.approx(0.0012 / 0.0612, abs=0.002)
    assert cause(answer, "slower, not settled why").exposed_seconds == pytest.approx(0.02, rel=0.02)
    assert said(answer, "Not settled: training waits 2 % of each step and loses 33 % without waiting")
    assert said(answer, "by itself the step took 1.50 times as long after its loader had run as before")
    assert not said(answer, "may help")
    assert answer.remedies == ()


def test_a_drift_that_is_less_than_what_a_step_loses_leaves_the_rest_to_its_loader() -> None:
    answer = on_a_cpu(wait=0.0012, slower=(0.03, 0.03, 0.03), drift=1.2)
    assert answer.bound == "compute, shared with the loader"


def test_a_drift_takes_nothing_from_what_is_waited_for() -> None:
    answer = on_a_cpu(wait=0.03, drift=1.5)
    assert answer.bound == "data: example"
    assert answer.stall_share == pytest.approx(0.03 / 0.09, abs=0.002)
    most = 0.09 / 0.06
    assert all(each.predicted_speedup <= most * 1.001 for each in answer.remedies)


def test_of_waiting_and_a_slower_step_the_larger_is_named_and_both_are_told() -> None:
    waiting, slower = on_a_cpu(wait=0.03), on_a_cpu(wait=0.01)
    assert (waiting.bound, slower.bound) == ("data: example", "compute, shared with the loader")
    assert said(waiting, "Training waits 33 % of each step, mostly for the loader")
    assert said(waiting, "takes 60.0 ms beside the loader and 40.0 ms alone")
    for answer in (waiting, slower):
        assert answer.slowed_share is not None
        lost = sum(each.exposed_share for each in answer.causes)
        assert lost == pytest.approx(answer.stall_share + answer.slowed_share, abs=0.002)
        assert lost == pytest.approx(1 - 0.04 / answer.runs["warm"].step_seconds, abs=0.002)


def test_a_slow_down_that_differs_from_run_to_run_settles_nothing() -> None:
    answer = on_a_cpu(wait=0.0012, slower=(0.001, 0.02, 0.05))
    assert answer.bound == "not settled"
    assert said(answer, "lost beside the loader, without waiting, but it may be anything from 0 % to")


def test_records_that_do_not_tell_their_wait_are_concluded_as_before() -> None:
    answer = on_a_cpu(wait=None, drift=None)
    assert answer.bound == "data: example"
    assert answer.stall_share == pytest.approx(0.02 / 0.06, abs=0.002)
    assert answer.slowed_share is None
    assert all(each.cause in ("example", "hand-off", "transfer") for each in answer.causes)


def test_what_the_host_of_a_gpu_waits_says_nothing_of_its_stall() -> None:
    machine = FakeMachine(**PLANTED["data: decode"])  # type: ignore[arg-type]
    history = [
        changed(record, loading=msgspec.structs.replace(record.measurement.loading, wait_seconds=0.0))
        if record.measurement is not None and record.measurement.loading is not None
        else record
        for record in study(machine)
    ]
    answer = conclude_stalls(request(machine), history, usable_cpus=8)
    assert answer == concluded(machine)
    assert answer.slowed_share is None


def test_a_cold_step_that_is_slower_without_waiting_does_not_wait_for_storage() -> None:
    answer = on_a_cpu(wait=0.001, slower=(0.05, 0.05, 0.05), run=COLD)
    assert cause(answer, "page cache").exposed_seconds == pytest.approx(0.001, rel=0.05)
    assert said(answer, "storage keeps up")


def test_cached_batches_whose_step_drifted_are_not_called_slow_to_move() -> None:
    answer = on_a_cpu(wait=0.0, drift=1.5, run=HOST_CACHED)
    assert answer.bound == "not settled"
    assert on_a_cpu(wait=0.0, drift=1.0, run=HOST_CACHED).bound == TRANSFER


def test_the_shares_of_the_step_are_those_that_were_planted() -> None:
    """Two workers take 0.4 s per batch where a step takes 0.05: seven eighths are waiting."""
    machine = FakeMachine(
        stages={"fetch": 0.2, "decode": 0.6}, worker_overhead=0.0, transfer_seconds=0.0, jitter=0.0, oversubscription=0
    )
    answer = concluded(machine, workers=2)
    assert answer.stall_share == pytest.approx(0.875, abs=0.01)
    assert answer.stall_share_ci95[0] <= answer.stall_share <= answer.stall_share_ci95[1]
    assert cause(answer, "decode").exposed_share == pytest.approx(0.75 * 0.875, abs=0.02)
    assert cause(answer, "fetch").exposed_share == pytest.approx(0.25 * 0.875, abs=0.02)


def test_a_stall_that_comes_now_and_then_is_one() -> None:
    """The middle block of the loader's is as fast as with resident data; an epoch is a tenth longer."""
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.001, jitter=0.0)
    history = [held_up(record) if record.spec.feed.supply == "loader" else record for record in study(machine)]
    answer = conclude_stalls(request(machine), history, usable_cpus=machine.cpus)
    assert answer.bound.startswith("data: ")
    assert answer.stall_share == pytest.approx(0.1 / 1.1, abs=0.005)
    assert answer.runs["warm"].step_seconds == pytest.approx(1.1 * answer.runs["resident"].step_seconds, rel=0.005)
    assert not said(answer, "the loader is hidden behind the step")


def test_what_disturbs_resident_and_fed_steps_alike_is_no_stall() -> None:
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.001, jitter=0.0)
    answer = conclude_stalls(request(machine), [held_up(each) for each in study(machine)], usable_cpus=machine.cpus)
    assert answer.bound == "compute"
    assert answer.stall_share < 0.01


def test_the_exposed_causes_add_up_to_the_stall() -> None:
    answer = concluded(FakeMachine(**PLANTED["data: decode"]))  # type: ignore[arg-type]
    exposed = sum(each.exposed_share for each in answer.causes if each.cause != "page cache")
    assert exposed == pytest.approx(answer.stall_share, abs=0.01)


def test_what_the_step_hides_is_told_beside_what_it_waits_for() -> None:
    answer = concluded(FakeMachine(stages={"fetch": 0.01, "decode": 0.1}, step_seconds=0.1, transfer_seconds=0.0))
    assert answer.bound == "compute"
    assert cause(answer, "decode").hidden_seconds == pytest.approx(0.1, rel=0.1)
    assert any("Hidden behind the step: decoding" in verdict for verdict in answer.verdicts)


def test_a_cold_page_cache_is_a_cause_of_its_own() -> None:
    answer = concluded(FakeMachine(stages=LIGHT, transfer_seconds=0.0, cold_seconds=1.0))
    assert answer.bound == "compute"
    assert cause(answer, "page cache").exposed_share > 0.5
    assert answer.runs["cold"].note is not None
    assert "dropped" in answer.runs["cold"].note


def test_a_first_epoch_is_longer_by_what_it_waits_over_what_it_does_not() -> None:
    """A cold step that waits 50 % of its time takes twice as long as a warm one, 100 % longer."""
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.0001)
    answer = conclude_stalls(request(machine), taking(machine, COLD, (0.1, 0.1, 0.1)), usable_cpus=8)
    assert said(answer, "50 % of a step is waiting for storage: a first epoch takes 100 % longer")


def test_cold_runs_that_differ_too_much_settle_nothing() -> None:
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.0001)
    answer = conclude_stalls(request(machine), taking(machine, COLD, (0.05, 0.1, 0.25)), usable_cpus=8)
    assert said(answer, "Not settled: 50 % of a cold step is waiting for storage, but it may be anything from 0 % to")
    assert not said(answer, "storage keeps up")


def test_warm_runs_that_differ_too_much_settle_nothing() -> None:
    """They wait 10, 25 and 40 % of a step: too much to call the step the limit, too unsure to name a stall."""
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.0001)
    answer = conclude_stalls(request(machine), taking(machine, WARM, (0.05556, 0.06667, 0.08333)), usable_cpus=8)
    assert answer.bound == "not settled"
    assert said(answer, "Not settled: training waits 25 % of each step", "more --repeats")
    assert answer.remedies == ()


@pytest.mark.parametrize("cached_share", [None, 0.06, 1.0])
def test_nothing_is_said_about_storage_unless_the_page_cache_was_seen_to_be_empty(cached_share: float | None) -> None:
    machine = FakeMachine(stages=LIGHT, cold_seconds=1.0)
    history = [
        changed(record, loading=msgspec.structs.replace(record.measurement.loading, cached_share=cached_share))
        if record.spec.feed.cold and record.measurement is not None and record.measurement.loading is not None
        else record
        for record in study(machine)
    ]
    answer = conclude_stalls(request(machine), history, usable_cpus=8)
    assert said(answer, "What an empty page cache costs is not known")
    assert not said(answer, "storage")
    assert all(each.cause != "page cache" for each in answer.causes)


def test_data_that_no_file_holds_is_said_to_have_no_cold_run() -> None:
    machine = FakeMachine(stages=LIGHT)
    workload = msgspec.structs.replace(template(machine).workload, data="cifar10:/data")
    plan = StallsPlan(msgspec.structs.replace(template(machine), workload=workload))
    asked = msgspec.structs.replace(request(machine), workload=workload)
    answer = conclude_stalls(asked, run_loader(plan, machine), usable_cpus=8)
    assert said(answer, "There is no cold run: this data is not read from files")


def test_of_a_dataset_of_ones_own_it_is_not_said_that_it_reads_no_files() -> None:
    machine = FakeMachine(stages=LIGHT)
    workload = msgspec.structs.replace(template(machine).workload, model="own.py:job", data="synthetic:")
    plan = StallsPlan(msgspec.structs.replace(template(machine), workload=workload))
    asked = msgspec.structs.replace(request(machine), workload=workload)
    answer = conclude_stalls(asked, run_loader(plan, machine), usable_cpus=8)
    assert said(answer, "There is no cold run: which files your own dataset reads is not known")


def test_nobody_waits_longer_than_the_whole_step() -> None:
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.0001)
    answer = conclude_stalls(request(machine), taking(machine, WARM, (0.01, 0.2, 5.0)), usable_cpus=8)
    assert answer.stall_share_ci95 == (0.0, 1.0)


def test_workers_hide_no_more_than_they_can_do_beside_the_step() -> None:
    machine = FakeMachine(stages={"fetch": 0.1, "decode": 0.6, "augment": 0.3}, step_seconds=0.1, transfer_seconds=0.0)
    answer = concluded(machine)
    hidden = sum(each.hidden_seconds or 0.0 for each in answer.causes)
    assert hidden <= 4 * answer.runs["resident"].step_seconds * 1.001


def test_what_the_gpu_decodes_is_not_called_moving_and_needs_no_pinning() -> None:
    machine = FakeMachine(stages={"fetch": 0.001, "collate": 0.001}, transfer_seconds=0.02)
    made = template(machine)
    settings = msgspec.structs.replace(made.settings, decoder="nvjpeg")
    history = run_loader(StallsPlan(msgspec.structs.replace(made, settings=settings)), machine)
    answer = conclude_stalls(msgspec.structs.replace(request(machine), settings=settings), history, usable_cpus=8)
    assert answer.bound == "GPU decode"
    assert said(answer, "mostly for the GPU to decode images")
    assert all(each.cause != "transfer" for each in answer.causes)
    assert remedy(answer, "pin") is None


def test_one_halved_batch_that_was_disturbed_does_not_make_a_step_launch_bound() -> None:
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.0001)
    answer = conclude_stalls(request(machine), taking(machine, "halved_batch", (0.05, None, None)), usable_cpus=8)
    assert answer.bound == "compute"


def test_a_prediction_that_misses_by_more_than_5_percent_is_told() -> None:
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.0001)
    answer = conclude_stalls(request(machine), taking(machine, WARM, (0.054, 0.054, 0.054)), usable_cpus=8)
    assert said(answer, "The prediction for warm was 7 % too short")


def test_the_command_of_a_remedy_measures_what_was_measured() -> None:
    asked = request(FakeMachine())
    workload = msgspec.structs.replace(asked.workload, skip_bad=True, conv1_stride=1)
    asked = msgspec.structs.replace(asked, workload=workload, repeats=5, trial_seconds=2.5, cold=False, local_ranks=2)
    command = stalls_command(asked, asked.settings)
    for words in ("--skip-bad", "--conv1-stride 1", "--repeats 5", "--trial-seconds 2.5s", "--no-cold"):
        assert f" {words}" in command
    assert "--local-ranks 2" in command
    assert prepare_command(asked).endswith(" --skip-bad")


@pytest.mark.parametrize("planted", ["data: fetch", "data: decode"])
def test_every_gain_that_was_not_simulated_from_measured_parts_alone_says_so(planted: str) -> None:
    answer = concluded(FakeMachine(cpus=4, **PLANTED[planted]))  # type: ignore[arg-type]
    ruled = [each for each in answer.remedies if not each.action.startswith(("use ", "give the job"))]
    assert ruled
    assert all("assumed" in each.action or "usually" in each.action for each in ruled)


def test_storage_that_keeps_up_is_said_to() -> None:
    answer = concluded(FakeMachine(stages=LIGHT))
    assert any("storage keeps up" in verdict for verdict in answer.verdicts)


def test_predictions_stand_beside_the_runs_and_agree() -> None:
    answer = concluded(FakeMachine(**PLANTED["data: decode"]))  # type: ignore[arg-type]
    for name in ("resident", "host_cached", "warm"):
        assert answer.predicted[name] == pytest.approx(answer.runs[name].step_seconds, rel=0.05)
        assert answer.runs[name].predicted_step_seconds == answer.predicted[name]
    assert answer.runs["cold"].predicted_step_seconds is None


def test_predictions_agree_over_many_machines() -> None:
    """Half of them within 5 %, from parts that were measured separately."""
    misses = []
    for seed in range(9):
        chance = random.Random(seed)
        step = 10 ** chance.uniform(-2, -0.5)
        load = step * 10 ** chance.uniform(-0.3, 1.3)
        machine = FakeMachine(cpus=16, step_seconds=step, stages={"fetch": 0.2 * load, "decode": 0.8 * load}, seed=seed)
        answer = concluded(machine, workers=chance.choice([1, 2, 4, 8]))
        misses.append(abs(answer.predicted["warm"] / answer.runs["warm"].step_seconds - 1))
    assert sorted(misses)[len(misses) // 2] <= 0.05


def test_another_source_is_run_predicted_and_offered() -> None:
    prepared = "prepared:/data/small"
    machine = FakeMachine(**PLANTED["data: decode"], sources={prepared: {"fetch": 0.02, "augment": 0.02}})  # type: ignore[arg-type]
    answer = concluded(machine, also=(prepared,))
    run = answer.runs["prepared"]
    assert run.source == prepared
    assert run.predicted_step_seconds == pytest.approx(run.step_seconds, rel=0.05)
    offered = remedy(answer, f"read from {prepared}, as measured here")
    assert offered is not None
    assert offered.predicted_speedup == pytest.approx(answer.runs["warm"].step_seconds / run.step_seconds)
    assert remedy(answer, "decode once into a prepared set") is None


def test_more_workers_are_the_cheapest_remedy_while_there_are_cpus() -> None:
    answer = concluded(FakeMachine(cpus=16, **PLANTED["data: decode"]))  # type: ignore[arg-type]
    first = answer.remedies[0]
    assert first.action.endswith("workers instead of 4")
    assert first.command is not None
    assert first.command.startswith("traindyno stalls --data folder:/data --model torchvision:resnet50")


def test_no_more_workers_are_offered_than_can_share_the_data() -> None:
    answer = concluded(FakeMachine(cpus=16, most_workers=6, **PLANTED["data: decode"]))  # type: ignore[arg-type]
    assert answer.remedies[0].action == "use 6 workers instead of 4"


def test_the_gain_of_more_workers_comes_true() -> None:
    machine = FakeMachine(cpus=16, **PLANTED["data: decode"])  # type: ignore[arg-type]
    before = concluded(machine)
    count = int(before.remedies[0].action.split()[1])
    after = concluded(machine, workers=count)
    gained = before.runs["warm"].step_seconds / after.runs["warm"].step_seconds
    assert before.remedies[0].predicted_speedup == pytest.approx(gained, rel=0.1)


def test_without_cpus_left_preparing_and_more_cpus_are_offered() -> None:
    answer = concluded(FakeMachine(cpus=4, **PLANTED["data: decode"]))  # type: ignore[arg-type]
    prepare = remedy(answer, "prepared set")
    assert prepare is not None
    assert prepare.command == "traindyno data prepare folder:/data prepared"
    assert prepare.predicted_speedup > 2
    assert remedy(answer, "give the job 8 CPUs instead of 4") is not None


def test_data_that_is_slow_to_fetch_is_offered_to_be_held_in_ram() -> None:
    answer = concluded(FakeMachine(cpus=4, **PLANTED["data: fetch"]))  # type: ignore[arg-type]
    held = remedy(answer, "RAM")
    assert held is not None
    assert "--data memory:folder:/data" in (held.command or "")


def test_transfers_are_offered_pinning_and_launches_a_larger_batch() -> None:
    moving = concluded(FakeMachine(**PLANTED["transfer"]))  # type: ignore[arg-type]
    assert "--pin-memory" in (moving.remedies[0].command or "")
    launching = concluded(FakeMachine(**PLANTED["launch"]))  # type: ignore[arg-type]
    assert launching.remedies[0].action == "use a batch of 128"
    assert launching.remedies[0].predicted_speedup == pytest.approx(2 / 1.06, rel=0.05)


def test_a_step_that_is_itself_the_limit_needs_no_remedy_of_loading() -> None:
    assert concluded(FakeMachine(**PLANTED["compute"])).remedies == ()  # type: ignore[arg-type]


def test_no_remedy_promises_more_than_resident_data_gives() -> None:
    for planted in PLANTED:
        if not planted.startswith("data"):
            continue
        answer = concluded(FakeMachine(**PLANTED[planted]))  # type: ignore[arg-type]
        most = answer.runs["warm"].step_seconds / answer.runs["resident"].step_seconds
        assert all(each.predicted_speedup <= most * 1.001 for each in answer.remedies)


def test_a_stall_within_the_noise_is_none() -> None:
    for seed in range(5):
        machine = FakeMachine(stages=LIGHT, transfer_seconds=0.0, noise=0.012, seed=seed)
        assert concluded(machine).bound == "compute"


def test_a_run_that_failed_is_named_and_the_others_are_still_compared() -> None:
    machine = FakeMachine(**PLANTED["data: decode"])  # type: ignore[arg-type]
    asked = request(machine)
    history = [record for record in study(machine) if record.spec.feed.supply != "cached"]
    answer = conclude_stalls(asked, history, usable_cpus=8)
    assert answer.bound == "data: decode"
    assert "host_cached" not in answer.runs


def test_without_the_runs_that_matter_there_is_no_answer() -> None:
    machine = FakeMachine(failures={4: Outcome.HANG})
    with pytest.raises(NothingMeasuredError):
        concluded(machine)


def test_an_answer_can_be_stored() -> None:
    answer = concluded(FakeMachine(**PLANTED["data: fetch"]))  # type: ignore[arg-type]
    assert msgspec.json.decode(encode(answer), type=StallsAnswer) == answer


def test_on_a_cpu_without_workers_nothing_is_hidden_and_nothing_moves_to_a_device() -> None:
    settings = Settings(batch_size=8, device="cpu")
    causes = (StallCause(cause="decode", exposed_seconds=0.0, exposed_share=0.0, ci95=(0.0, 0.0), hidden_seconds=0.01),)
    assert list(hidden(causes, settings)) == []
    (told,) = hidden(causes, msgspec.structs.replace(settings, num_workers=2))
    assert told == "Hidden behind the step: decoding, 10.0 ms of a worker's time per batch."
    (told,) = hidden(causes, msgspec.structs.replace(settings, device="cuda:0"))
    assert "of the process's time" in told
    moving = Difference(seconds=0.01, share=0.3, ci95=(0.2, 0.4))
    losses = Losses(stall=moving, loading=Difference(seconds=0.0, share=0.0, ci95=(0.0, 0.0)), moving=moving)
    assert "to come from memory" in headline(TRANSFER, losses, (), on_cpu=True)
    assert "moved to the device" in headline(TRANSFER, losses, (), on_cpu=False)
