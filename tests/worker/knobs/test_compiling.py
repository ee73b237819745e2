"""Compiled steps through the real runner: they learn, the runner's cache serves them, and nobody is left behind."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, Measurement, TrialRecord, TrialSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.worker.knobs.compiling import use_own_cache
from worker.knobs.benches import spec_of

STEPS = 12


@pytest.fixture
def runner() -> Iterator[LocalRunner]:
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    yield runner
    runner.close()


def run(runner: LocalRunner, job: str, device: str = "cpu", **knobs: object) -> TrialRecord:
    spec = msgspec.structs.replace(spec_of(job, device=device, **knobs), kind="losses", budget=Budget(steps=STEPS))
    return runner.run(spec, Watcher(), None)


def measured(record: TrialRecord) -> Measurement:
    assert record.measurement is not None, record.failure
    return record.measurement


def processes_below_keepers() -> list[int]:
    keepers = [child for child in psutil.Process().children() if "traindyno.runner.keeper" in child.cmdline()]
    return [process.pid for keeper in keepers for process in keeper.children(recursive=True)]


@pytest.mark.slow
def test_a_compiled_model_learns_as_it_does_uncompiled_and_is_compiled_only_once(
    runner: LocalRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    plain = measured(run(runner, "perceptron"))
    compiled = measured(run(runner, "perceptron", compile="default"))
    assert processes_below_keepers() == []
    kept = kept_graphs(tmp_path)
    assert kept
    again = measured(run(runner, "perceptron", compile="default"))
    assert kept_graphs(tmp_path) == kept
    assert compiled.losses == pytest.approx(plain.losses, rel=1e-4)
    assert again.losses == compiled.losses
    measured(run(runner, "perceptron", compile="default", read_metrics=True))
    anew = kept_graphs(tmp_path) - kept
    assert len(anew) == len(kept)


def cache_of(spec: TrialSpec, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/of/the/runner")
    monkeypatch.setenv("TRITON_CACHE_DIR", "/of/the/runner/triton")
    use_own_cache(spec)
    folder = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    assert folder.parent == Path("/of/the/runner")
    assert Path(os.environ["TRITON_CACHE_DIR"]).parent == folder
    return folder


def test_compiled_code_is_kept_for_repeats_and_not_for_other_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of("plain", compile="default")
    first = cache_of(spec, monkeypatch)
    assert cache_of(msgspec.structs.replace(spec, repeat=1, seed=3), monkeypatch) == first
    assert cache_of(spec_of("plain", compile="default", num_workers=4, decoder="simplejpeg"), monkeypatch) == first
    use_own_cache(spec)
    use_own_cache(spec)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(first)
    assert cache_of(spec_of("plain", compile="max-autotune"), monkeypatch) != first
    assert cache_of(spec_of("perceptron", compile="default"), monkeypatch) != first
    assert cache_of(msgspec.structs.replace(spec, kind="pair", against=spec.settings), monkeypatch) == first


def test_what_runs_apart_after_a_pair_did_not_fit_starts_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of("plain", compile="default")
    pair = msgspec.structs.replace(spec, kind="pair", against=spec.settings)
    apart = msgspec.structs.replace(pair, kind="speed")
    assert cache_of(apart, monkeypatch) not in (cache_of(pair, monkeypatch), cache_of(spec, monkeypatch))
    assert cache_of(msgspec.structs.replace(apart, repeat=1), monkeypatch) == cache_of(apart, monkeypatch)


def test_outside_a_runner_torch_keeps_compiled_code_where_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    use_own_cache(spec_of("plain", compile="default"))
    assert "TORCHINDUCTOR_CACHE_DIR" not in os.environ


def kept_graphs(folder: Path) -> set[Path]:
    return {path for path in folder.glob("traindyno-compiled-*/*/fxgraph/**/*") if path.is_file()}


@pytest.mark.slow
def test_checkpoints_and_accumulation_go_with_the_compiler(runner: LocalRunner) -> None:
    knobs = {"activation_checkpointing": True, "accumulation_steps": 2}
    plain = measured(run(runner, "plain"))
    compiled = measured(run(runner, "plain", compile="default", **knobs))
    assert compiled.losses == pytest.approx(plain.losses, rel=1e-3)


def test_without_a_compiler_the_failure_says_so_and_stops_nothing(
    runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/no/such/compiler")
    record = run(runner, "perceptron", compile="default")
    assert record.outcome is Outcome.USER_ERROR
    assert record.failure is not None
    assert record.failure.error_type == "CompileFailedError"
    assert "C++ compiler" in record.failure.message


@pytest.mark.gpu
@pytest.mark.parametrize("knobs", [{}, {"accumulation_steps": 2}, {"precision": "fp16"}], ids=str)
def test_graphs_of_reduced_overhead_give_a_fresh_loss_every_step(runner: LocalRunner, knobs: dict[str, object]) -> None:
    plain = measured(run(runner, "plain", "cuda:0", **knobs)).losses
    graphed = measured(run(runner, "plain", "cuda:0", compile="reduce-overhead", **knobs)).losses
    assert len(set(graphed)) == STEPS
    assert graphed == pytest.approx(plain, rel=2e-2)


@pytest.mark.gpu
def test_a_loss_that_the_compiled_model_returns_itself_is_not_overwritten(runner: LocalRunner) -> None:
    losses = measured(run(runner, "own_loss", "cuda:0", compile="reduce-overhead")).losses
    assert len(set(losses)) == STEPS
    assert losses == pytest.approx(measured(run(runner, "own_loss", "cuda:0")).losses, rel=2e-2)


@pytest.mark.gpu
@pytest.mark.parametrize("expandable", [False, True])
def test_expandable_segments_are_on_where_asked_for(
    runner: LocalRunner, expandable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "segments.json"
    monkeypatch.setenv("TRAINDYNO_TEST_SEGMENTS", str(told))
    measured(run(runner, "tells_segments", "cuda:0", expandable_segments=expandable))
    assert json.loads(told.read_text()) == [expandable]
