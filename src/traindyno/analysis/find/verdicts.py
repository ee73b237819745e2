"""The answer of `find` in sentences."""

from collections.abc import Iterator

from traindyno.analysis.find.attempts import NO_TIME
from traindyno.analysis.find.choice import Choice
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.words import between, times
from traindyno.core.answers.find import Finalist, Headroom
from traindyno.core.requests import FindRequest
from traindyno.core.units import format_percent, format_rate

MISSED_BY = 0.05


def find_verdicts(findings: Findings, choice: Choice, bounds: tuple[str, str], headroom: Headroom) -> tuple[str, ...]:
    return (
        *_gain(findings, choice),
        *_unfinished(findings, choice),
        *_bound(choice, bounds),
        *_free_batch(choice),
        *_left(headroom),
        *_missed(choice.everyone),
        *_losses(findings),
    )


def constraints_of(request: FindRequest) -> tuple[str, ...]:
    """What was kept, in words."""
    kept = [name for name in request.keep if name not in ("data", "augmentation")]
    told = [f"{name} stays {getattr(request.settings, name)}" for name in kept]
    told += ["the data stays where it is"] if "data" in request.keep else []
    told += ["augmentation stays as it is"] if request.prepare is None else []
    if request.batch_range is not None:
        told.append(f"the batch may be {request.batch_range[0]} to {request.batch_range[1]}")
    elif "batch_size" not in request.keep:
        told.append(f"what is recommended keeps your batch of {request.settings.batch_size}")
    return (*told, f"{format_percent(request.margin, 0)} of the memory stays free")


def _gain(findings: Findings, choice: Choice) -> Iterator[str]:
    found, baseline = choice.recommended, choice.baseline
    if not any(attempt.trials for attempt in findings.attempts) and (not findings.ended or _short_of_time(findings)):
        reason = ": the time budget did not reach for more" if findings.ended else ""
        yield f"Nothing but the baseline was measured{reason}."
        return
    if not found.changes:
        yield "Nothing that was tried is faster than the baseline: a gain of 1.00, and nothing to change."
        return
    rates = f"{format_rate(baseline.examples_per_second)} → {format_rate(found.examples_per_second)} examples/s"
    told = f"Training is {times(found.speedup)} as fast as the baseline ({between(found.speedup_ci95)}): {rates}."
    yield told if found.confirmed else f"{told} It rests on single runs, and was not confirmed by turns."


def _short_of_time(findings: Findings) -> bool:
    return any(attempt.outcome == NO_TIME for attempt in findings.attempts)


def _unfinished(findings: Findings, choice: Choice) -> Iterator[str]:
    if findings.ended:
        return
    yield "The search was cut short: this is the best that was found by then."
    held = findings.held
    if held.changes(findings.baseline) and held not in findings.feeds and choice.recommended.name == "best so far":
        yield "Switches that looked faster in pairs had not run end to end yet, and are left out."


def _bound(choice: Choice, bounds: tuple[str, str]) -> Iterator[str]:
    before, after = bounds
    if not choice.recommended.changes:
        yield f"The baseline is bound by {before}."
    elif before == after:
        yield f"It was bound by {before}, and still is."
    else:
        yield f"It was bound by {before}, and is now bound by {after}."


def _free_batch(choice: Choice) -> Iterator[str]:
    free = choice.free
    if free is None or free == choice.recommended:
        return
    beside = f"With a batch of {free.batch_size} it is {times(free.speedup)} as fast as the baseline"
    yield f"{beside} ({between(free.speedup_ci95)})."


def _left(headroom: Headroom) -> Iterator[str]:
    if headroom.share_of_resident is not None:
        share = format_percent(min(1.0, headroom.share_of_resident), 0)
        yield f"It reaches {share} of the rate that the same step has with its data resident on the device."


def _missed(everyone: tuple[Finalist, ...]) -> Iterator[str]:
    for found in everyone:
        foretold = found.predicted_examples_per_second
        miss = 0.0 if foretold is None else foretold / found.examples_per_second - 1
        if foretold is not None and abs(miss) > MISSED_BY:
            figures = f"{format_rate(foretold)} and {format_rate(found.examples_per_second)} examples/s"
            yield f"The simulation missed {found.name} by {miss:+.0%}: foretold and measured were {figures}."


def _losses(findings: Findings) -> Iterator[str]:
    check = findings.loss_check
    if check is not None and check.agrees:
        yield "Over a short run its loss lies within the spread of the baseline's seeds."
    elif check is not None and check.agrees is None:
        yield f"Its loss could not be compared: {check.note}."
