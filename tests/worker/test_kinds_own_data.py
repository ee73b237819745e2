"""Trials that load the user's own data: what they do must not change what is told of them."""

import textwrap
from pathlib import Path

import pytest

from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Settings, TrialKind, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.worker.errors import DoesNotApplyError
from worker.test_kinds_loading import ITEM_SECONDS, measure

pytestmark = pytest.mark.usefixtures("one_thread")


SLOWING_DOWN = """
    import time, torch
    from torch import nn
    from torch.utils.data import Dataset
    from traindyno import Workload

    class Counted(Dataset):
        asked = 0
        def __len__(self):
            return 400
        def __getitem__(self, index):
            Counted.asked += 1
            return torch.zeros(6), index % 2

    class Tiring(nn.Linear):
        def forward(self, inputs):
            time.sleep(0.001 if Counted.asked < 20 else {later_seconds})
            return super().forward(inputs)

    def workload():
        return Workload(model=Tiring(6, 2), dataset=Counted())
"""


@pytest.mark.parametrize(("later_seconds", "slows"), [(0.001, False), (0.006, True)])
def test_a_machine_that_becomes_slower_while_the_loader_runs_is_seen_by_a_second_look(
    tmp_path: Path, later_seconds: float, slows: bool
) -> None:
    (path := tmp_path / "tiring.py").write_text(textwrap.dedent(SLOWING_DOWN.format(later_seconds=later_seconds)))
    told = measure("feed", WorkloadSpec(model=f"{path}:workload"), num_workers=0).loading
    assert told is not None
    assert told.resident_drift is not None
    assert (told.resident_drift > 2) == slows
    assert told.resident_ci95 is not None
    assert told.resident_step_seconds is not None
    assert (told.resident_ci95[1] > later_seconds) or not slows
    assert told.resident_ci95[0] <= told.resident_step_seconds <= told.resident_ci95[1]


ONE_OPTIMIZER = """
    import torch
    from torch import nn
    from traindyno import Workload

    made = []

    def optimizer(parameters):
        made.append(torch.optim.Adam(parameters, fused=False))
        assert len(made) == 1, "its state would be held twice"
        return made[0]

    def workload():
        data = torch.utils.data.TensorDataset(torch.zeros(64, 6), torch.zeros(64, dtype=torch.long))
        return Workload(model=nn.Linear(6, 2), dataset=data, optimizer=optimizer)
"""


@pytest.mark.parametrize("kernel", ["auto", "foreach", "fused"])
def test_a_fed_step_and_the_one_that_is_looked_at_again_share_their_optimizer(tmp_path: Path, kernel: str) -> None:
    (path := tmp_path / "one_optimizer.py").write_text(textwrap.dedent(ONE_OPTIMIZER))
    told = measure("feed", WorkloadSpec(model=f"{path}:workload"), num_workers=0, optimizer_kernel=kernel).loading
    assert told is not None
    assert told.resident_drift is not None


KEEPING = """
    import time, torch
    from torch import nn
    from torch.utils.data import Dataset
    from traindyno import Workload

    class Keeping(Dataset):
        kept = {{}}
        def __len__(self):
            return 4000
        def __getitem__(self, index):
            if index not in self.kept or not {keeps}:
                time.sleep({item_seconds})
                self.kept[index] = torch.zeros(6)
            return self.kept[index], index % 2

    def workload():
        return Workload(model=nn.Linear(6, 2), dataset=Keeping())
"""


@pytest.mark.parametrize("keeps", [True, False])
def test_a_dataset_that_keeps_what_it_reads_is_probed_by_what_reading_takes(tmp_path: Path, keeps: bool) -> None:
    (path := tmp_path / "keeping.py").write_text(
        textwrap.dedent(KEEPING.format(keeps=keeps, item_seconds=ITEM_SECONDS))
    )
    told = measure("probe", WorkloadSpec(model=f"{path}:workload"), Feed(supply="resident")).loading
    assert told is not None
    seconds = {stage.stage: stage.seconds for stage in told.stages}
    assert 0.8 * ITEM_SECONDS < seconds["example"] < 10 * ITEM_SECONDS


