"""Decode packed batches on the GPU, ahead of the training that uses them."""

import functools
import importlib.util
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
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

    Loader workers may be forked by this thread, where an epoch begins. So it is no executor's: a process that such a
    thread has forked would fail when it ends, because it would wait for itself.
    """

    def __init__(self, items: Iterable[Item], work: Callable[[Item], Done], depth: int) -> None:
        self._items = iter(items)
        self._work = work
        self._asked = threading.Semaphore(depth)
        self._told: queue.SimpleQueue[tuple[Done] | BaseException] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work_ahead, name="ahead", daemon=True)
        self._thread.start()

    def __next__(self) -> Done:
        if self._closed:
            raise StopIteration
        told = self._told.get()
        if isinstance(told, BaseException):
            self.close()
            raise told
        self._asked.release()
        return told[0]

    def close(self) -> None:
        """End the thread; nothing more comes, and what was made ahead is let go."""
        self._closed = True
        self._asked.release()
        self._thread.join()
        self._told = queue.SimpleQueue()

    def _work_ahead(self) -> None:
        try:
            for item in self._one_for_each_asked():
                self._told.put((self._work(item),))
            self._told.put(StopIteration())
        except BaseException as error:  # noqa: BLE001 - whoever asks for the item raises it
            self._told.put(error)

    def _one_for_each_asked(self) -> Iterator[Item]:
        while self._asked.acquire() and not self._closed:
            try:
                item = next(self._items)
            except StopIteration:
                return
            yield item


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
        self._stream = _decoding_stream(device)
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


@functools.cache
def _decoding_stream(device: torch.device) -> torch.cuda.Stream:
    """One for all decoders of a device, such as those of every epoch: torch keeps memory for each stream.

    Decoding is short and training waits for it: its kernels go first.
    """
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]


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
