"""What a stalls study says, in words."""

from collections.abc import Iterator, Mapping, Sequence

from traindyno.analysis.slowed_steps import SHARED, drift_words, sharing_words
from traindyno.analysis.stall_causes import GPU_DECODE, HAND_OFF, PAGE_CACHE, TRANSFER
from traindyno.analysis.stall_losses import Losses
from traindyno.analysis.stall_runs import BYTES_ONLY, COLD, DECODE_ONLY, LOADER_ALONE, WARM, Runs
from traindyno.analysis.stall_shares import COUNTS_FROM, Difference, within_the_step
from traindyno.core.answers import StallCause, StallRun
from traindyno.core.records import Settings
from traindyno.core.units import format_percent, format_seconds

UNSETTLED = "not settled"
"""The bound where the rounds differ too much to tell a stall from chance."""

_NOTABLE_MISS = 0.05
_SETTLE = "more --repeats or a quieter machine would settle it"
_LIMIT = {
    "compute": "The step itself is the limit",
    "launch": "The step is launch-bound: half the batch takes nearly as long",
}
_DOING = {
    "fetch": "fetching",
    "decode": "decoding",
    "augment": "augmenting",
    "example": "making the dataset's own items",
    HAND_OFF: "handing over",
}


def stall_verdicts(
    bound: str,
    losses: Losses,
    causes: Sequence[StallCause],
    found: Mapping[str, StallRun],
    runs: Runs,
    settings: Settings,
    cpus: float,
) -> tuple[str, ...]:
    """The bound first, then what is lost without waiting, what is hidden, what a cold start costs, what was missed, and
    what failed.
    """
    return (
        headline(bound, losses, causes, on_cpu=settings.device == "cpu"),
        *slowed(losses, found, settings.num_workers, cpus),
        *hidden(causes, settings),
        *cold(causes, found),
        *missed(found),
        *failures(runs),
    )


def headline(bound: str, losses: Losses, causes: Sequence[StallCause], on_cpu: bool = False) -> str:
    stall = losses.stall
    share = format_percent(max(0.0, stall.share), 0)
    if bound.startswith("data: "):
        cause = next(each for each in causes if each.cause == bound.removeprefix("data: "))
        part = format_percent(cause.exposed_share, 0)
        return f"Training waits {share} of each step, mostly for the loader: {_DOING[cause.cause]} takes {part}."
    if bound == UNSETTLED:
        return f"Not settled: {_doubt(losses)}."
    if bound == GPU_DECODE:
        return f"Training waits {share} of each step, mostly for the GPU to decode images."
    if bound == TRANSFER:
        what = "for batches to come from memory" if on_cpu else "for batches to be moved to the device"
        return f"Training waits {share} of each step, mostly {what}."
    if bound.endswith(SHARED) and losses.slower is not None:
        lost = f"{format_percent(losses.slower.share, 0)} of each step is lost to that, {share} to waiting"
        return f"{_LIMIT[bound.removesuffix(SHARED)]}. Beside the loader it is slower: {lost}."
    waits = f"the loader is waited for {share} of a step" if stall.counts else "the loader is hidden behind the step"
    if bound == "launch":
        return f"{_LIMIT[bound]}. Meanwhile {waits}."
    return f"{_LIMIT['compute']}: {waits}."


def _doubt(losses: Losses) -> str:
    """What is lost, and why it cannot be said to what."""
    share, slower, moving = format_percent(max(0.0, losses.stall.share), 0), losses.slower, losses.moving
    if slower is not None and losses.drift is not None:
        lost = f"training waits {share} of each step and loses {format_percent(slower.share, 0)} without waiting"
        return f"{lost}, but {drift_words(losses.drift)}"
    if moving is not None and moving.counts and losses.moving_drift is not None:
        lost = f"{format_percent(moving.share, 0)} of each step seems lost to batches from memory"
        drifted = f"by itself the step took {losses.moving_drift:.2f} times as long after those as before"
        return f"{lost}, but {drifted}: the CPUs may have changed their speed"
    if slower is not None and slower.is_open:
        lost = f"{format_percent(slower.share, 0)} of each step is lost beside the loader, without waiting"
        return f"{lost}, but {_unsure(slower)}; {_SETTLE}"
    return f"training waits {share} of each step, but {_unsure(losses.stall)}; {_SETTLE}"


