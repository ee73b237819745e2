"""From timed blocks to one measurement."""

from collections.abc import Sequence

from traindyno.analysis.intervals import median, median_interval
from traindyno.analysis.sustained import sustained_seconds
from traindyno.core.anatomy import Anatomy
from traindyno.core.loading import Loading
from traindyno.core.records import Block, Measurement, Memory, TrialSpec
from traindyno.worker.devices import Device
from traindyno.worker.image_data import image_size_of
from traindyno.worker.kinds.bench import Bench


def summarise(
    spec: TrialSpec,
    bench: Bench,
    device: Device,
    blocks: Sequence[Block],
    counted: Sequence[Block],
    loss: float | None,
    *,
    steady: bool,
    first_step_seconds: float | None = None,
    evaluation_seconds: float | None = None,
    training_seconds: float | None = None,
    memory: Memory | None = None,
) -> Measurement:
    """The measurement of a trial on resident data."""
    return measurement_of(
        spec,
        device,
        blocks,
        counted,
        loss,
        steady=steady,
        start_up_seconds=bench.start_up_seconds,
        first_step_seconds=first_step_seconds,
        evaluation_seconds=evaluation_seconds,
        training_seconds=training_seconds,
        memory=memory,
        examples_in_data=bench.job.examples_in_data,
        image_size=image_size_of(bench.job.source),
        has_images=bench.has_images,
        notes=bench.job.notes,
    )


def measurement_of(
    spec: TrialSpec,
    device: Device,
    blocks: Sequence[Block],
    counted: Sequence[Block],
    loss: float | None,
    *,
    steady: bool,
    start_up_seconds: float,
    first_step_seconds: float | None = None,
    evaluation_seconds: float | None = None,
    training_seconds: float | None = None,
    memory: Memory | None = None,
    examples_in_data: int | None = None,
    image_size: int | None = None,
    has_images: bool | None = None,
    loading: Loading | None = None,
    anatomy: Anatomy | None = None,
    fed: bool = False,
    notes: Sequence[str] = (),
) -> Measurement:
    """The median of the counted blocks with its interval; of a trial that is `fed`, what all of them sustained.

    A resident step is the same work again and again: what is slower than the middle is the machine's doing. Of a fed
    one, batches that come late are a part. Every block is kept as a raw sample.
    """
    per_step = [block.seconds / block.steps for block in counted]
    step_seconds, ci95 = sustained_seconds(counted) if fed else (median(per_step), median_interval(per_step))
    discarded = blocks[: len(blocks) - len(counted)]
    return Measurement(
        batch_size=spec.settings.batch_size,
        steps=sum(block.steps for block in counted),
        step_seconds=step_seconds,
        ci95=ci95,
        steady=steady,
        blocks=tuple(blocks),
        memory=memory or device.memory(),
        start_up_seconds=start_up_seconds,
        first_step_seconds=first_step_seconds if first_step_seconds is not None else blocks[0].seconds,
        warm_up_seconds=sum(block.seconds for block in discarded),
        warm_up_steps=sum(block.steps for block in discarded),
        evaluation_step_seconds=evaluation_seconds,
        training_seconds=training_seconds,
        loss=loss,
        examples_in_data=examples_in_data,
        image_size=image_size,
        has_images=has_images,
        loading=loading,
        anatomy=anatomy,
        notes=tuple(notes),
    )
