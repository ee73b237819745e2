"""`loader` and `stalls` from request to answer, on simulated machines whose costs are known."""

from pathlib import Path
from typing import Any

import pytest

import traindyno
from traindyno.app import workshop
from traindyno.core.answers import LoaderAnswer, StallsAnswer
from traindyno.core.events import Event, TrialFinished

DATA, MODEL = "folder:/data/train", "torchvision:resnet50"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def loader(store: str, model: str | None = None, profile: str = "", **options: Any) -> LoaderAnswer:
    return traindyno.loader(DATA, model, runner=f"simulated:{profile}", store=store, **options)


def stalls(store: str, profile: str = "", **options: Any) -> StallsAnswer:
    chosen = {"num_workers": 4, "batch_size": 256, "repeats": 2, "cold": False} | options
    return traindyno.stalls(DATA, MODEL, runner=f"simulated:{profile}", store=store, **chosen)


def test_the_workers_of_a_loader_alone_are_as_many_as_there_are_cpus(store: str) -> None:
    for cpus in (4, 8):
        answer = loader(store, profile=f"cpus={cpus}", decoder="pil")
        assert answer.usable_cpus == cpus
        assert cpus - 1 <= answer.recommended.num_workers <= cpus
        assert not answer.end_to_end


def test_a_model_that_takes_little_gets_few_workers(store: str) -> None:
    answer = loader(store, MODEL, "floor_seconds=2", decoder="pil")
    assert answer.recommended.num_workers <= 1
    assert answer.share_of_resident == pytest.approx(1, abs=0.05)
    assert any("more would not help" in verdict for verdict in answer.verdicts)


def test_the_search_takes_at_most_five_trials_and_finds_what_the_grid_finds(store: str) -> None:
    found = loader(store, MODEL, decoder="pil")
    counts = [0, 1, 2, 4, 6, 7, 8, 10]
    whole = loader(store, MODEL, grid=True, workers=counts, batch_size=64)
    best = max(point.examples_per_second for point in whole.grid)
    assert found.trials <= 5
    assert found.examples_per_second > 0.98 * best


def test_the_fastest_decoder_is_adopted_unless_one_is_named(store: str) -> None:
    assert loader(store).recommended.decoder == "simplejpeg"
    assert loader(store, decoder="torchvision").recommended.decoder == "torchvision"


def test_for_data_of_the_user_s_own_no_other_decoder_is_tried(store: str, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("def workload():\n    ...\n")
    tried: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, TrialFinished) and event.record.spec.kind == "probe":
            tried.append(event.record.spec.settings.decoder)

    traindyno.loader(f"{job}:workload", runner="simulated", store=store, on_event=note)
    assert tried == ["pil"]
    traindyno.loader(DATA, runner="simulated", store=store, on_event=note)
    assert tried[1:] == ["pil", "torchvision", "simplejpeg"]


def test_the_grid_has_every_cell_once(store: str) -> None:
    answer = loader(store, grid=True, workers=[0, 2], batch_size=[16, 64, 256])
    cells = [(point.batch_size, point.num_workers) for point in answer.grid]
    assert cells == [(size, workers) for size in (16, 64, 256) for workers in (0, 2)]
    assert all(point.epoch_seconds for point in answer.grid)


def test_without_named_workers_the_grid_doubles_up_to_the_cpus(store: str) -> None:
    answer = loader(store, profile="cpus=6", grid=True, batch_size=64)
    assert [point.num_workers for point in answer.grid] == [0, 1, 2, 4, 6]


def test_restricted_cpus_are_measured_and_judged(store: str) -> None:
    answer = loader(store, cpus=[2, 4, 8], decoder="pil")
    assert [point.cpus for point in answer.cpu_scaling] == [2, 4, 8]
    assert any(verdict.startswith("More CPUs load faster: 4 → 8") for verdict in answer.verdicts)


def test_start_up_is_spread_over_the_user_s_own_epoch(store: str) -> None:
    short, long = (loader(store, decoder="pil", epoch_examples=count) for count in (2_000, 10_000_000))
    assert short.recommended.persistent_workers
    assert not long.recommended.persistent_workers


def test_every_count_that_was_considered_has_an_expected_rate(store: str) -> None:
    answer = loader(store, MODEL, decoder="pil")
    rates = {rate.num_workers: rate for rate in answer.expected}
    assert rates[answer.recommended.num_workers].measured
    assert rates[1].examples_per_second < rates[4].examples_per_second
    assert all(rate.ci95[0] <= rate.examples_per_second <= rate.ci95[1] for rate in answer.expected)


