"""Workloads with data of their own, which has fewer examples than memory could hold."""

import msgspec
import pytest

from search.fake_device import FakeDevice, device_for, failed, failure, fit_template, run_to_end, speed_template
from traindyno.analysis.max_batch import conclude_max_batch
from traindyno.analysis.throughput import conclude_throughput
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.max_batch import MaxBatchSearch
from traindyno.search.strategy import Strategy
from traindyno.search.throughput import ThroughputSweep


class WithData:
    """A device that tells how many examples there are, and refuses larger batches."""

    def __init__(self, examples: int, device: FakeDevice) -> None:
        self._examples, self._device = examples, device

    def run(self, spec: TrialSpec) -> TrialRecord:
        if spec.settings.batch_size > self._examples:
            details = {"code": "larger_than_data", "examples_in_data": str(self._examples)}
            return failed(spec, failure(Outcome.USER_ERROR, **details))
        record = self._device.run(spec)
        if record.measurement is None:
            return record
        measurement = msgspec.structs.replace(record.measurement, examples_in_data=self._examples)
        return msgspec.structs.replace(record, measurement=measurement)


def history_of(strategy: Strategy, examples: int) -> list[TrialRecord]:
    return run_to_end(strategy, WithData(examples, device_for(1704)))  # type: ignore[arg-type]


@pytest.mark.parametrize("examples", [1, 2, 10, 16, 31, 64, 100, 1704])
def test_the_largest_batch_is_all_of_the_data(examples: int) -> None:
    history = history_of(MaxBatchSearch(fit_template()), examples)
    answer = conclude_max_batch("m", "train", history, margin=0.05, tolerance=0.01)
    assert answer.max_batch == examples
    assert sum(not record.ok for record in history if record.spec.margin == 0) <= 1
    if examples < 1600:
        assert (answer.safe_batch, answer.limited_by) == (examples, "data")
        assert any(f"{examples} examples of the data" in verdict for verdict in answer.verdicts)


def test_data_larger_than_memory_changes_nothing() -> None:
    assert history_of(MaxBatchSearch(fit_template()), 10**6)[-1].batch_size > 1000
    with_data = [record.spec for record in history_of(MaxBatchSearch(fit_template()), 10**6)]
    without = [record.spec for record in run_to_end(MaxBatchSearch(fit_template()), device_for(1704))]
    assert with_data == without


@pytest.mark.parametrize("examples", [1, 2, 10, 31, 64, 100])
def test_a_curve_ends_at_all_of_the_data(examples: int) -> None:
    history = history_of(ThroughputSweep(speed_template(), repeats=2), examples)
    answer = conclude_throughput("m", "train", history)
    assert answer.curve[0].batch_size == 1
    assert answer.curve[-1].batch_size == examples
    assert all(point.processes == 2 for point in answer.curve)
    assert any(f"the data has only {examples} examples" in verdict for verdict in answer.verdicts)


def test_of_sizes_that_were_given_those_that_the_data_fills_are_measured() -> None:
    history = history_of(ThroughputSweep(speed_template(), sizes=(8, 64, 256, 512), repeats=2), 100)
    answer = conclude_throughput("m", "train", history)
    assert [point.batch_size for point in answer.curve] == [8, 64]
    assert [record.batch_size for record in history if not record.ok] == [256]
    assert any("the data has only 100 examples" in verdict for verdict in answer.verdicts)


def test_sizes_that_are_all_larger_than_the_data_end_the_sweep_at_once() -> None:
    assert len(history_of(ThroughputSweep(speed_template(), sizes=(64, 256)), 10)) == 1
