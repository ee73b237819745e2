"""The whole search against devices of known size, through the worker's real steps."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from traindyno.analysis.max_batch import conclude_max_batch
from traindyno.core.answers import MaxBatchAnswer
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.search.max_batch import MaxBatchSearch
from worker.counted_device import run_on_counted_device

LIMITS = [1, 2, 3, 100, 1500, 4096, 4097, 5000, 8192, 30000]
JOB = """
    import torch
    from torch import nn
    from traindyno import Workload

    def workload():
        model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4))
        return Workload(model=model, example_input=torch.randn(24))
"""


@pytest.fixture
def template(tmp_path: Path) -> TrialSpec:
    path = tmp_path / "job.py"
    path.write_text(textwrap.dedent(JOB))
    return TrialSpec(
        kind="fit",
        workload=WorkloadSpec(model=f"{path}:workload"),
        settings=Settings(batch_size=1),
        budget=Budget(steps=3),
    )


def limit_bytes_for(template: TrialSpec, batch_size: int) -> int:
    """Exactly what `batch_size` examples need: one more does not fit."""
    spec = MaxBatchSearch(template, limit=batch_size).ask([])
    assert spec is not None
    record = run_on_counted_device(_at(template, batch_size), math.inf)
    assert record.measurement is not None
    return record.measurement.memory.peak_bytes


def _at(template: TrialSpec, batch_size: int) -> TrialSpec:
    import msgspec

    return msgspec.structs.replace(template, settings=Settings(batch_size=batch_size))


def search(template: TrialSpec, limit_bytes: int, exact: bool = False) -> tuple[list[TrialRecord], MaxBatchAnswer]:
    strategy = MaxBatchSearch(template, exact=exact)
    history: list[TrialRecord] = []
    while (proposal := strategy.ask(history)) is not None:
        history.append(run_on_counted_device(proposal.spec, limit_bytes))
    return history, conclude_max_batch("job", "train", history, margin=0.05, tolerance=0.01)


def sizes_that_ran(history: Sequence[TrialRecord]) -> set[int]:
    return {record.batch_size for record in history if record.ok}


@pytest.mark.parametrize("limit", LIMITS)
def test_the_limit_is_found_to_tolerance_with_few_probes(template: TrialSpec, limit: int) -> None:
    history, answer = search(template, limit_bytes_for(template, limit))
    assert answer.max_batch is not None
    assert 0.99 * limit - 1 < answer.max_batch <= limit
    doubling_probes = math.floor(math.log2(limit)) + 2
    assert answer.probes <= doubling_probes + 3
    assert answer.out_of_memory_probes <= 1 + 2
    assert {answer.max_batch, answer.safe_batch} - {None} <= sizes_that_ran(history)


@pytest.mark.parametrize("limit", LIMITS)
def test_exact_finds_the_limit_to_the_unit(template: TrialSpec, limit: int) -> None:
    _, answer = search(template, limit_bytes_for(template, limit), exact=True)
    assert answer.max_batch == limit
    assert answer.first_failed_batch == limit + 1
