"""The data that `--data` names, fitted to the model: image size and number of classes."""

from collections.abc import Callable

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.records import WorkloadSpec
from traindyno.worker.batches import ImageSource
from traindyno.worker.data.pipeline import Data
from traindyno.worker.data.pipeline_source import PipelineSource
from traindyno.worker.data.prepared import enlarging_notes
from traindyno.worker.data.sources import open_examples

SYNTHETIC = "synthetic:"
DEFAULT_IMAGE_SIZE = 224

Progress = Callable[[int, int], None]


def open_data(spec: WorkloadSpec, progress: Progress | None = None) -> Data | None:
    """The examples by name; null for `synthetic:`, which has none."""
    if spec.image_size is not None and spec.image_size < 1:
        raise UsageError(f"images of {spec.image_size} px do not exist", "let the image size be 1 or more")
    return None if spec.data == SYNTHETIC else open_examples(spec.data, spec.mode, progress)


def with_classes(spec: WorkloadSpec, data: Data) -> WorkloadSpec:
    """The workload with as many classes as the data has, unless more were asked for; a model has two at least."""
    if spec.classes is not None and spec.classes < data.classes:
        raise UsageError(
            f"{spec.data} has {data.classes} classes, and the model was to have {spec.classes}",
            f"give --classes {data.classes}, or leave it away",
        )
    return spec if spec.classes is not None else msgspec.structs.replace(spec, classes=max(2, data.classes))


def source_of(data: Data, spec: WorkloadSpec, shape: tuple[int, int, int] | None, notes: list[str]) -> PipelineSource:
    """The data cut to the images that a model takes, or to the size asked for where that is not known."""
    size = spec.image_size or DEFAULT_IMAGE_SIZE
    if shape is None:
        return _cut_to(size, data, spec, notes)
    channels, height, width = shape
    if channels != 3 or height != width:
        raise UsageError(
            f"{spec.model} takes images of {channels} × {height} × {width}, and --data gives square ones in colour",
            "return it from your file.py:function in a traindyno.Workload with a dataset of your own",
        )
    return _cut_to(height, data, spec, notes)


def _cut_to(size: int, data: Data, spec: WorkloadSpec, notes: list[str]) -> PipelineSource:
    notes.extend(enlarging_notes(spec.data, size))
    return PipelineSource(data, size, spec.mode, spec.skip_bad, notes)


def image_size_of(source: object) -> int | None:
    """The side of the square images that a source gives; null for what is the user's own."""
    if isinstance(source, PipelineSource):
        return source.size
    if isinstance(source, ImageSource) and source.shape[1] == source.shape[2]:
        return source.shape[1]
    return None
