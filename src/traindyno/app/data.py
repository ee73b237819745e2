"""Sets of data on disk: made in the form of well-known ones, prepared for fast loading, checked."""

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from traindyno.app.data_answers import CheckAnswer, Listener, MakeAnswer, PrepareAnswer, PrepareCost, PreparedSplit
from traindyno.core.errors import TraindynoError
from traindyno.core.units import format_bytes, format_seconds
from traindyno.machine.cpus import usable_cpus

if TYPE_CHECKING:
    from traindyno.worker.data.making_layout import Like, MakeRequest
    from traindyno.worker.data.prepared_format import Encoding, Header, PrepareRequest
    from traindyno.worker.data.preparing import Plan

SKIPPED_NAMES = 16
# A few small images are in every set; more than that, and the size asked for is the wrong one.
MANY_ENLARGED = 0.2

StopQuestion = Callable[[], bool]


def usable_processes(wanted: int | None) -> int:
    """As many as asked for, or one for each CPU that may be used."""
    return wanted or max(1, int(usable_cpus().value))


def make_request(like: "Like", images: int, classes: int | None, val_share: float | None, seed: int) -> "MakeRequest":
    from traindyno.worker.data.making import settle

    return settle(like, images, classes, val_share, seed)


def prepare_request(source: str, encoding: "Encoding", shorter_side: int, quality: int | None) -> "PrepareRequest":
    from traindyno.worker.data.prepared_format import PrepareRequest

    return PrepareRequest(source=source, encoding=encoding, shorter_side=shorter_side, quality=quality)


def make(
    folder: Path, request: "MakeRequest", processes: int, listener: Listener, should_stop: StopQuestion
) -> MakeAnswer:
    """Make a set, or what is missing of it."""
    from traindyno.worker.data.making import make_set

    began = time.monotonic()
    made = make_set(folder, request, processes, listener.count, should_stop)
    return MakeAnswer(
        path=str(folder),
        data=made.data,
        like=request.like,
        images=request.images,
        train_images=request.train_images,
        val_images=request.val_images,
        classes=request.classes,
        seed=request.seed,
        bytes=made.bytes,
        processes=processes,
        seconds=time.monotonic() - began,
        hint=_try(made.data),
    )


def is_made(folder: Path, request: "MakeRequest") -> bool:
    """Whether this very set was made there, to its end."""
    from traindyno.worker.data.making import MANIFEST, Manifest
    from traindyno.worker.data.set_files import read_manifest

    return read_manifest(folder / MANIFEST, Manifest) == Manifest(request=request, finished=True)


def prepare_cost(request: "PrepareRequest", target: Path, processes: int) -> PrepareCost:
    """What preparing would take, without preparing anything."""
    from traindyno.worker.data.preparing import as_begun, begun, plan

    planned = plan(as_begun(target, request))
    begun(target, planned.header)
    return _cost(planned, target, processes)


def prepare(
    request: "PrepareRequest",
    target: Path,
    processes: int,
    skip_bad: bool,
    listener: Listener,
    should_stop: StopQuestion,
    most_seconds: float | None = None,
) -> PrepareAnswer:
    """Tell the cost, then prepare the set or what is missing of it, unless that would take longer than it may."""
    from traindyno.worker.data.preparing import as_begun, begun, plan, prepare_set

    began = time.monotonic()
    planned = plan(as_begun(target, request))
    header = begun(target, planned.header)
    if header is None or not header.finished:
        cost = _cost(planned, target, processes)
        _check_time(cost, most_seconds)
        _tell(cost, planned, resumed=header is not None, listener=listener)
        header = prepare_set(target, planned, cost.expected_bytes, processes, skip_bad, listener.count, should_stop)
    else:
        listener.notice(f"{target} is prepared already")
    return _prepared(header, target, processes, time.monotonic() - began)


def check(target: Path, processes: int, listener: Listener, should_stop: StopQuestion) -> CheckAnswer:
    """Read every file of a prepared set, and compare it with its checksum."""
    from traindyno.worker.data.prepared import finished_header
    from traindyno.worker.data.prepared_check import damaged_files

    began = time.monotonic()
    header = finished_header(target)
    damaged = damaged_files(target, header, processes, listener.count, should_stop)
    again = f"traindyno data prepare {shlex.quote(header.request.source)} {shlex.quote(str(target))}"
    return CheckAnswer(
        target=str(target),
        intact=not damaged,
        damaged=tuple(damaged),
        examples=sum(split.examples for split in header.splits),
        files=sum(1 + len(split.chunks) for split in header.splits),
        bytes=sum(split.bytes for split in header.splits),
        seconds=time.monotonic() - began,
        hint=f"remove {target}, then `{again}`" if damaged else None,
    )


