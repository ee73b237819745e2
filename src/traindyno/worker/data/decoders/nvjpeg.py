"""Decode a packed batch with nvJPEG on the GPU; what it refuses, with PIL.

torchvision's decoder works on a stream of its own and returns when all is done. nvJPEG writes at the moment of the
call, so the memory it is given must not be in use any more by anything queued on the current stream.

nvJPEG keeps memory for each place in a batch, and asks for more whenever a larger image than ever before comes there.
Of images of many sizes in any order that goes on for hundreds of batches, so the largest are always decoded first.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torchvision.io import ImageReadMode, decode_jpeg

from traindyno.worker.data.bad import UndecodableError, bad_example
from traindyno.worker.data.decoders.pil import decode_pil
from traindyno.worker.data.packing import PackedBatch

NOT_SKIPPED_HINT = "mend or remove it; where bad examples are skipped, choose the decoder pil, which sees it in time"


def device_images(batch: PackedBatch, size: int, device: torch.device) -> list[Tensor]:
    """The images of a batch on the device, 3 × height × width bytes each, on the current stream."""
    parts, finished = torch.split(batch.content, batch.lengths.tolist()), batch.finished.tolist()
    sent = [place for place, done in enumerate(finished) if done]
    jpegs = [place for place in batch.areas.argsort(descending=True, stable=True).tolist() if not finished[place]]
    images = dict(zip(sent, _sent([parts[place] for place in sent], size, device), strict=True))
    images |= zip(jpegs, _decoded([(parts[place], batch.names[place]) for place in jpegs], device), strict=True)
    return [images[place] for place in range(len(parts))]


def _sent(parts: list[Tensor], size: int, device: torch.device) -> Sequence[Tensor]:
    """Finished images, moved together."""
    if not parts:
        return ()
    return torch.stack(parts).view(-1, 3, size, size).pin_memory().to(device, non_blocking=True).unbind()


def _decoded(jpegs: Sequence[tuple[Tensor, str]], device: torch.device) -> list[Tensor]:
    """Decode with nvJPEG, all at once. It refuses a whole batch for one image: then one by one."""
    if not jpegs:
        return []
    try:
        return _nvjpeg([part for part, _ in jpegs], device)
    except RuntimeError:
        # What was begun may still be written to memory that is free by now.
        torch.cuda.synchronize(device)
        return [_decoded_alone(part, name, device) for part, name in jpegs]


def _decoded_alone(part: Tensor, name: str, device: torch.device) -> Tensor:
    try:
        return _nvjpeg([part], device)[0]
    except RuntimeError:
        torch.cuda.synchronize(device)
        return decoded_on_host(part, name).to(device)


def _nvjpeg(parts: list[Tensor], device: torch.device) -> list[Tensor]:
    images: list[Tensor] = decode_jpeg(parts, ImageReadMode.RGB, device)
    return images


def decoded_on_host(part: Tensor, name: str) -> Tensor:
    """What nvJPEG refuses may yet be an image; if it is none, the error names it.

    That is seen only here, when the batch is complete: too late for --skip-bad to put another in its place.
    """
    try:
        pixels = decode_pil(part.numpy().tobytes())
    except UndecodableError as error:
        raise bad_example(name, str(error), NOT_SKIPPED_HINT) from error
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
