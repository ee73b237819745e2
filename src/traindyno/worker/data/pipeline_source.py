"""The data of a workload by name, as a trial uses it: resident, in an endless loader, or stage by stage."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from traindyno.core.errors import UsageError
from traindyno.core.loading import Depth
from traindyno.core.records import Mode, Settings
from traindyno.worker.batches import check_size
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.datasets import PipelineDataset, PipelineStream, as_it_is
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.loading import Endless, make_loader
from traindyno.worker.data.normalise import normalise
from traindyno.worker.data.packed import PackedPipeline
from traindyno.worker.data.page_cache import cached_share
from traindyno.worker.data.pipeline import Batch, Data, Pipeline, is_stream
from traindyno.worker.data.sampling import EndlessBatches, Shuffled
from traindyno.worker.data.shallow import BytesOnly, PixelsOnly, WholeBytes
from traindyno.worker.data.staged import Staged, StagedExamples, StagedStream
from traindyno.worker.data.stopwatch import Stopwatch
from traindyno.worker.data.stored import ExampleStream
from traindyno.worker.data.warmth import Alive, Warmth, make_cold, plan_warm, read_files

READERS = 4
READ_TOGETHER = 64
# A shuffle buffer that is filled less often than every tenth example hardly shows.
BURSTS = 10
DEPTHS: dict[Depth, type[Pipeline]] = {"bytes": BytesOnly, "pixels": PixelsOnly, "examples": Pipeline}


@dataclass(frozen=True)
class PipelineSource:
    """Examples of a known source, cut to images of `size`."""

    data: Data
    size: int
    mode: Mode
    skip_bad: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def examples(self) -> int:
        return len(self.data)

    @property
    def most_workers(self) -> int | None:
        """Each worker reads files of a stream of its own."""
        return len(self.data.paths) or None if is_stream(self.data) else None

    @property
    def same_from_workers(self) -> bool:
        """Tickets say how to augment; workers share the files of a stream out among them."""
        return not is_stream(self.data)

    def buffered_examples(self, workers: int) -> int:
        return max(1, workers) * self.data.buffer_examples if is_stream(self.data) else 0

    def batch(self, batch_size: int, device: torch.device, seed: int) -> Any:
        """One batch on the device, of random examples. Decoded by PIL, whatever the loader uses: it stays the same."""
        check_size(batch_size, self.examples)
        with SkippedExamples() if self.skip_bad else contextlib.nullcontext() as skipped:
            pipeline = Pipeline(self.data, self.size, self.mode, seed=seed, skipped=skipped)
            batch = _one_batch(pipeline, batch_size)
            if skipped is not None and (count := skipped.count):
                left_out = "1 bad example was" if count == 1 else f"{count} bad examples were"
                self.notes.append(f"{left_out} left out of the resident batch, such as {skipped.names[0]}")
        return _place(batch, device, non_blocking=False)

    def endless(
        self, settings: Settings, seed: int, skipped: SkippedExamples | None, depth: Depth, drawn: int | None
    ) -> Endless:
        """A loader over `drawn` of the examples, or all."""
        check_size(settings.batch_size, self.examples)
        pipeline = self._pipeline(settings, seed, skipped, depth)
        if is_stream(self.data):
            self._note_bursts(self.data, max(1, settings.num_workers))
            return make_loader(PipelineStream(pipeline, settings.batch_size), settings, as_it_is, "data")
        batches = EndlessBatches(Shuffled(self.examples, seed, drawn), settings.batch_size)
        return make_loader(PipelineDataset(pipeline), settings, as_it_is, "data", batches=batches)

    def staged(self, settings: Settings, seed: int, skipped: SkippedExamples | None) -> Staged:
        check_size(settings.batch_size, self.examples)
        pipeline = self._pipeline(settings, seed, skipped, "examples")
        kind = StagedStream if is_stream(self.data) else StagedExamples
        return kind(pipeline, settings.batch_size)

    @contextlib.contextmanager
    def placing(
        self, take: Callable[[], Batch], settings: Settings, device: torch.device, waits: Stopwatch
    ) -> Iterator[Callable[[], Any]]:
        """A function for the next batch on the device; what it waits for a batch goes to `waits`."""
        if settings.decoder == "nvjpeg":
            from traindyno.worker.data.gpu_decode import GpuDecoder

            taken = (take().inputs for _ in itertools.count())
            with GpuDecoder(taken, device, self.size, channels_last=_channels_last(settings)) as decoder:
                yield waits.around(decoder.__next__)
            return
        timed, non_blocking = waits.around(take), settings.pin_memory
        channels_last = _channels_last(settings)
        yield lambda: _place(timed(), device, non_blocking, channels_last)

    def warm(self, settings: Settings, seed: int, skipped: SkippedExamples | None, alive: Alive) -> Warmth:
        """Read the data once, by processes of their own: what is mapped there would count as memory of this one."""
        warmth = plan_warm(self.data, seed, settings.batch_size)
        if not self.data.paths:
            return warmth
        if is_stream(self.data):
            read_files(self.data.paths, alive)
        else:
            self._read_once(warmth.drawn or self.examples, seed, skipped, alive)
        return replace(warmth, cached_share=cached_share(self.data.paths))

    def cold(self) -> Warmth:
        return make_cold(self.data.paths)

    def _read_once(self, drawn: int, seed: int, skipped: SkippedExamples | None, alive: Alive) -> None:
        """The last batch is filled up from the first, so that none is left out."""
        readers = Settings(batch_size=min(READ_TOGETHER, drawn), num_workers=READERS)
        chosen = Shuffled(self.examples, seed, drawn).drawn
        chosen += chosen[: -drawn % readers.batch_size]
        batches = EndlessBatches(lambda _: chosen, readers.batch_size)
        dataset = PipelineDataset(WholeBytes(self.data, self.size, skipped=skipped))
        with Flow(make_loader(dataset, readers, as_it_is, "data", batches=batches)) as flow:
            flow.start()
            for _ in range(len(chosen) // readers.batch_size - 1):
                flow.take()
                alive()

    def _note_bursts(self, stream: ExampleStream, workers: int) -> None:
        share = len(stream) // workers
        note = (
            f"a worker's share of {share} examples is read through a shuffle buffer of {stream.buffer_examples}: in "
            "bursts, one at the start of each epoch, of which a trial may time none"
        )
        if share < BURSTS * stream.buffer_examples and note not in self.notes:
            self.notes.append(note)

    def _pipeline(self, settings: Settings, seed: int, skipped: SkippedExamples | None, depth: Depth) -> Pipeline:
        kind = DEPTHS[depth]
        if settings.decoder == "nvjpeg" and depth == "pixels":
            raise UsageError("nvjpeg decodes on the GPU, so no worker can be timed at it", "choose another decoder")
        if settings.decoder == "nvjpeg" and depth == "examples":
            kind = PackedPipeline
        pipeline = kind(self.data, self.size, self.mode, settings.decoder, seed, skipped)
        pipeline.open()
        return pipeline


def _one_batch(pipeline: Pipeline, batch_size: int) -> Batch:
    if is_stream(pipeline.data):
        return next(pipeline.batches(0, 1, batch_size))
    return pipeline.batch(Shuffled(len(pipeline.data), pipeline.seed, batch_size).drawn)


def _channels_last(settings: Settings) -> bool:
    return settings.memory_format == "channels_last"


def _place(
    batch: Batch, device: torch.device, non_blocking: bool, channels_last: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Bytes travel, a quarter of what floats would; the device makes of them what the model takes."""
    images = normalise(batch.inputs.to(device, non_blocking=non_blocking), channels_last=channels_last)
    return images, batch.labels.to(device, non_blocking=non_blocking)
