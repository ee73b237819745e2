"""The points of a study of scaling as they are typed: devices, batches, buckets, parts of a batch."""

import math

from traindyno.core.errors import UsageError
from traindyno.core.sweeps import parse_sweep
from traindyno.search.throughput import doubling


def parse_devices(text: str) -> tuple[int, ...]:
    """`1,2,4`: each once and in order."""
    counts = _whole_numbers(text, "devices", "write them as 1,2,4")
    if min(counts) < 1:
        raise UsageError("no devices cannot train anything", "counts start at 1: 1,2,4")
    return tuple(sorted(set(counts)))


def parse_batches(text: str) -> tuple[int, ...]:
    """`32,64`, or `32..256` by doubling."""
    hint = "write 32,64 or 32..256, all above 0"
    try:
        sweep = parse_sweep(text)
    except UsageError as error:
        raise UsageError(error.message, hint) from None
    if sweep.sizes is not None:
        return sweep.sizes
    if sweep.largest is None:
        raise UsageError("scaling is measured at batches that are named", hint)
    return doubling(sweep.smallest, sweep.largest)


def parse_buckets(text: str) -> tuple[float, ...]:
    """`25,1`: the first is the usual one, so that their order stays."""
    hint = "write mebibytes as 25,1"
    try:
        sizes = [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{text!r} is not a list of bucket sizes", hint) from None
    if not all(0 < size < math.inf for size in sizes):
        raise UsageError("a bucket of gradients holds something", f"sizes are above 0; {hint}")
    return tuple(dict.fromkeys(sizes))


def parse_parts(text: str) -> tuple[int, ...]:
    """`1,4`: the first is the usual one, so that their order stays."""
    counts = _whole_numbers(text, "steps of accumulation", "write them as 1,4")
    if min(counts) < 1:
        raise UsageError("a batch is computed in at least one part", "counts start at 1: 1,4")
    return tuple(dict.fromkeys(counts))


def _whole_numbers(text: str, what: str, hint: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{text!r} is not a list of {what}", hint)
    return [int(part) for part in parts]
