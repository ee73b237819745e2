"""A batch computed in parts gives the gradients of the whole."""

from typing import NamedTuple

import pytest
import torch

from traindyno.core.records import Settings
from traindyno.worker.devices import CpuDevice
from traindyno.worker.errors import DoesNotApplyError
from traindyno.worker.job import build_job
from traindyno.worker.knobs.accumulation import parts_of
from traindyno.worker.steps import make_fed_step
from worker.knobs.benches import BATCH, bench_of, gradients_of, losses_of, spec_of
from worker.knobs.small_jobs import batch


class Pair(NamedTuple):
    words: torch.Tensor
    count: int


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_losses_and_gradients_are_those_of_the_whole_batch(parts: int) -> None:
    whole, split = bench_of(), bench_of(accumulation_steps=parts)
    assert losses_of(split) == pytest.approx(losses_of(whole), rel=1e-4)
    for ours, theirs in zip(gradients_of(split), gradients_of(whole), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_a_fed_batch_is_split_as_it_comes() -> None:
    sizes = []
    spec = spec_of(accumulation_steps=4)
    job = build_job(spec.workload)
    job.model.register_forward_pre_hook(lambda _module, inputs: sizes.append(len(inputs[0])))
    make_fed_step(job, lambda: batch(BATCH), spec.workload, spec.settings, CpuDevice())()
    assert sizes == [2, 2, 2, 2]


def test_nested_batches_keep_their_structure_and_give_single_values_to_every_part() -> None:
    given = {"pair": Pair(torch.arange(4), 7), "scale": torch.tensor(2.0), "others": [torch.zeros(4, 3)]}
    first, second = parts_of(given, Settings(batch_size=4, accumulation_steps=2))
    assert first["pair"].words.tolist() == [0, 1]
    assert second["pair"].words.tolist() == [2, 3]
    assert (second["pair"].count, second["scale"].item(), second["others"][0].shape) == (7, 2.0, (2, 3))


@pytest.mark.parametrize("unsplittable", [torch.zeros(3, 4), object()])
def test_what_has_no_examples_to_split_does_not_apply(unsplittable: object) -> None:
    with pytest.raises(DoesNotApplyError, match="cannot be split"):
        parts_of((torch.zeros(4, 2), unsplittable), Settings(batch_size=4, accumulation_steps=2))
