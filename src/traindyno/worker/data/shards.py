"""Tar shards in the convention of WebDataset, read in order through a shuffle buffer: `shards:PATTERN`."""

import glob
import itertools
import os
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import Mode
from traindyno.worker.data.folder import EXTENSIONS
from traindyno.worker.data.stored import Augmentation, Stored

BUFFER_EXAMPLES = 1000
MOST_SHARDS = 1_000_000
LONGEST_LABEL_BYTES = 16
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(eq=False)
class ShardExamples:
    """Encoded images in the order of their shards; without a buffer, in exactly that order."""

    shards: tuple[str, ...]
    examples: int
    classes: int
    buffer_examples: int = BUFFER_EXAMPLES
    augmentation: Augmentation = "resized_crop"

    @property
    def paths(self) -> Sequence[str]:
        return self.shards

    def __len__(self) -> int:
        return self.examples

    def check_workers(self, workers: int) -> None:
        """Refuse more workers than shards: a shard is read by one worker, so some would have nothing to do."""
        if workers > len(self.shards):
            raise UsageError(
                f"{workers} loader workers cannot share {len(self.shards)} shards: each reads whole shards",
                f"use at most {len(self.shards)} workers, or write the data as more and smaller shards",
            )

    def stream(self, worker: int, workers: int, seed: int) -> Iterator[Stored]:
        """The examples of every `workers`-th shard; with a buffer, shards and examples in random order."""
        self.check_workers(workers)
        own = list(self.shards[worker::workers])
        if not self.buffer_examples:
            yield from itertools.chain.from_iterable(map(read_shard, own))
            return
        random = np.random.default_rng((seed, worker))
        order = random.permutation(len(own))
        yield from _shuffled(
            (stored for place in order for stored in read_shard(own[place])), self.buffer_examples, random
        )


def open_shards(pattern: str, mode: Mode) -> ShardExamples:
    """Find the shards and go once over their headers and labels, to count and to find what is wrong."""
    shards = tuple(find_shards(pattern))
    counts, highest = [], []
    for shard in shards:
        labels = [label for _, _, label in _examples_in(shard)]
        if not labels:
            raise TraindynoError(f"the shard {shard} holds no examples", f"examples are KEY{EXTENSIONS[0]} and KEY.cls")
        counts.append(len(labels))
        highest.append(max(labels))
    return ShardExamples(shards, sum(counts), max(highest) + 1, BUFFER_EXAMPLES if mode == "train" else 0)


def find_shards(pattern: str) -> list[str]:
    """The files of a folder (`*.tar`), of a pattern with `*` or with `{000..099}`, or the one file named."""
    if os.path.isfile(pattern):
        return [pattern]
    if os.path.isdir(pattern):
        found = [(os.path.join(pattern, "*.tar"), sorted(glob.glob(os.path.join(glob.escape(pattern), "*.tar"))))]
    else:
        found = [(one, sorted(glob.glob(one)) if glob.has_magic(one) else [one]) for one in expand_braces(pattern)]
    missing = [one for one, files in found if not files or not os.path.isfile(files[0])]
    if missing:
        raise UsageError(
            f"there is no shard {missing[0]} ({len(missing)} of {len(found)} missing)",
            "name a folder of .tar files, a pattern such as 'shard-*.tar', or a range such as 'shard-{000..099}.tar'",
        )
    return list(dict.fromkeys(itertools.chain.from_iterable(files for _, files in found)))


def expand_braces(pattern: str) -> list[str]:
    """`a-{08..10}.tar` as `a-08.tar`, `a-09.tar`, `a-10.tar`; `{x,y}` as either."""
    pieces = _BRACES.split(pattern)
    choices = [_choices(piece) if place % 2 else [piece] for place, piece in enumerate(pieces)]
    if np.prod([float(len(each)) for each in choices]) > MOST_SHARDS:
        raise UsageError(f"{pattern} names more than {MOST_SHARDS:,} shards", "write a shorter range")
    return ["".join(parts) for parts in itertools.product(*choices)]


