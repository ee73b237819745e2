"""`find` and `verify` from request to answer, on a simulated machine whose effects are known."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import traindyno
from search.simulated_find import COMPUTE_BOUND
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.app.context import Context
from traindyno.app.decoders import usable_decoders
from traindyno.app.find import find_goal
from traindyno.app.resume import resume
from traindyno.core.answers import FindAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Event, Notice, TrialFinished
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, FindRequest
from traindyno.report.exports import Exporter
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.worker.data.prepared_format import Encoding, Header, PrepareRequest, write_header

MODEL, DATA = "torchvision:resnet50", "folder:/data"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def find(store: str, profile: str = "", **options: Any) -> FindAnswer:
    chosen = {"data": DATA, "batch_size": 256, "num_workers": 4, **options}
    return traindyno.find(MODEL, runner=f"simulated:{profile}", store=store, **chosen)


def finished(events: list[Event]) -> int:
    return sum(isinstance(event, TrialFinished) for event in events)


def test_training_that_waits_for_its_data_is_fed_faster(store: str) -> None:
    answer = find(store)
    assert answer.speedup > 2
    assert answer.recommended.settings["num_workers"] > 4
    assert answer.recommended.settings["batch_size"] == 256
    assert answer.bound_before.startswith("data")
    assert answer.simulated


def test_training_that_does_not_is_given_faster_steps(store: str) -> None:
    answer = find(store, "decode_seconds=0.00001,augment_seconds=0.00001", num_workers=8)
    assert answer.speedup > 1.5
    assert answer.recommended.settings["precision"] == "bf16"


def test_without_data_the_step_alone_is_searched(store: str) -> None:
    answer = find(store, data=None)
    assert answer.speedup > 1.5
    assert answer.recommended.data == "synthetic:"
    assert answer.recommended.settings["num_workers"] == 4


def test_what_is_kept_does_not_change(store: str) -> None:
    answer = find(store, keep="precision=fp32,decoder,workers,memory_format,batch_size")
    for found in (answer.recommended, *answer.finalists):
        changed = set(found.changes)
        assert not changed & {"precision", "decoder", "num_workers", "memory_format", "batch_size"}
    assert answer.with_free_batch is None


def test_a_batch_in_a_range_is_recommended_only_where_it_is_allowed(store: str) -> None:
    fast_data = "decode_seconds=0.00001,augment_seconds=0.00001"
    own = find(store, fast_data, batch_size=16, num_workers=8)
    assert own.recommended.batch_size == 16
    assert own.with_free_batch is not None
    assert own.with_free_batch.batch_size > 16
    free = find(store, fast_data, batch_size=16, num_workers=8, batch_range=(16, 128))
    assert 16 < free.recommended.batch_size <= 128
    assert free.recommended.learning_rate_factor == pytest.approx(free.recommended.batch_size / 16)


def test_data_is_prepared_only_where_that_is_allowed(store: str, tmp_path: Path) -> None:
    kept = find(store)
    assert kept.recommended.data == DATA
    assert any("--prepare" in offer.action for offer in kept.offered)
    prepared = find(store, prepare=tmp_path / "prepared")
    assert prepared.recommended.data == f"prepared:{tmp_path / 'prepared'}"
    assert prepared.speedup > kept.speedup
    assert not (tmp_path / "prepared").exists()


def test_other_sources_that_are_named_may_be_used(store: str) -> None:
    slow_disk = "fetch_seconds=0.02,decode_seconds=0.0001,augment_seconds=0.0001"
    assert find(store, slow_disk, also=["memory:"]).recommended.data == f"memory:{DATA}"


def test_the_plan_is_told_before_the_first_trial(store: str) -> None:
    events: list[Event] = []
    find(store, keep="precision", batch_range=(64, 512), on_event=events.append)
    first = next(number for number, event in enumerate(events) if isinstance(event, TrialFinished))
    told = "\n".join(event.text for event in events[:first] if isinstance(event, Notice))
    assert "plan: about " in told
    assert "1. the baseline as it is" in told
    assert "batch: 256, may change between 64 and 512" in told
    assert "kept: precision" in told


def test_the_plan_names_the_rounds_that_are_run(store: str) -> None:
    events: list[Event] = []
    find(store, repeats=1, on_event=events.append)
    told = "\n".join(event.text for event in events if isinstance(event, Notice))
    assert "end to end, in 2 rounds, more if they differ" in told


def test_a_study_that_was_stopped_is_resumed_and_ends_as_if_it_had_not_been(store: str) -> None:
    events: list[Event] = []
    whole = find(store, name="whole", on_event=events.append)
    seen: list[Event] = []

    def stop(event: Event) -> None:
        seen.append(event)
        if finished(seen) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(store, name="cut", on_event=stop)
    again: list[Event] = []
    answer = resume("cut", Context(store=store, emit=again.append)).answer
    assert finished(again) == finished(events) - 9
    assert answer.recommended == whole.recommended
    assert answer.finalists == whole.finalists
    assert answer.attempts == whole.attempts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "at least one example"),
        ({"keep": ["precison"]}, "nothing to keep by the name 'precison'"),
        ({"keep": "precision=fp32", "precision": "bf16"}, "precision is to be kept at fp32"),
        ({"batch_range": (16, 128)}, "batch of 256 lies outside of 16..128"),
        ({"batch_range": (512, 128)}, "512..128 is no range"),
        ({"batch_range": (1, 512), "keep": "batch_size"}, "cannot both be kept and change"),
        ({"prepare": "p", "keep": "augmentation"}, "changes the augmentation, which is to be kept"),
        ({"prepare": "p", "keep": "data"}, "changes the data, which is to be kept"),
        ({"prepare": "p", "data": None}, "there is no stored data"),
        ({"prepare": "p", "data": "prepared:x"}, "is prepared already"),
        ({"also": ["memory:"], "keep": "data"}, "cannot both be kept and come from elsewhere"),
        ({"also": ["memory:"], "data": None}, "no stored data was named"),
        ({"epochs": 0.0}, "epochs of 0"),
        ({"learning_rate": -0.1}, "learning rate of -0.1"),
        ({"margin": 5.0}, "no share of memory"),
        ({"baseline": "no-such.toml"}, "no-such.toml cannot be read"),
        ({"colour": "red"}, "there is no option colour"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    store: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(traindyno.TraindynoError) as caught:
        find(store, **options)
    assert message in caught.value.message
    assert caught.value.hint
    assert not Path(store).exists()


def test_another_source_that_is_not_there_is_refused_before_a_real_study_begins(store: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`also` names prepared:/no/such, and there is no /no/such"):
        traindyno.find(MODEL, f"folder:{tmp_path}", also=["prepared:/no/such"], store=store)
    assert not Path(store).exists()


def test_a_baseline_that_does_not_run_is_the_study_s_error(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="baseline itself does not run"):
        find(store, "limit=100")


def test_code_that_breaks_ends_the_study_and_goes_on_where_it_was_when_it_is_mended(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = find(store, name="whole")
    run, broken = SimulatedRunner.run, [False]
    failure = Failure(outcome=Outcome.USER_ERROR, message="licence server gone", remedy="start it")

    def failing(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log_path: Path | None = None) -> TrialRecord:
        record = run(self, spec, watcher, log_path)
        # The first round is whole, and so is the baseline of the second.
        broken[0] = broken[0] or spec.repeat == FIRST_ROUND + 1
        return (
            msgspec.structs.replace(record, outcome=failure.outcome, measurement=None, failure=failure)
            if broken[0]
            else record
        )

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedRunner, "run", failing)
        with pytest.raises(traindyno.TraindynoError, match="licence server gone"):
            find(store, name="late")
    answer = resume("late", Context(store=store)).answer
    assert answer.recommended == whole.recommended
    assert answer.finalists == whole.finalists


def test_settings_that_the_code_cannot_take_do_not_end_the_study(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SimulatedRunner.run
    failure = Failure(outcome=Outcome.USER_ERROR, message="no bf16 here", remedy="none", details={"arm": "candidate"})

    def refusing(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log_path: Path | None = None) -> TrialRecord:
        record = run(self, spec, watcher, log_path)
        refused = spec.settings.precision != "fp32"
        return (
            msgspec.structs.replace(record, outcome=failure.outcome, measurement=None, failure=failure)
            if refused
            else record
        )

    monkeypatch.setattr(SimulatedRunner, "run", refusing)
    answer = find(store, COMPUTE_BOUND)
    assert answer.recommended.settings["precision"] == "fp32"
    assert any("no bf16 here" in attempt.outcome for attempt in answer.attempts)


def request(device: str = "cuda", data: str = DATA, **changes: Any) -> FindRequest:
    settings = Settings(batch_size=64, device=device, decoder=changes.pop("decoder", "pil"))
    workload = WorkloadSpec(model=MODEL, data=data)
    return FindRequest(workload=workload, bench=Bench(device=device), settings=settings, **changes)


def test_a_gpu_may_decode_what_is_stored_as_jpeg() -> None:
    settings = Settings(batch_size=64)
    assert "nvjpeg" in usable_decoders(Bench(device="cuda:1"), "memory:folder:/x", settings)
    assert "nvjpeg" not in usable_decoders(Bench(device="cpu"), "folder:/x", settings)
    assert usable_decoders(Bench(device="cuda"), "cifar10:/x", settings) == ("pil",)
    assert find_goal(request(decoder="torchvision"), has_data=True).decoders[0] == "torchvision"
    assert find_goal(request(keep=("decoder",)), has_data=True).decoders == ("pil",)


def test_a_prepared_set_says_itself_whether_it_holds_pixels(tmp_path: Path) -> None:
    encodings: tuple[Encoding, ...] = ("u8", "jpeg")
    for encoding in encodings:
        (tmp_path / encoding).mkdir()
        asked = PrepareRequest(source="folder:/x", encoding=encoding)
        write_header(tmp_path / encoding, Header(request=asked, classes=2, planned=()))
    also = tuple(f"prepared:{tmp_path / encoding}" for encoding in encodings)
    goal = find_goal(request(also=(*also, f"memory:{also[0]}", "memory:folder:/x")), has_data=True)
    assert goal.pixels == (also[0], f"memory:{also[0]}")
    assert [len(find_goal(request(data=data), has_data=True).decoders) > 1 for data in also] == [False, True]
    simulated = find_goal(request(device="simulated", also=("prepared:/x",)), has_data=True)
    assert simulated.pixels == ("prepared:/x",)


def test_switches_that_are_kept_are_no_candidates() -> None:
    names = {candidate.switch for candidate in find_goal(request(keep=("precision", "data")), has_data=True).candidates}
    assert "compile" in names
    assert "precision" not in names
    everything = tuple(Settings.__struct_fields__)
    assert find_goal(request(keep=everything), has_data=True).candidates == ()


@pytest.fixture
def settings_file(store: str, tmp_path: Path) -> Path:
    from traindyno.app.library import study_document

    find(store, name="found")
    path = tmp_path / "found.toml"
    Exporter.prepare({"toml": path}).write(study_document("found", store))
    return path


def test_the_data_of_a_file_may_lie_elsewhere(settings_file: Path, store: str) -> None:
    answer = traindyno.verify(settings_file, data="folder:/elsewhere", runner="simulated", store=store)
    assert {answer.baseline.data, answer.recommended.data} == {"folder:/elsewhere"}


def test_a_gain_that_was_found_is_verified(store: str, settings_file: Path) -> None:
    answer = traindyno.verify(settings_file, runner="simulated", store=store)
    assert answer.holds is True
    assert answer.speedup == pytest.approx(answer.promised_speedup, rel=0.05)


def test_a_gain_that_is_not_there_elsewhere_does_not_hold(store: str, settings_file: Path) -> None:
    answer = traindyno.verify(settings_file, runner="simulated:decode_seconds=0.00001,cpus=64", store=store)
    assert answer.holds is False


def test_what_was_found_is_a_baseline_that_little_improves_on(store: str, settings_file: Path) -> None:
    answer = traindyno.find(MODEL, runner="simulated", baseline=settings_file, store=store)
    assert answer.data == DATA
    assert answer.baseline.settings["precision"] == "bf16"
    assert answer.speedup < 1.1


def test_an_option_wins_over_the_baseline_s_file(store: str, settings_file: Path) -> None:
    answer = traindyno.find(
        MODEL, runner="simulated", baseline=settings_file, precision="fp32", batch_size=64, store=store
    )
    assert answer.baseline.settings["precision"] == "fp32"
    assert answer.batch_size == 64
    assert answer.baseline.settings["decoder"] == "simplejpeg"


def test_verify_takes_no_options_of_the_workload(store: str, settings_file: Path) -> None:
    with pytest.raises(UsageError, match="there is no option image_size, precision here"):
        traindyno.verify(settings_file, image_size=32, precision="bf16", store=store)


def test_a_misspelt_option_is_answered_with_the_one_that_was_meant(store: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(store, batch_rang=(64, 512))
    assert caught.value.hint == "did you mean batch_range?"