@pytest.mark.parametrize(
    ("profile", "bound"),
    [
        ("", "data: decode"),
        ("decode_seconds=0,augment_seconds=0,fetch_seconds=0.006", "data: fetch"),
        ("decode_seconds=0.0001,augment_seconds=0.006", "data: augment"),
        ("decode_seconds=0,augment_seconds=0,transfer_seconds=0.0004", "transfer"),
        ("decode_seconds=0,augment_seconds=0,transfer_seconds=0", "compute"),
        ("decode_seconds=0,augment_seconds=0,transfer_seconds=0,floor_seconds=0.4", "launch"),
    ],
)
def test_the_verdict_names_the_planted_bottleneck(store: str, profile: str, bound: str) -> None:
    assert stalls(store, profile).bound == bound


def test_another_source_may_be_named_alone(store: str) -> None:
    assert stalls(store, also="memory:").runs.keys() == stalls(store, also=["memory:"]).runs.keys()


def test_the_prediction_stands_near_what_was_measured(store: str) -> None:
    answer = stalls(store)
    assert answer.predicted["warm"] == pytest.approx(answer.runs["warm"].step_seconds, rel=0.1)
    assert 0.5 < answer.stall_share < 0.7
    assert answer.remedies


def test_other_sources_of_the_same_examples_run_beside(store: str) -> None:
    runs = stalls(store, also=["memory:", "prepared:/p"]).runs
    assert runs["memory"].source == f"memory:{DATA}"
    assert runs["prepared"].examples_per_second > 2 * runs["warm"].examples_per_second
    assert "cold" not in runs


def test_data_of_ones_own_code_is_named_by_its_file_in_every_run(store: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def job(): ...\n")
    own = f"{tmp_path}/own.py:job"
    answer = traindyno.stalls(None, own, num_workers=2, batch_size=64, repeats=2, runner="simulated", store=store)
    assert {run.source for run in answer.runs.values()} == {answer.data} == {own}


def test_a_cold_page_cache_is_a_run_of_its_own(store: str) -> None:
    runs = stalls(store, cold=True).runs
    assert runs["cold"].step_seconds > runs["warm"].step_seconds
    assert "page cache was dropped" in (runs["cold"].note or "")


def test_every_trial_is_told(store: str) -> None:
    events: list[Event] = []
    loader(store, MODEL, decoder="pil", on_event=events.append)
    kinds = [event.record.spec.kind for event in events if isinstance(event, TrialFinished)]
    assert kinds[0] == "probe"
    assert "feed" in kinds


@pytest.mark.parametrize("data", [None, "synthetic:"])
def test_without_stored_data_there_is_nothing_to_load(store: str, data: str | None) -> None:
    with pytest.raises(traindyno.TraindynoError, match="nothing to load") as caught:
        traindyno.loader(data, runner="simulated", store=store)
    assert "traindyno data make" in (caught.value.hint or "")
    assert not Path(store).exists()


def test_several_batch_sizes_need_the_grid(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="one batch size"):
        loader(store, batch_size=[16, 32])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cpus": [2, 99]}, "1 to 8"),
        ({"cpus": [0]}, "1 to 8"),
        ({"cpus": [2], "grid": True}, "on all CPUs"),
        ({"workers": [-1]}, "negative"),
        ({"batch_size": 0}, "at least one example"),
    ],
)
def test_what_would_be_left_out_in_silence_is_refused(store: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match=words):
        loader(store, **options)
    assert not Path(store).exists()


def test_a_decoder_of_the_gpu_needs_a_model_to_feed_there(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="a loader alone does not use") as caught:
        loader(store, decoder="nvjpeg")
    assert "`model`" in (caught.value.hint or "")
    with pytest.raises(traindyno.TraindynoError, match="only read and pack"):
        loader(store, MODEL, decoder="nvjpeg", cpus=[2])
    assert loader(store, MODEL, decoder="nvjpeg").end_to_end


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_a_decoder_of_the_gpu_is_refused_on_a_cpu_before_a_trial(
    store: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workshop, "resolve_device", lambda device, reader: "cpu")
    with pytest.raises(traindyno.TraindynoError, match="nvjpeg decodes on a GPU") as caught:
        traindyno.loader(DATA, MODEL, decoder="nvjpeg", device=device, store=store)
    assert "`device`" in (caught.value.hint or "")
    with pytest.raises(traindyno.TraindynoError, match="nvjpeg decodes on a GPU"):
        traindyno.stalls(DATA, MODEL, num_workers=2, decoder="nvjpeg", device=device, store=store)


def test_of_a_grid_of_several_sizes_the_fastest_cell_is_answered(store: str) -> None:
    answer = loader(store, grid=True, workers=[0, 4], batch_size=[16, 64, 256])
    fastest = max(answer.grid, key=lambda cell: cell.examples_per_second)
    assert (answer.batch_size, answer.recommended.num_workers) == (fastest.batch_size, fastest.num_workers)
    assert loader(store, grid=True, workers=[0, 4], batch_size=16).batch_size == 16


def test_a_value_of_the_wrong_type_is_refused(store: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match="wrong value"):
        loader(store, decoder="jpeg2000")
    with pytest.raises(traindyno.TraindynoError, match="wrong value"):
        stalls(store, num_workers="4")