def describe_cost(cost: PrepareCost) -> str:
    """One sentence with the disk space and the time."""
    return (
        f"{cost.examples:,} examples as {cost.format} with a shorter side of {cost.shorter_side} px will take about "
        f"{format_bytes(cost.expected_bytes)} of {format_bytes(cost.free_bytes)} free, and about "
        f"{format_seconds(cost.expected_seconds)} with {cost.processes} process{'es' if cost.processes > 1 else ''}"
    )


def _check_time(cost: PrepareCost, most_seconds: float | None) -> None:
    if most_seconds is not None and cost.expected_seconds > most_seconds:
        command = shlex.join(["traindyno", "data", "prepare", cost.source, cost.target])
        raise TraindynoError(
            f"it would take about {format_seconds(cost.expected_seconds)}, and {format_seconds(most_seconds)} are left",
            f"give more time, or prepare it first: {command} --shorter-side {cost.shorter_side}",
        )


def _tell(cost: PrepareCost, planned: "Plan", resumed: bool, listener: Listener) -> None:
    listener.notice(describe_cost(cost) + (", less what is there already" if resumed else ""))
    if cost.enlarged_share > MANY_ENLARGED:
        listener.warn(
            f"about {cost.enlarged_share:.0%} of the images are smaller than {cost.shorter_side} px and will be "
            "enlarged: a smaller --shorter-side would take less space and show as much"
        )
    lost = {"padded_crop": "its crops lose their padding", "none": "its images will be cropped and mirrored"}
    if (loss := lost.get(planned.splits[0].examples.augmentation)) is not None:
        listener.warn(f"{cost.source} holds pixels already: to prepare it gains nothing, and {loss}")


def _cost(planned: "Plan", target: Path, processes: int) -> PrepareCost:
    from traindyno.worker.data.preparing_cost import estimate
    from traindyno.worker.data.set_files import free_bytes

    request = planned.header.request
    cost = estimate(request, planned.splits)
    return PrepareCost(
        source=request.source,
        target=str(target),
        format=request.encoding,
        shorter_side=request.shorter_side,
        examples=cost.examples,
        expected_bytes=cost.bytes,
        free_bytes=free_bytes(target),
        expected_seconds=cost.one_process_seconds / processes,
        processes=processes,
        enlarged_share=cost.enlarged_share,
    )


def _prepared(header: "Header", target: Path, processes: int, seconds: float) -> PrepareAnswer:
    skipped = [name for split in header.splits for name in split.skipped]
    return PrepareAnswer(
        source=header.request.source,
        target=str(target),
        data=f"prepared:{target}",
        format=header.request.encoding,
        shorter_side=header.request.shorter_side,
        quality=header.request.quality,
        classes=header.classes,
        examples=sum(split.examples for split in header.splits),
        bytes=sum(split.bytes for split in header.splits),
        splits=tuple(
            PreparedSplit(name=split.name, examples=split.examples, skipped=len(split.skipped), bytes=split.bytes)
            for split in header.splits
        ),
        skipped=len(skipped),
        skipped_names=tuple(skipped[:SKIPPED_NAMES]),
        processes=processes,
        seconds=seconds,
        changes=_changes(header.request),
        hint=_try(f"prepared:{target}"),
    )


def _changes(request: "PrepareRequest") -> tuple[str, ...]:
    """What augmentation can no longer do with the examples as they are stored."""
    if request.encoding == "u8":
        return (
            f"random crops are cut, unscaled, from images whose shorter side is {request.shorter_side} px",
            "the random scale and proportions of RandomResizedCrop are gone; flips stay as they were",
            f"to infer, the centre is cut from {request.shorter_side} px, whatever the model's own resize is",
        )
    return (
        f"random resized crops are taken from images whose shorter side is at most {request.shorter_side} px",
        "scale and proportions stay random, but the smallest crops have fewer pixels and are enlarged more",
        f"larger images were encoded once more, at quality {request.quality}; smaller JPEGs are unchanged",
    )


def _try(data: str) -> str:
    return f"traindyno loader --data {shlex.quote(data)}"