def _choices(inside: str) -> Sequence[str]:
    numbers = _RANGE.fullmatch(inside)
    if numbers is None:
        return inside.split(",") if "," in inside else [f"{{{inside}}}"]
    first, last = int(numbers[1]), int(numbers[2])
    if abs(last - first) >= MOST_SHARDS:
        raise UsageError(f"{{{inside}}} names more than {MOST_SHARDS:,} shards", "write a shorter range")
    step = 1 if first <= last else -1
    return [str(number).zfill(len(numbers[1])) for number in range(first, last + step, step)]


def read_shard(shard: str) -> Iterator[Stored]:
    """The examples of one shard in its order."""
    for file, image, label in _examples_in(shard):
        yield Stored(_content(file, image, shard), label, f"{shard}/{image.name}")


def _shuffled(stream: Iterable[Stored], buffer_examples: int, random: np.random.Generator) -> Iterator[Stored]:
    """Each example takes the place of a random one in the buffer, which goes out."""
    buffer: list[Stored] = []
    for stored in stream:
        if len(buffer) < buffer_examples:
            buffer.append(stored)
            continue
        place = int(random.integers(buffer_examples))
        yield buffer[place]
        buffer[place] = stored
    for place in random.permutation(len(buffer)):
        yield buffer[place]


def _examples_in(shard: str) -> Iterator[tuple[BinaryIO, tarfile.TarInfo, int]]:
    """The open file, the image's place in it and the label, for members side by side with one key."""
    with _opened(shard) as file:
        for key, members in itertools.groupby(_members(file, shard), key=lambda member: _key(member.name)[0]):
            kinds = {_key(member.name)[1]: member for member in members}
            image = next((kinds[kind] for kind in EXTENSIONS if kind in kinds), None)
            label = kinds.get(".cls")
            if image is not None and label is not None:
                yield file, image, _label(file, label, shard)
            elif image is not None or label is not None:
                lacking = "label (.cls)" if label is None else f"image ({', '.join(EXTENSIONS)})"
                raise TraindynoError(
                    f"the example {key} in {shard} has no {lacking} beside it",
                    "the members of one example stand side by side, as `tar --sort=name` puts them",
                )


def _opened(shard: str) -> BinaryIO:
    try:
        return open(shard, "rb")
    except OSError as error:
        raise UsageError(f"the shard {shard} cannot be read ({error.strerror})", "check its permissions") from error


def _members(file: BinaryIO, shard: str) -> Iterator[tarfile.TarInfo]:
    """The plain files in a tar archive, which must be whole.

    `tarfile` ends in silence at a damaged header, so we look for the block of zeros that a true end has.
    """
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            for member in archive:
                if member.isfile() and not os.path.basename(member.name).startswith("."):
                    yield member
            file.seek(archive.offset)
    except tarfile.TarError as error:
        raise _damaged(shard, str(error)) from error
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise _damaged(shard, f"cut short or damaged at byte {archive.offset:,}")


def _key(name: str) -> tuple[str, str]:
    """`some/cat.0.JPG` as `some/cat` and `.0.jpg`: the extension begins at the first dot of the file's name."""
    folder, name = os.path.split(name)
    stem, dot, extension = name.partition(".")
    return os.path.join(folder, stem), dot + extension.lower()


def _label(file: BinaryIO, member: tarfile.TarInfo, shard: str) -> int:
    text = _content(file, member, shard).strip() if member.size <= LONGEST_LABEL_BYTES else b"(too long)"
    if not text.isdigit():
        raise TraindynoError(
            f"{member.name} in {shard} is no label: {text.decode(errors='replace')!r}",
            "a .cls member holds the number of the class, from 0",
        )
    return int(text)


def _content(file: BinaryIO, member: tarfile.TarInfo, shard: str) -> bytes:
    file.seek(member.offset_data)
    content = file.read(member.size)
    if len(content) < member.size:
        raise _damaged(shard, f"cut short within {member.name}")
    return content


def _damaged(shard: str, reason: str) -> TraindynoError:
    return TraindynoError(
        f"the shard {shard} is not a whole tar archive: {reason}", "write it again, as plain .tar without compression"
    )
