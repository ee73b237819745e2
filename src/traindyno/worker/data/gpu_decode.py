"""Decode packed batches on the GPU, ahead of the training that uses them."""

import importlib.util
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.data.decoders.nvjpeg import device_images
from traindyno.worker.data.packing import PackedBatch

Item = TypeVar("Item")
Done = TypeVar("Done")


class Ahead(Iterator[Done], Generic[Item, Done]):
    """Work on items in one background thread, up to `depth` of them before they are asked for.

    What the work or the iterator raises is raised where the item is asked for. Closing waits for the item in work.
    """

    def __init__(self, items: Iterable[Item], work: Callable[[Item], Done], depth: int) -> None:
        self._items = iter(items)
        self._work = work
        self._thread = ThreadPoolExecutor(1, "ahead")
        self._asked: deque[Future[Done | None]] = deque(self._thread.submit(self._next) for _ in range(depth))

    def __next__(self) -> Done:
        if not self._asked:
            raise StopIteration
        try:
            done = self._asked.popleft().result()
        except BaseException:
            self.close()
            raise
        if done is None:
            self.close()
            raise StopIteration
        self._asked.append(self._thread.submit(self._next))
        return done

    def close(self) -> None:
        """End the thread; nothing more comes."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._asked.clear()

    def _next(self) -> Done | None:
        for item in self._items:
            return self._work(item)
        return None


class Decoded(NamedTuple):
    """A batch as the model takes it, and the event that says when the GPU has made it."""

    images: Tensor
    labels: Tensor
    made: torch.cuda.Event


class GpuDecoder:
    """Packed batches come out as normalised images and labels on the device, decoded on a stream of their own.

    nvJPEG writes into memory at the moment of the call, whatever is still queued on the stream
    (github.com/pytorch/vision/pull/9606). So what a batch was made of is kept until the host has seen that the GPU is
    done with it, and never freed to the allocator while a kernel may still read it.
    """

    def __init__(
        self,
        batches: Iterable[PackedBatch],
        device: torch.device,
        size: int,
        dtype: torch.dtype = torch.float32,
        channels_last: bool = False,
        depth: int = 2,
    ) -> None:
        _check(device)
        self._device = device
        self._size = size
        self._dtype = dtype
        self._channels_last = channels_last
        # Decoding is short and training waits for it: its kernels go first.
        self._stream = torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]
        self._in_use: tuple[torch.cuda.Event, object] | None = None
        self._ahead = Ahead(batches, self._decode, depth)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return self

    def __next__(self) -> tuple[Tensor, Tensor]:
        """The next batch, for use on the current stream."""
        images, labels, made = next(self._ahead)
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(made)
        images.record_stream(stream)
        labels.record_stream(stream)
        return images, labels

    def close(self) -> None:
        """End the thread and give the memory back."""
        self._ahead.close()
        self._stream.synchronize()
        self._in_use = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _decode(self, batch: PackedBatch) -> Decoded:
        from traindyno.worker.data.crop_kernel import addresses, crop

        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            images = device_images(batch, self._size, self._device)
            table, boxes = self._moved(addresses(images)), self._moved(batch.boxes)
            cropped = crop(table, boxes, self._size, self._dtype, self._channels_last)
            labels = self._moved(batch.labels)
            made = torch.cuda.Event()  # type: ignore[no-untyped-call]
            made.record()
        self._keep(made, (images, table, boxes))
        return Decoded(cropped, labels, made)

    def _moved(self, tensor: Tensor) -> Tensor:
        return tensor.pin_memory().to(self._device, non_blocking=True)

    def _keep(self, made: torch.cuda.Event, parts: object) -> None:
        """Hold on to these parts, and let those of the batch before go once the GPU has done with them."""
        if self._in_use is not None:
            self._in_use[0].synchronize()
        self._in_use = made, parts


def _check(device: torch.device) -> None:
    if device.type != "cuda":
        raise UsageError(
            f"the decoder nvjpeg needs a GPU, and the device is {device}",
            "choose the decoder pil or torchvision, or a CUDA device",
        )
    if importlib.util.find_spec("triton") is None:
        raise TraindynoError(
            "the decoder nvjpeg crops with triton, which is not installed",
            "pip install triton, or choose another decoder",
        )
