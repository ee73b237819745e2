"""No step is lost between the first one and the blocks that count, in whatever trial a switch was started."""

import textwrap
from pathlib import Path

import pytest

from traindyno.core.loading import Feed, Supply
from traindyno.core.records import Budget, Measurement, Settings, TrialKind, TrialSpec, WorkloadSpec
from traindyno.worker.devices import open_device
from traindyno.worker.kinds import KINDS
from worker.counted_device import SilentChannel

pytestmark = pytest.mark.usefixtures("one_thread")

SLOW_SECONDS = 0.2
SLOW_STEPS = 4
FAST_SECONDS = 0.002
JOB = f"""
    import itertools, pathlib, time, torch
    from torch import nn
    from torch.utils.data import Dataset
    from traindyno import Workload

    class Zeros(Dataset):
        def __len__(self):
            return 40
        def __getitem__(self, index):
            return torch.zeros(6), index % 2

    def slow_at_first():
        numbers = itertools.count(1)
        def step(model, batch):
            number = next(numbers)
            pathlib.Path(__file__).with_name("steps").write_text(str(number))
            time.sleep({SLOW_SECONDS} if number <= {SLOW_STEPS} else {FAST_SECONDS})
            return model(batch[0]).square().mean()
        return Workload(model=nn.Linear(6, 2), dataset=Zeros(), training_step=step)
"""


@pytest.mark.parametrize(("kind", "supply"), [("speed", "resident"), ("feed", "cached")])
def test_every_slow_step_at_the_start_is_in_what_starting_takes_longer(
    tmp_path: Path, kind: TrialKind, supply: Supply
) -> None:
    """As where CUDA graphs are recorded: that is in the second step, and not in the first.

    Steps that sleep never take less, so that what is asked for holds on a busy machine too.
    """
    started = run(tmp_path, kind, supply)
    fast_steps = 1 + started.warm_up_steps - SLOW_STEPS
    assert fast_steps >= 0
    least = SLOW_STEPS * SLOW_SECONDS + fast_steps * FAST_SECONDS
    assert started.first_step_seconds + started.warm_up_seconds >= least


def test_every_step_is_either_the_first_or_of_the_warm_up_or_in_a_counted_block(tmp_path: Path) -> None:
    started = run(tmp_path, "speed", "resident")
    assert 1 + started.warm_up_steps + started.steps == int((tmp_path / "steps").read_text())


def run(folder: Path, kind: TrialKind, supply: Supply) -> Measurement:
    (folder / "job.py").write_text(textwrap.dedent(JOB))
    spec = TrialSpec(
        kind=kind,
        workload=WorkloadSpec(model=f"{folder}/job.py:slow_at_first"),
        settings=Settings(batch_size=2, device="cpu"),
        budget=Budget(seconds=1.0),
        feed=Feed(supply=supply),
    )
    measurement: Measurement = KINDS[kind](spec, open_device("cpu"), SilentChannel())
    return measurement