def slowed(losses: Losses, found: Mapping[str, StallRun], workers: int, cpus: float) -> Iterator[str]:
    """What the step takes longer beside the loader, if that is seen and cannot be CPUs that changed their speed."""
    if losses.slower is None or not losses.slower.counts or losses.drift is not None:
        return
    took = found[WARM].step_seconds - losses.loading.seconds
    beside, alone = format_seconds(took), format_seconds(took - losses.slower.seconds)
    if not workers:
        yield f"A step takes {beside} after loading in the same process, and {alone} on a batch that is there."
        return
    sharing = f"A step takes {beside} beside the loader and {alone} alone: {sharing_words(workers, cpus)}"
    yield f"{sharing}. Fewer workers may help, a faster loader would not."


def hidden(causes: Sequence[StallCause], settings: Settings) -> Iterator[str]:
    """The largest cost that the step hides. Without workers a CPU loads and computes one after the other."""
    if settings.num_workers == 0 and settings.device == "cpu":
        return
    whose = "a worker's" if settings.num_workers else "the process's"
    largest = max(causes, key=lambda cause: cause.hidden_seconds or 0.0, default=None)
    if largest is not None and largest.hidden_seconds and largest.exposed_share <= COUNTS_FROM:
        name = _DOING.get(largest.cause, largest.cause)
        yield f"Hidden behind the step: {name}, {format_seconds(largest.hidden_seconds)} of {whose} time per batch."


def cold(causes: Sequence[StallCause], found: Mapping[str, StallRun]) -> Iterator[str]:
    """What an empty page cache costs, if it was seen to be empty."""
    if COLD not in found:
        return
    cause = next((each for each in causes if each.cause == PAGE_CACHE), None)
    if cause is None:
        yield f"What an empty page cache costs is not known: {found[COLD].note}."
        return
    waiting = Difference(seconds=cause.exposed_seconds, share=cause.exposed_share, ci95=cause.ci95)
    share = format_percent(max(0.0, waiting.share), 0)
    if waiting.counts:
        longer = format_percent(waiting.share / (1 - waiting.share), 0)
        waits = f"With the page cache empty {share} of a step is waiting for storage"
        yield f"{waits}: a first epoch takes {longer} longer."
    elif waiting.is_open:
        yield f"Not settled: {share} of a cold step is waiting for storage, but {_unsure(waiting)}; {_SETTLE}."
    else:
        yield "An empty page cache makes no difference that shows: storage keeps up."


def missed(found: Mapping[str, StallRun]) -> Iterator[str]:
    """Where the simulation was off by more than 5 %, and by more than the measurement leaves open.

    The partial loaders are only there to divide the stall.
    """
    for name, run in found.items():
        if run.predicted_step_seconds is None or name in (BYTES_ONLY, DECODE_ONLY, LOADER_ALONE):
            continue
        miss = run.predicted_step_seconds / run.step_seconds - 1
        within = run.ci95[0] <= run.predicted_step_seconds <= run.ci95[1]
        if abs(miss) > _NOTABLE_MISS and not within:
            words = "too long" if miss > 0 else "too short"
            yield f"The prediction for {name.replace('_', ' ')} was {format_percent(abs(miss), 0)} {words}."


def failures(runs: Runs) -> Iterator[str]:
    for name, records in runs.items():
        failed = next((record.failure for record in records if record.failure is not None), None)
        if failed is not None:
            yield f"The run {name.replace('_', ' ')!r} failed: {failed.message}."


def _unsure(waiting: Difference) -> str:
    if waiting.counts:
        return "the rounds differ too much to say for what"
    low, high = (format_percent(end, 0) for end in within_the_step(waiting.ci95))
    return f"it may be anything from {low} to {high}"