STREAMS = """
    import random, torch
    from torch import nn
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
    from traindyno import Workload

    class Stream(IterableDataset):
        first, step, alike, shuffled = 0, 1, False, False
        def __len__(self):
            return 64
        def __iter__(self):
            order = list(range(self.first, 64, self.step))
            if self.shuffled:
                random.shuffle(order)
            for index in order:
                yield torch.full((6,), 0.0 if self.alike else float(index)), index % 2

    class Shared(Stream):
        def __iter__(self):
            info = get_worker_info()
            self.first, self.step = (info.id, info.num_workers) if info else (0, 1)
            return super().__iter__()

    def divide(number):
        info = get_worker_info()
        info.dataset.first, info.dataset.step = info.id, info.num_workers

    def job(dataset, **options):
        return Workload(model=nn.Linear(6, 2), loader=DataLoader(dataset, batch_size=4, **options))

    def whole():
        return job(Stream())

    def alike():
        stream = Stream()
        stream.alike = True
        return job(stream)

    def shuffled():
        stream = Stream()
        stream.shuffled = True
        return job(stream)

    def shared():
        return job(Shared())

    def divided():
        return job(Stream(), worker_init_fn=divide)
"""


@pytest.fixture
def streams(tmp_path: Path) -> Path:
    (path := tmp_path / "streams.py").write_text(textwrap.dedent(STREAMS))
    return path


@pytest.mark.parametrize("kind", ["load", "feed"])
@pytest.mark.parametrize("function", ["whole", "alike", "shuffled"])
def test_workers_that_each_deliver_the_whole_stream_are_not_called_fast(
    streams: Path, function: str, kind: TrialKind
) -> None:
    workload = WorkloadSpec(model=f"{streams}:{function}")
    with pytest.raises(DoesNotApplyError, match="each of the 2 workers delivers all examples of the stream"):
        measure(kind, workload, num_workers=2)
    for workers in (0, 1):
        assert measure(kind, workload, num_workers=workers).steps > 0


@pytest.mark.parametrize("function", ["shared", "divided"])
def test_a_stream_that_is_shared_out_may_have_any_number_of_workers(streams: Path, function: str) -> None:
    assert measure("load", WorkloadSpec(model=f"{streams}:{function}"), num_workers=2).steps > 16


@pytest.mark.parametrize(
    ("device", "pinned"),
    [("cpu", False), *(pytest.param("cuda:0", pinned, marks=pytest.mark.gpu) for pinned in (False, True))],
)
def test_a_stream_feeds_any_device_if_its_workers_share_it_out(streams: Path, device: str, pinned: bool) -> None:
    """In processes of their own: what a worker raises comes through the thread that pins. A GPU has one look alone."""

    def run(function: str) -> TrialRecord:
        spec = TrialSpec(
            kind="feed",
            workload=WorkloadSpec(model=f"{streams}:{function}"),
            settings=Settings(batch_size=4, device=device, num_workers=2, pin_memory=pinned),
            budget=Budget(seconds=0.5),
            feed=Feed(),
        )
        return runner.run(spec, Watcher(), None)

    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    try:
        divided, whole, shuffled = map(run, ("divided", "whole", "shuffled"))
    finally:
        runner.close()
    assert divided.measurement is not None, divided.failure
    assert divided.measurement.loading is not None
    assert divided.measurement.has_images is False
    assert (divided.measurement.loading.resident_drift is None) == (device != "cpu")
    for refused in (whole, shuffled):
        assert refused.failure is not None
        assert "each of the 2 workers delivers all examples" in refused.failure.message
        assert refused.failure.details["most_workers"] == "1"


DAWDLING = """
    import time, torch
    from torch import nn
    from torch.utils.data import Dataset
    from traindyno import Workload

    class Ready(Dataset):
        def __len__(self):
            return 4000
        def __getitem__(self, index):
            return torch.zeros(6), index % 2

    def step(model, batch):
        inputs, targets = batch
        time.sleep(0.2)
        return nn.functional.cross_entropy(model(inputs), targets)

    def workload():
        return Workload(model=nn.Linear(6, 2), dataset=Ready(), training_step=step)
"""


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["feed", "anatomy"])
@pytest.mark.parametrize("pinned", [False, True])
def test_workers_are_seen_to_be_ahead_of_a_slow_step_on_a_gpu(tmp_path: Path, kind: TrialKind, pinned: bool) -> None:
    """Blocks are of whole turns else: of eight workers' batches."""
    (path := tmp_path / "dawdling.py").write_text(textwrap.dedent(DAWDLING))
    spec = TrialSpec(
        kind=kind,
        workload=WorkloadSpec(model=f"{path}:workload"),
        settings=Settings(batch_size=4, device="cuda:0", num_workers=8, pin_memory=pinned),
        budget=Budget(seconds=1.0),
        feed=Feed(),
    )
    runner = LocalRunner(WORKER_ENTRY, Deadlines())
    try:
        record = runner.run(spec, Watcher(), None)
    finally:
        runner.close()
    assert record.measurement is not None, record.failure
    assert {block.steps for block in record.measurement.blocks[-3:]} == {1}
