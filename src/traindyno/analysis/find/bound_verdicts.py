"""What binds training before and after, and where the rest of its time goes, in sentences."""

from collections.abc import Iterator

from traindyno.analysis.find.choice import Choice, setup_of
from traindyno.analysis.find.feeding import WORTH_SPLITTING, Feeding
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.steps import contradicts, fed_by
from traindyno.analysis.slowed_steps import SHARED, drift_words, sharing_words
from traindyno.analysis.stall_verdicts import UNSETTLED
from traindyno.core.setups import Setup
from traindyno.core.units import count_of, format_percent, format_seconds

WORTH_TELLING = 0.03
NEXT_TO_NOTHING = 0.05
DIFFER = "its steps differ too much"


def bound_verdicts(findings: Findings, choice: Choice, bounds: tuple[str, str]) -> Iterator[str]:
    """What binds it, then what that means in numbers of the same runs."""
    before, after = bounds
    found = setup_of(choice.recommended)
    yield _change(before, after) if choice.recommended.changes else _alone(before)
    yield from _distrusted(findings, found)
    fed = fed_by(findings, found)
    if fed is not None:
        yield _reached(fed, found.settings.num_workers, findings.usable_cpus, shared=after.endswith(SHARED))


def _alone(bound: str) -> str:
    if bound == UNSETTLED:
        return f"What binds the baseline is {UNSETTLED}: {DIFFER}."
    return f"The baseline is bound by {bound}."


def _change(before: str, after: str) -> str:
    if before == after:
        return f"What binds it is {UNSETTLED}: {DIFFER}." if before == UNSETTLED else f"{_was(before)}, and still is."
    if after == UNSETTLED:
        return f"{_was(before)}; what binds it now is {UNSETTLED}: {DIFFER}."
    if before == UNSETTLED:
        return f"It is now bound by {after}; what bound it before is {UNSETTLED}: {DIFFER}."
    return f"{_was(before)}, and is now bound by {after}."


def _was(bound: str) -> str:
    return f"It was bound by {bound}"


def _distrusted(findings: Findings, found: Setup) -> Iterator[str]:
    """A trial that took a step apart and contradicts the runs end to end: what it saw is not told."""
    for setup in dict.fromkeys((findings.baseline, found)):
        name = "the baseline" if setup == findings.baseline else "what is recommended"
        if (why := contradicts(findings, setup)) is not None:
            yield f"Of {name} the runs end to end are told alone: {why}; other work on this machine may be why."


def _reached(fed: Feeding, workers: int, cpus: float, *, shared: bool) -> str:
    """How near it comes to the step alone, and what the rest of its time is lost to."""
    resident = "the rate that the same step has with its data resident on the device"
    if not fed.is_settled:
        return f"How near it comes to {resident} is not known: {DIFFER}."
    if fed.may_be_drift and fed.drift is not None and not fed.waits:
        return f"{_between(fed, resident)}: {' and '.join((*_waits(fed), drift_words(fed.drift)))}."
    reached = f"{format_percent(fed.alone, 0)}{'' if fed.is_known else ' (± over 100 %)'} of {resident}"
    losses = _losses(fed, workers, cpus, shared=shared) if fed.alone < WORTH_SPLITTING else ()
    lost = " and ".join(losses)
    return f"It reaches {reached}{f': {lost}' if lost else ''}."


def _waits(fed: Feeding) -> Iterator[str]:
    if fed.waiting is not None and fed.waiting >= WORTH_TELLING:
        yield f"{format_percent(fed.waiting, 0)} of the time it waits for a batch"


def _between(fed: Feeding, resident: str) -> str:
    """Both ends of the share, where they rule anything out."""
    if fed.ci95[0] < NEXT_TO_NOTHING and fed.ci95[1] >= 1.0:
        return f"How near it comes to {resident} is not known"
    low, high = (format_percent(min(1.0, end), 0) for end in fed.ci95)
    return f"It reaches {low} to {high} of {resident}"


def _losses(fed: Feeding, workers: int, cpus: float, *, shared: bool) -> Iterator[str]:
    """On a CPU, with what is reached, they add up to all of the time."""
    yield from _waits(fed)
    if fed.longer is not None and fed.longer >= WORTH_TELLING and not fed.may_be_drift:
        yield f"{format_percent(fed.longer, 0)} is lost as {_slower(fed, workers, cpus)}"
    elif fed.longer is None and shared:
        yield f"it was not seen to wait, and is slower beside {count_of(workers, 'loader worker')}"


def _slower(fed: Feeding, workers: int, cpus: float) -> str:
    """Neither a wait nor the step by itself: what loading takes from the step."""
    alone, beside = format_seconds(fed.alone_seconds), format_seconds(fed.beside_seconds)
    if not workers:
        return f"a step takes {beside} after loading in the same process, and {alone} on a batch that stays"
    return f"a step takes {beside} beside the loader and {alone} alone: {sharing_words(workers, cpus)}"
