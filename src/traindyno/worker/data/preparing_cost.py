"""What preparing a set will cost, from converting a small sample of it."""

import time
from dataclasses import dataclass

from traindyno.core.errors import TraindynoError
from traindyno.worker.data.bad import BadExampleError
from traindyno.worker.data.prepared_format import PrepareRequest
from traindyno.worker.data.preparing_source import SourceSplit, sample_readings

SAMPLE = 64
SAMPLE_SECONDS = 3.0


@dataclass(frozen=True)
class Cost:
    """Disk space, and the time one process would take; `enlarged_share` of the images are smaller than wanted."""

    examples: int
    bytes: int
    one_process_seconds: float
    enlarged_share: float


def estimate(request: PrepareRequest, splits: tuple[SourceSplit, ...]) -> Cost:
    """Convert a few examples from all over the first split, for at most a few seconds."""
    converted, began = [], time.monotonic()
    bad: BadExampleError | None = None
    for tried, reading in enumerate(sample_readings(request, splits[0], SAMPLE)):
        if tried and time.monotonic() - began > SAMPLE_SECONDS:
            break
        try:
            converted.append(reading()[0])
        except BadExampleError as error:
            bad = error
    if not converted:
        raise _nothing_usable(bad)
    seconds = (time.monotonic() - began) / len(converted)
    examples = sum(split.planned.examples for split in splits)
    return Cost(
        examples=examples,
        bytes=round(examples * sum(len(each.content) for each in converted) / len(converted)),
        one_process_seconds=examples * seconds,
        enlarged_share=sum(each.enlarged for each in converted) / len(converted),
    )


def _nothing_usable(bad: BadExampleError | None) -> TraindynoError:
    assert bad is not None, "a source is never empty"
    return TraindynoError(f"not one of the examples tried can be used; the last one: {bad.message}", "check the source")
