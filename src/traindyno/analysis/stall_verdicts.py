"""What a stalls study says, in words."""

from collections.abc import Iterator, Mapping, Sequence

from traindyno.analysis.stall_causes import HAND_OFF, PAGE_CACHE
from traindyno.analysis.stall_runs import BYTES_ONLY, COLD, DECODE_ONLY, LOADER_ALONE, Runs
from traindyno.analysis.stall_shares import COUNTS_FROM, Difference
from traindyno.core.answers import StallCause, StallRun
from traindyno.core.units import format_percent, format_seconds

_NOTABLE_MISS = 0.1
_DOING = {
    "fetch": "fetching",
    "decode": "decoding",
    "augment": "augmenting",
    "example": "making the dataset's own items",
    HAND_OFF: "handing over",
}


def stall_verdicts(
    bound: str, stall: Difference, causes: Sequence[StallCause], found: Mapping[str, StallRun], runs: Runs
) -> tuple[str, ...]:
    """The bound first, then what is hidden, what a cold start costs, what was missed, and what failed."""
    return (
        headline(bound, stall, causes),
        *hidden(causes),
        *cold(causes, found),
        *missed(found),
        *failures(runs),
    )


def headline(bound: str, stall: Difference, causes: Sequence[StallCause]) -> str:
    share = format_percent(max(0.0, stall.share), 0)
    if bound.startswith("data: "):
        cause = next(each for each in causes if each.cause == bound.removeprefix("data: "))
        part = format_percent(cause.exposed_share, 0)
        return f"Training waits {share} of each step, mostly for the loader: {_DOING[cause.cause]} takes {part}."
    if bound == "transfer":
        return f"Training waits {share} of each step, mostly for batches to be moved to the device."
    waits = f"the loader is waited for {share} of a step" if stall.counts else "the loader is hidden behind the step"
    if bound == "launch":
        return f"The step is launch-bound: half the batch takes nearly as long. Meanwhile {waits}."
    return f"The step itself is the limit: {waits}."


def hidden(causes: Sequence[StallCause]) -> Iterator[str]:
    """The largest cost that the step hides."""
    largest = max(causes, key=lambda cause: cause.hidden_seconds or 0.0, default=None)
    if largest is not None and largest.hidden_seconds and largest.exposed_share <= COUNTS_FROM:
        name = _DOING.get(largest.cause, largest.cause)
        yield f"Hidden behind the step: {name}, {format_seconds(largest.hidden_seconds)} of a worker's time per batch."


def cold(causes: Sequence[StallCause], found: Mapping[str, StallRun]) -> Iterator[str]:
    cause = next((each for each in causes if each.cause == PAGE_CACHE), None)
    if cause is None or COLD not in found:
        return
    if cause.exposed_share > COUNTS_FROM and cause.ci95[0] > 0:
        share = format_percent(cause.exposed_share, 0)
        yield f"With the page cache empty {share} of a step is waiting for storage: a first epoch is that much slower."
    else:
        yield "An empty page cache makes no difference that shows: storage keeps up."


def missed(found: Mapping[str, StallRun]) -> Iterator[str]:
    """Where the simulation was off by more than 10 %; the partial loaders are only there to divide the stall."""
    for name, run in found.items():
        if run.predicted_step_seconds is None or name in (BYTES_ONLY, DECODE_ONLY, LOADER_ALONE):
            continue
        miss = run.predicted_step_seconds / run.step_seconds - 1
        if abs(miss) > _NOTABLE_MISS:
            words = "too long" if miss > 0 else "too short"
            yield f"The prediction for {name.replace('_', ' ')} was {format_percent(abs(miss), 0)} {words}."


def failures(runs: Runs) -> Iterator[str]:
    for name, records in runs.items():
        failed = next((record.failure for record in records if record.failure is not None), None)
        if failed is not None:
            yield f"The run {name.replace('_', ' ')!r} failed: {failed.message}."
