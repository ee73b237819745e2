"""Which size of buckets and which accumulation is the fastest of those measured, in words."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.intervals import ratio_interval
from traindyno.analysis.scaling.words import devices_words, listed, times, times_between
from traindyno.core.answers.scaling import ScaleRow
from traindyno.core.requests import ScaleRequest


def variants(request: ScaleRequest, rows: Sequence[ScaleRow]) -> Iterator[str]:
    """Of the most devices, over the batches that were measured in more than one way."""
    measured = [row for row in rows if row.failure is None]
    most = [row for row in measured if row.devices == max(each.devices for each in measured)]
    bucket, accumulation = request.bucket_mib[0], request.accumulations[0]
    yield from _buckets([row for row in most if row.accumulation_steps == accumulation], bucket)
    of_usual_buckets = [row for row in most if row.bucket_mib == bucket]
    yield from _parts(of_usual_buckets, accumulation)
    yield from _rarer(of_usual_buckets)


def _buckets(rows: Sequence[ScaleRow], first: float) -> Iterator[str]:
    best_as_it_is = []
    for usual in (row for row in rows if row.bucket_mib == first):
        alike = [row for row in rows if row.batch_per_device == usual.batch_per_device]
        best = max(alike, key=lambda row: row.examples_per_second or 0.0)
        if best is not usual:
            than = f"{_compared(usual, best)} as fast as buckets of {first:g} MiB"
            yield f"Buckets of {best.bucket_mib:g} MiB are the best measured with {best.batch_per_device} each: {than}."
        elif len(alike) > 1:
            best_as_it_is.append(str(usual.batch_per_device))
    if best_as_it_is:
        yield f"None of the buckets measured with {listed(best_as_it_is)} each is faster than those of {first:g} MiB."


def _parts(rows: Sequence[ScaleRow], first: int) -> Iterator[str]:
    """The same batch computed in more parts."""
    for count in sorted({row.accumulation_steps for row in rows} - {first}):
        told = [
            f"{_compared(usual, row)} with {row.batch_per_device} each"
            for row in rows
            for usual in rows
            if row.accumulation_steps == count
            and (usual.accumulation_steps, usual.batch_per_device) == (first, row.batch_per_device)
        ]
        if told:
            split = f"The same batch in {_parts_words(count)} is, against {_parts_words(first)}"
            yield f"{split}, so many times as fast: {', '.join(told)}."


def _rarer(rows: Sequence[ScaleRow]) -> Iterator[str]:
    """Parts of the same size, with gradients sent after several of them rather than after each."""
    for count in sorted({row.accumulation_steps for row in rows} - {1}):
        told = [
            f"{_compared(each, row)} with {each.batch_per_device} in a part"
            for row in rows
            for each in rows
            if row.accumulation_steps == count
            and each.accumulation_steps == 1
            and row.devices > 1
            and each.batch_per_device * count == row.batch_per_device
        ]
        if told:
            rare = f"sending gradients once for {count} parts, rather than for each, is so many times as fast"
            grows = f"the batch in all grows to {count} times"
            yield f"On {devices_words(rows[0].devices)} {rare}: {', '.join(told)}; {grows}."


def _parts_words(count: int) -> str:
    return "one part" if count == 1 else f"{count} parts"


def _compared(one: ScaleRow, other: ScaleRow) -> str:
    """How many times as fast the other is, and whether that is beyond chance."""
    assert one.ci95 is not None
    assert other.ci95 is not None
    ratio, (low, high) = ratio_interval(
        one.examples_per_second or 0.0, one.ci95, other.examples_per_second or 0.0, other.ci95
    )
    chance = "" if low > 1 or high < 1 else ", which may be chance"
    return f"{times(ratio)} ({times_between((low, high))}{chance})"
