"""Tiny pictures in the official binary archive of CIFAR-10: five files to train on and one to test on."""

import shutil
from pathlib import Path

import numpy as np

from traindyno.worker.data.making_images import draw
from traindyno.worker.data.making_layout import Block, Layout, MakeRequest
from traindyno.worker.data.set_files import whole_file, write_whole

ARCHIVE = "cifar-10-batches-bin"
TRAIN_FILES, TEST_FILE = 5, "test_batch"
SIDE = 32
RECORD_BYTES = 1 + 3 * SIDE**2
# A picture drawn larger and made smaller looks like a photograph made smaller, as those of CIFAR-10 were.
REDUCTION = 3


def _files(request: MakeRequest) -> dict[str, int]:
    """Images of each file, the training images spread evenly over five."""
    edges = [request.train_images * file // TRAIN_FILES for file in range(TRAIN_FILES + 1)]
    files = {f"data_batch_{file + 1}": edges[file + 1] - edges[file] for file in range(TRAIN_FILES)}
    return {**files, TEST_FILE: request.val_images}


def _write_block(folder: Path, request: MakeRequest, block: Block) -> int:
    """Write the block's records to a file of their own, unless they are there already."""
    part = _parts(folder) / f"{block.part}-{block.first:09d}"
    if not part.exists() and not _file(folder, block.part).exists():
        part.parent.mkdir(parents=True, exist_ok=True)
        write_whole(part, b"".join(_record(request, block.part, index) for index in range(block.first, block.last)))
    return len(block) * RECORD_BYTES


def _record(request: MakeRequest, file: str, index: int) -> bytes:
    """A byte for the label, then the red, the green and the blue plane."""
    random = np.random.default_rng([request.seed, list(_files(request)).index(file), index])
    label = index % request.classes
    picture = draw(label, (SIDE * REDUCTION, SIDE * REDUCTION), random).reduce(REDUCTION)
    return bytes([label]) + np.asarray(picture).transpose(2, 0, 1).tobytes()


def _finish(folder: Path, request: MakeRequest) -> None:
    """Join the blocks to the files of the archive, and name the classes."""
    for name in _files(request):
        path = _file(folder, name)
        if not path.exists():
            _join(sorted(_parts(folder).glob(f"{name}-*")), path)
    names = "".join(f"class_{label}\n" for label in range(request.classes))
    write_whole(folder / ARCHIVE / "batches.meta.txt", names.encode())
    shutil.rmtree(_parts(folder), ignore_errors=True)


def _join(parts: list[Path], path: Path) -> None:
    with whole_file(path) as joined:
        for part in parts:
            with part.open("rb") as records:
                shutil.copyfileobj(records, joined)


def _file(folder: Path, name: str) -> Path:
    return folder / ARCHIVE / f"{name}.bin"


def _parts(folder: Path) -> Path:
    return folder / ARCHIVE / ".parts"


CIFAR10 = Layout(
    classes=10,
    fixed=True,
    val_share=1 / 6,
    image_bytes=RECORD_BYTES,
    block_images=250,
    scheme="cifar10",
    parts=_files,
    write_block=_write_block,
    finish=_finish,
)
