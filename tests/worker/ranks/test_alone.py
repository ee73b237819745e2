"""A group of one whose model is measured, though the wrapper for several does not take it."""

import pytest
import torch

from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group
from traindyno.worker.devices import CpuDevice
from traindyno.worker.ranks import alone
from traindyno.worker.ranks.lines import Line
from traindyno.worker.ranks.position import Position
from traindyno.worker.ranks.reporting import RankChannel


class Paper(Line):
    def __init__(self) -> None:
        self.told: list[str] = []

    def tell(self, kind: str, **fields: object) -> None:
        self.told.append(kind)


UNUSED = "Expected to have finished reduction in the prior iteration before starting a new one."
UNKNOWN = "'DistributedDataParallel' object has no attribute 'features'"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "did not fit"),
        (RuntimeError(UNUSED), "requires_grad_(False)"),
        (AttributeError(UNKNOWN), "training_step"),
    ],
)
def test_a_wrapper_that_takes_no_such_model_costs_its_ratio_and_not_the_measurement(
    monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
):
    def refuses(*_: object) -> None:
        raise error

    monkeypatch.setattr(alone, "_wrapper_ratio", refuses)
    spec = TrialSpec(
        kind="scale",
        workload=WorkloadSpec(model="mlp:8"),
        settings=Settings(batch_size=8),
        group=Group(devices=1),
        budget=Budget(seconds=0.2),
    )
    result = alone.measure_alone(spec, CpuDevice(), RankChannel(Paper(), Position()))
    assert result.measurement is not None
    assert result.measurement.scaling is not None
    assert result.measurement.scaling.ddp_ratio is None
    assert any(why in note for note in result.notes)
