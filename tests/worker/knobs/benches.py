"""The small jobs set up as a trial would."""

from pathlib import Path

import torch

from traindyno.core.records import Mode, Settings, TrialSpec, WorkloadSpec
from traindyno.worker.devices import open_device
from traindyno.worker.kinds.bench import Bench, set_up
from worker.counted_device import SilentChannel

JOBS = Path(__file__).with_name("small_jobs.py")
BATCH = 8


def spec_of(
    job: str = "plain", mode: Mode = "train", device: str = "cpu", batch_size: int = BATCH, **knobs: object
) -> TrialSpec:
    settings = Settings(batch_size=batch_size, device=device, **knobs)  # type: ignore[arg-type]
    return TrialSpec(kind="fit", workload=WorkloadSpec(model=f"{JOBS}:{job}", mode=mode), settings=settings)


def bench_of(job: str = "plain", mode: Mode = "train", device: str = "cpu", **knobs: object) -> Bench:
    spec = spec_of(job, mode, device, **knobs)
    return set_up(spec, open_device(device), SilentChannel())


def losses_of(bench: Bench, steps: int = 3) -> list[float]:
    return [float(loss.detach()) for loss in (bench.step() for _ in range(steps)) if loss is not None]


def gradients_of(bench: Bench) -> list[torch.Tensor]:
    """Those that the last step left behind."""
    return [parameter.grad.clone() for parameter in bench.job.model.parameters() if parameter.grad is not None]
