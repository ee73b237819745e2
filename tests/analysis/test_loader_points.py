"""What one measured setting of a loader says of an epoch."""

import msgspec
import pytest

from traindyno.analysis.loader_points import worker_point
from traindyno.core.loading import Loading
from traindyno.core.outcomes import Outcome
from traindyno.core.records import (
    Block,
    Measurement,
    Memory,
    Settings,
    TrialKind,
    TrialRecord,
    TrialSpec,
    WorkloadSpec,
)


def ran(kind: TrialKind, workers: int, seconds: float, start: float, wait: float | None = None) -> TrialRecord:
    settings = Settings(batch_size=32, num_workers=workers)
    measurement = Measurement(
        batch_size=32,
        steps=10,
        step_seconds=seconds,
        ci95=(seconds, seconds),
        steady=True,
        blocks=(Block(steps=10, seconds=10 * seconds),),
        memory=Memory(peak_bytes=1),
        start_up_seconds=1.0,
        first_step_seconds=seconds,
        warm_up_seconds=0.0,
        warm_up_steps=0,
        loading=Loading(start_up_seconds=start, wait_seconds=wait),
    )
    spec = TrialSpec(kind=kind, workload=WorkloadSpec(model=""), settings=settings)
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=10.0, measurement=measurement)


@pytest.mark.parametrize(
    ("record", "at_the_start"),
    [
        (ran("load", 4, 0.16, 0.71), 0.07),
        (ran("feed", 4, 0.16, 0.71, wait=0.15), 0.07),
        (ran("feed", 4, 0.25, 0.71, wait=0.0), 0.71),
        (ran("load", 0, 0.64, 0.65), 0.0),
        (ran("load", 4, 0.16, 0.5), 0.0),
    ],
    ids=["the loader alone", "it is the limit", "it is not", "no workers", "a quick first batch"],
)
def test_an_epoch_counts_the_load_of_its_first_batch_once(record: TrialRecord, at_the_start: float) -> None:
    point = worker_point(record, epoch_examples=384)
    assert point.epoch_seconds == pytest.approx(384 / point.examples_per_second + at_the_start)


def test_without_a_length_there_is_no_epoch() -> None:
    assert worker_point(ran("load", 4, 0.16, 0.71), epoch_examples=None).epoch_seconds is None
    untold = ran("load", 4, 0.16, 0.71)
    untold = msgspec.structs.replace(untold, measurement=msgspec.structs.replace(untold.measurement, loading=None))
    assert worker_point(untold, epoch_examples=384).epoch_seconds == pytest.approx(12 * 0.16)
