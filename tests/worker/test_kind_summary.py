"""From timed blocks to the figure of a trial."""

import pytest

from traindyno.core.records import Block, Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.devices import CpuDevice
from traindyno.worker.kinds.summary import measurement_of

SPEC = TrialSpec(kind="feed", workload=WorkloadSpec(model=""), settings=Settings(batch_size=8))


def summarised(per_step: list[float], *, fed: bool) -> Measurement:
    """Ten counted blocks of five steps behind a slow one that is not."""
    counted = [Block(steps=5, seconds=5 * each) for each in per_step]
    blocks = [Block(steps=5, seconds=50.0), *counted]
    return measurement_of(SPEC, CpuDevice(), blocks, counted, None, steady=True, start_up_seconds=0.0, fed=fed)


def test_late_batches_are_in_the_figure_of_a_fed_trial_and_disturbances_not_in_that_of_a_resident_one() -> None:
    per_step = [1.0, 1.0, 1.0, 1.5, 1.0] * 2
    fed, resident = (summarised(per_step, fed=fed) for fed in (True, False))
    assert fed.step_seconds == pytest.approx(1.1)
    assert fed.ci95[0] < 1.1 < fed.ci95[1]
    assert resident.step_seconds == pytest.approx(1.0)


def test_what_was_discarded_is_kept_and_does_not_count() -> None:
    found = summarised([1.0] * 10, fed=True)
    assert found.step_seconds == 1.0
    assert (found.warm_up_seconds, len(found.blocks), found.steps) == (50.0, 11, 50)
