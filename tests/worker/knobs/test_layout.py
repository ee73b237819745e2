"""Channels last reaches the weights and every batch of images, resident or fed."""

from pathlib import Path

import msgspec
import pytest
import torch
from torch import nn

from traindyno.core.records import Budget, Settings, WorkloadSpec
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.devices import CpuDevice
from traindyno.worker.job import Job, build_job
from traindyno.worker.kinds.speed import measure_speed
from traindyno.worker.knobs.layout import has_images, laid_out, lay_out_model
from traindyno.worker.own_loading import OwnLoading
from traindyno.worker.steps import make_fed_step
from worker.counted_device import SilentChannel
from worker.data.tiny_sets import write_folder
from worker.knobs.benches import bench_of, losses_of, spec_of
from worker.knobs.small_jobs import batch

CHANNELS_LAST = Settings(batch_size=4, memory_format="channels_last")


def is_channels_last(images: torch.Tensor) -> bool:
    return images.is_contiguous(memory_format=torch.channels_last) and not images.is_contiguous()


def test_weights_and_resident_images_are_laid_out_and_nothing_else_changes() -> None:
    bench = bench_of(memory_format="channels_last")
    assert is_channels_last(bench.job.model.body[0].convolution.weight)
    assert is_channels_last(bench.batch[0])
    assert losses_of(bench) == pytest.approx(losses_of(bench_of()), rel=1e-5)


def test_without_the_knob_everything_stays_contiguous() -> None:
    bench = bench_of()
    assert bench.job.model.body[0].convolution.weight.is_contiguous()
    assert bench.batch[0].is_contiguous()


def test_fed_images_are_laid_out_too() -> None:
    seen = []
    job = build_job(spec_of().workload)
    job.model.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    make_fed_step(job, lambda: batch(4), spec_of().workload, CHANNELS_LAST, CpuDevice())()
    assert is_channels_last(seen[0])


def test_known_images_come_laid_out_from_their_source(tmp_path: Path) -> None:
    data = write_folder(tmp_path, [f"{label}/{number}.jpg" for label in "ab" for number in range(4)])
    job = build_job(WorkloadSpec(model="torchvision:resnet18", data=f"folder:{data}", image_size=32))
    assert is_channels_last(_placed(job))


def _placed(job: Job) -> torch.Tensor:
    source = job.source
    assert not isinstance(source, OwnLoading)
    flow = iter(source.endless(CHANNELS_LAST, 0, None, "examples", None).loader)  # type: ignore[attr-defined]
    placing = source.placing(lambda: next(flow), CHANNELS_LAST, torch.device("cpu"), Stopwatch())  # type: ignore[attr-defined]
    with placing as following:
        images: torch.Tensor = following()[0]
    return images


def test_only_float_tensors_of_four_dimensions_are_touched() -> None:
    others = {"tokens": torch.zeros(2, 3, 4, 5, dtype=torch.int64), "video": torch.zeros(2, 3, 4, 5, 6), "name": "a"}
    same = laid_out(others, CHANNELS_LAST)
    assert all(same[name] is value for name, value in others.items())


def test_weights_of_five_dimensions_are_left_alone() -> None:
    model = nn.Conv3d(2, 2, 3)
    lay_out_model(model, CHANNELS_LAST)
    assert model.weight.is_contiguous()


@pytest.mark.parametrize(
    ("model", "batch", "has"),
    [
        (nn.Linear(6, 2), torch.zeros(4, 6), False),
        (nn.Embedding(6, 2), {"tokens": torch.zeros(4, 6, 1, 1, dtype=torch.int64)}, False),
        (nn.Conv3d(2, 2, 3), torch.zeros(1, 2, 4, 4, 4), False),
        (nn.Linear(6, 2), {"text": torch.zeros(4, 6), "pictures": [torch.zeros(4, 3, 2, 2)]}, True),
        (nn.Sequential(nn.Unflatten(1, (1, 3)), nn.Conv2d(1, 1, 1)), torch.zeros(4, 3, 2), True),
    ],
)
def test_there_is_something_to_lay_out_where_an_input_or_a_weight_has_four_dimensions(
    model: nn.Module, batch: object, has: bool
) -> None:
    assert has_images(model, batch) is has


@pytest.mark.parametrize(("job", "has"), [("perceptron", False), ("own_loss", True)])
def test_a_trial_tells_it(job: str, has: bool) -> None:
    spec = msgspec.structs.replace(spec_of(job), kind="speed", budget=Budget(seconds=0.01))
    assert measure_speed(spec, CpuDevice(), SilentChannel()).has_images is has
