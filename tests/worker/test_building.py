"""What every trial begins with."""

from pathlib import Path

import pytest

from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.worker.devices import CpuDevice
from traindyno.worker.kinds.bench import set_up
from worker.counted_device import SilentChannel

JOB = """
import torch
from traindyno import Workload

class Lazy(torch.utils.data.Dataset):
    file = None
    def __len__(self): return 8
    def __getitem__(self, index):
        if self.file is None:
            self.file = open(__file__, "rb")
        return torch.ones(6), index % 4

def job(): return Workload(torch.nn.Linear(6, 4), dataset=Lazy())
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_where_workers_are_forked_later_this_process_does_not_open_the_data(workers: int, tmp_path: Path) -> None:
    path = tmp_path / "job_of_a_test.py"
    path.write_text(JOB)
    settings = Settings(batch_size=4, num_workers=workers)
    spec = TrialSpec(kind="fit", workload=WorkloadSpec(model=f"{path}:job"), settings=settings)
    bench = set_up(spec, CpuDevice(), SilentChannel())
    assert bench.batch[0].shape == (4, 6)
    assert (bench.job.source.dataset.file is None) is bool(workers)  # type: ignore[attr-defined]
