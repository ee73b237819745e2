"""The answer of `find` in sentences."""

import math
from collections.abc import Iterator

from traindyno.analysis.find.attempts import NO_TIME, lack_margin
from traindyno.analysis.find.beside import rates_in_words
from traindyno.analysis.find.bound_verdicts import bound_verdicts
from traindyno.analysis.find.choice import Choice, setup_of
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.learning_verdicts import gain_verdict, learning_verdicts
from traindyno.analysis.find.placed import BASELINE, FREE, OWN, RECOMMENDED, Placed, placed_finalists
from traindyno.analysis.find.rounds import in_doubt
from traindyno.analysis.find.unsettled import is_open, measured_alone, open_verdicts, unsettled, unsettled_words
from traindyno.analysis.find.untried import untried_changes, untried_verdicts
from traindyno.analysis.find.words import between, changes_in_words, times, within
from traindyno.analysis.switch_candidates import Candidate, Value, names_of, value_words
from traindyno.core.answers.find import Finalist, FindAnswer
from traindyno.core.requests import FindRequest
from traindyno.core.setups import step_settings
from traindyno.core.units import count_of, format_percent, format_rate

MISSED_BY = 0.05
PREPARED = "prepared:"
CUT = "before the search was cut short"
_IN_A_SENTENCE = {
    BASELINE: "the baseline",
    RECOMMENDED: "what is recommended",
    OWN: "the best at your batch",
    FREE: "the best with any batch",
}


