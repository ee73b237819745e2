"""The answer of `find` in sentences."""

import math
from collections.abc import Iterator

from traindyno.analysis.find.attempts import NO_TIME
from traindyno.analysis.find.choice import Choice, setup_of
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.learning_verdicts import gain_verdict, learning_verdicts
from traindyno.analysis.find.placed import Placed, placed_finalists
from traindyno.analysis.find.untried import untried_changes, untried_verdicts
from traindyno.analysis.find.words import between, changes_in_words, times, within
from traindyno.analysis.intervals import tells_nothing
from traindyno.analysis.switch_candidates import Value, value_words
from traindyno.core.answers.find import Finalist, FindAnswer, Headroom
from traindyno.core.requests import FindRequest
from traindyno.core.setups import step_settings
from traindyno.core.units import count_of, format_percent, format_rate

MISSED_BY = 0.05
LOOKS_FASTER = 1.03


def find_verdicts(
    request: FindRequest, findings: Findings, choice: Choice, bounds: tuple[str, str], headroom: Headroom
) -> tuple[str, ...]:
    """The gain comes first."""
    return (
        *_gain(request, findings, choice),
        *learning_verdicts(request, findings, choice),
        *_unfinished(findings, choice),
        *untried_verdicts(findings),
        *_open(choice),
        *_bound(choice, bounds),
        *_free_batch(choice),
        *_left(headroom),
        *_losses(findings, choice),
    )


def constraints_of(request: FindRequest, findings: Findings) -> tuple[str, ...]:
    """What was kept, in words."""
    kept = [name for name in request.keep if name not in ("data", "augmentation")]
    told = [f"{name} stays {_kept_value(getattr(request.settings, name))}" for name in kept]
    told += ["the data stays where it is"] if "data" in request.keep else []
    told += ["augmentation stays as it is"] if request.prepare is None else []
    if request.batch_range is not None:
        told.append(f"the batch may be {request.batch_range[0]} to {request.batch_range[1]}")
    elif findings.noise_scale is not None:
        told.append("the batch may change, as the objective is the time to the same loss")
    elif "batch_size" not in request.keep:
        told.append(f"what is recommended keeps your batch of {request.settings.batch_size}")
    return tuple(told)


def _kept_value(value: Value | None) -> str:
    return "as torch has it" if value is None else value_words(value)


def margin_words(request: FindRequest, findings: Findings, found: Finalist) -> tuple[str, ...]:
    """Whether what is recommended leaves the margin of memory; nothing where memory is not counted, as on a CPU."""
    settings, margin = setup_of(found).settings, format_percent(request.margin, 0)
    share = findings.memory_share(settings)
    if findings.fits.get(step_settings(settings)) or (share is not None and share <= 1 - request.margin):
        return (f"{margin} of the memory stays free",)
    return (
        () if share is None else (f"it may not leave {margin} of the memory free: it held {format_percent(share, 0)}",)
    )


def _gain(request: FindRequest, findings: Findings, choice: Choice) -> Iterator[str]:
    found, baseline = choice.recommended, choice.baseline
    measured = any(attempt.trials for attempt in findings.attempts)
    if not found.changes and not measured and (not findings.ended or _short_of_time(findings)):
        reason = ": the time budget did not reach for more" if findings.ended else ""
        yield f"Nothing but the baseline was measured{reason}."
        return
    if not found.changes:
        where = "" if choice.free is None else f" at your batch of {baseline.batch_size}"
        untried = untried_changes(findings)
        were = "was" if len(untried) == 1 else "were"
        left = f" so far; {count_of(len(untried), 'change')} {were} not tried" if untried else ""
        shown = f"Nothing that was tried was shown to be faster than the baseline{where}"
        yield f"{shown}: a gain of 1.00, and nothing to change{left}."
        return
    if found.batch_size != baseline.batch_size and found.learning_gain is not None:
        yield gain_verdict(baseline, found)
        return
    work = "Training" if request.workload.mode == "train" else "Inference"
    rates = f"{format_rate(baseline.examples_per_second)} → {format_rate(found.examples_per_second)} examples/s"
    told = f"{work} is {times(found.speedup)} as fast as the baseline ({between(found.speedup_ci95)}): {rates}."
    yield told if found.confirmed else f"{told} It was not confirmed by turns with the baseline."


def _short_of_time(findings: Findings) -> bool:
    return any(attempt.outcome == NO_TIME for attempt in findings.attempts)


def _unfinished(findings: Findings, choice: Choice) -> Iterator[str]:
    if findings.ended:
        return
    yield "The search was cut short: this is the best that was found by then."
    held, found = findings.held, setup_of(choice.recommended)
    if findings.effects and held != found and not findings.runs(held):
        gained = times(math.prod(ratio for ratio, _ in findings.effects))
        yield f"Switches that made the step {gained} as fast in pairs had not run end to end yet, and are left out."


def _is_open(found: Finalist) -> bool:
    """Whether it looks faster, and the rounds did not show it."""
    return found.speedup > LOOKS_FASTER and found.speedup_ci95[0] <= 1.0


def _measured_alone(choice: Choice) -> list[Finalist]:
    """All whose gain rests on no prediction."""
    own = choice.baseline.batch_size
    return [each for each in choice.everyone if each.learning_gain is None or each.batch_size == own]


def _open(choice: Choice) -> Iterator[str]:
    best = max(_measured_alone(choice), key=lambda each: each.speedup)
    if choice.recommended.changes or not _is_open(best):
        return
    what, remedy = changes_in_words(best.changes), "more rounds would tell, with a longer budget or --repeats"
    if tells_nothing(best.speedup, best.speedup_ci95):
        yield f"What {what} gains is unknown: its rounds differ too much (± over 100 %); {remedy}."
    else:
        yield f"{what} may be {times(best.speedup)} as fast ({between(best.speedup_ci95)}): {remedy}."


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
    if free is None or free == choice.recommended or free.learning_gain is not None:
        return
    beside = f"With a batch of {free.batch_size} it is {times(free.speedup)} as fast as the baseline"
    yield f"{beside} ({within(free.speedup, free.speedup_ci95)})."


def _left(headroom: Headroom) -> Iterator[str]:
    if headroom.share_of_resident is not None:
        share = format_percent(min(1.0, headroom.share_of_resident), 0)
        yield f"It reaches {share} of the rate that the same step has with its data resident on the device."


def missed_verdicts(answer: FindAnswer) -> Iterator[str]:
    """By the names that the answer's table has."""
    for placed in placed_finalists(answer):
        found, foretold = placed.finalist, placed.finalist.predicted_examples_per_second
        miss = 0.0 if foretold is None else foretold / found.examples_per_second - 1
        if foretold is not None and abs(miss) > MISSED_BY:
            figures = f"{format_rate(foretold)} and {format_rate(found.examples_per_second)} examples/s"
            yield f"The simulation missed {_named(placed)} by {miss:+.0%}: foretold and measured were {figures}."


def _named(placed: Placed) -> str:
    """`runner-up 1 (precision=bf16)`: what it changes is told where its label does not say it."""
    told = "" if placed.known_by_label else f" ({changes_in_words(placed.finalist.changes)})"
    return f"{placed.label}{told}"


def _losses(findings: Findings, choice: Choice) -> Iterator[str]:
    """Of the very step that is recommended."""
    check = findings.loss_checks.get(step_settings(setup_of(choice.recommended).settings))
    if check is not None and check.agrees:
        yield "Over a short run its loss lies within the spread of the baseline's seeds."
    elif check is not None and check.agrees is None:
        yield f"Its loss could not be compared: {check.note}."