def find_verdicts(request: FindRequest, findings: Findings, choice: Choice, bounds: tuple[str, str]) -> tuple[str, ...]:
    """The gain comes first."""
    return (
        _gain(request, findings, choice),
        *learning_verdicts(request, findings, choice),
        *_augmentation(request, choice),
        *_unfinished(findings, choice),
        *_without_margin(request, findings),
        *untried_verdicts(findings),
        *open_verdicts(choice),
        *bound_verdicts(findings, choice, bounds),
        *_free_batch(choice),
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


def _gain(request: FindRequest, findings: Findings, choice: Choice) -> str:
    found, baseline = choice.recommended, choice.baseline
    if not found.changes:
        return _no_gain(findings, choice)
    if found.batch_size != baseline.batch_size and found.learning_gain is not None:
        return f"{gain_verdict(baseline, found)}{in_doubt(findings.entries, found)}"
    work = "Training" if request.workload.mode == "train" else "Inference"
    rates = rates_in_words(baseline, found)
    told = f"{work} is {times(found.speedup)} as fast as the baseline ({between(found.speedup_ci95)}): {rates}."
    return f"{told}{in_doubt(findings.entries, found)}"


def _no_gain(findings: Findings, choice: Choice) -> str:
    """A search that came to its end says that there is nothing to change; one that was cut does not know.

    Neither says so beside a gain that its runs leave open.
    """
    measured = len(findings.entries) > 1 or findings.has_tried
    if not measured and findings.ended and _short_of_time(findings):
        return "Nothing but the baseline was measured: the time budget did not reach for more."
    if not measured and not findings.ended:
        return f"Nothing but the baseline was measured {CUT}."
    if (best := unsettled(choice)) is not None:
        return unsettled_words(best, "" if findings.ended else f" {CUT}")
    elsewhere = choice.free is not None and _is_shown(choice.free)
    where = f" at your batch of {choice.baseline.batch_size}" if elsewhere else ""
    if not findings.ended:
        return f"Nothing was shown to be faster than the baseline{where} {CUT}."
    untried = untried_changes(findings)
    were = "was" if len(untried) == 1 else "were"
    left = f"; {count_of(len(untried), 'change')} {were} not tried" if untried else ""
    so_far = " so far" if untried or any(is_open(each) for each in measured_alone(choice)) else ""
    leaves = " and leaves the margin of memory" if any(map(lack_margin, findings.attempts)) else ""
    shown = f"Nothing that was tried{leaves} was shown to be faster than the baseline{where}"
    return f"{shown}: a gain of 1.00, and nothing to change{so_far}{left}."


def _augmentation(request: FindRequest, choice: Choice) -> Iterator[str]:
    """A prepared set learns from other crops than the data as they are."""
    data = choice.recommended.data
    if data.startswith(PREPARED) and data != request.workload.data:
        yield (
            "The data are prepared, which changes augmentation: crops are cut, unscaled, from images of the stored "
            "size. Compare the accuracy before you adopt it."
        )


def _without_margin(request: FindRequest, findings: Findings) -> Iterator[str]:
    """What was faster and went for the margin; where the baseline does not leave it either, how to have it."""
    gone = [attempt.change for attempt in findings.attempts if lack_margin(attempt)]
    if not gone:
        return
    margin, share = format_percent(request.margin, 0), findings.memory_share(findings.baseline.settings)
    told = f"In pairs {gone[-1]} was faster; it was given up, as it does not leave {margin} of the memory free"
    if share is not None and share > 1 - request.margin:
        told += f". Neither does the baseline, which holds {format_percent(share, 0)}; --memory-margin 0% allows both"
    yield f"{told}."


def _short_of_time(findings: Findings) -> bool:
    return any(attempt.outcome == NO_TIME for attempt in findings.attempts)


def _unfinished(findings: Findings, choice: Choice) -> Iterator[str]:
    if findings.ended:
        return
    if choice.recommended.changes:
        yield "The search was cut short: this is the best that was found by then."
    settings = setup_of(choice.recommended).settings
    left = tuple(each for each in findings.members if getattr(settings, each.switch) != each.value)
    if left and not _held_step_ran(findings):
        are = "is" if len(left) == 1 else "are"
        gain = f"made the step {_gained(findings, left)} in pairs"
        yield f"{names_of(left)}, which {gain}, had not run end to end yet, and {are} left out."


def _held_step_ran(findings: Findings) -> bool:
    """Whether all switches that are held ran end to end together, with whichever loader."""
    step, setups = step_settings(findings.held.settings), {*findings.feeds, *(each.setup for each in findings.entries)}
    return any(step_settings(setup.settings) == step and findings.runs(setup) for setup in setups)


def _gained(findings: Findings, left: tuple[Candidate, ...]) -> str:
    """Of all switches together, or of a single one; what some of them gained without the others nobody measured."""
    if left == findings.members and findings.effects:
        return f"{times(math.prod(ratio for ratio, _ in findings.effects))} as fast"
    ratio = findings.ratios.get(left[0].switch) if len(left) == 1 else None
    return "faster" if ratio is None else f"{times(ratio)} as fast"


def _free_batch(choice: Choice) -> Iterator[str]:
    """What another batch was shown to gain; what is open of it is told elsewhere."""
    free = choice.free
    if free is None or free == choice.recommended or free.learning_gain is not None:
        return
    if _is_shown(free):
        beside = f"With a batch of {free.batch_size} it is {times(free.speedup)} as fast as the baseline"
        yield f"{beside} ({between(free.speedup_ci95)})."
    elif choice.recommended.changes:
        yield f"That a batch of {free.batch_size} is faster still was not shown ({_so_far(free)})."


def _is_shown(found: Finalist) -> bool:
    """Whether the rounds showed it to be faster than the baseline."""
    return found.worth_ci95[0] > 1.0


def _so_far(found: Finalist) -> str:
    return f"{times(found.speedup)} as fast as the baseline, {within(found.speedup, found.speedup_ci95)}"


def missed_verdicts(answer: FindAnswer) -> Iterator[str]:
    """By the names that the answer's table has."""
    for placed in placed_finalists(answer):
        found, foretold = placed.finalist, placed.finalist.predicted_examples_per_second
        miss = 0.0 if foretold is None else foretold / found.examples_per_second - 1
        if foretold is not None and abs(miss) > MISSED_BY:
            figures = f"{format_rate(foretold)} and {format_rate(found.examples_per_second)} examples/s"
            missed = f"{'+' if miss > 0 else ''}{format_percent(miss, 0)}"
            yield f"The simulation missed {_named(placed)} by {missed}: foretold and measured were {figures}."


def _named(placed: Placed) -> str:
    """`runner-up 1 (precision=bf16)`: what it changes is told where its label does not say it."""
    if placed.known_by_label:
        return _IN_A_SENTENCE.get(placed.label, placed.label)
    return f"{placed.label} ({changes_in_words(placed.finalist.changes)})"


def _losses(findings: Findings, choice: Choice) -> Iterator[str]:
    """Of the very step that is recommended."""
    check = findings.loss_checks.get(step_settings(setup_of(choice.recommended).settings))
    if check is not None and check.agrees:
        yield "Over a short run its loss lies within the spread of the baseline's seeds."
    elif check is not None and check.agrees is None:
        yield f"Its loss could not be compared: {check.note}."
