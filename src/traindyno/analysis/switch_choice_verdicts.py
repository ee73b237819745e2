"""What of the switches is recommended, and why not more, in sentences."""

import math
from collections.abc import Iterator

from traindyno.analysis.switch_candidates import Candidate, names_of
from traindyno.analysis.switch_choice import Choice, best_single, faster_copies, is_faster, refuted
from traindyno.analysis.switch_findings import Findings
from traindyno.analysis.switch_losses import LossCheck
from traindyno.core.answers.interval import Interval


def choice_verdicts(findings: Findings, chosen: Choice) -> tuple[str, ...]:
    """The best single switch, the combination, what was not confirmed, and why nothing is recommended if so."""
    return (
        *_single(findings),
        *_together(findings, chosen),
        *_unsteady(chosen),
        *_unconfirmed(findings),
        *_nothing(findings, chosen),
    )


def _single(findings: Findings) -> Iterator[str]:
    best = best_single(findings)
    effect = None if best is None else findings.final_effect((best,)) or findings.effect(best)
    if best is not None and effect is not None:
        again = ", measured again in fresh pairs" if (best,) in findings.finals else ""
        yield f"The best single switch is {best.name}: {times(*effect)} the baseline's speed{again}."


def _together(findings: Findings, chosen: Choice) -> Iterator[str]:
    members, final = findings.members, findings.final_effect(findings.members)
    if len(chosen.members) > 1:
        yield f"Together, {names_of(members)} give {times(chosen.ratio, chosen.ci95)}, measured again in fresh pairs."
    elif final is not None and len(members) > 1 and final[1][0] > 1.0:
        yield f"Together, {names_of(members)} give {times(*final)}, less than {names_of(chosen.members)} alone."
    if findings.ended and findings.dropped is not None and findings.members_check is not None and not members:
        why = fault(findings.members_check)
        yield f"The combination was given up, also without {findings.dropped.name}: {why}."
    if not findings.ended:
        once = bool(chosen.members) and chosen.members not in findings.finals
        yield f"The study was not finished{': what is recommended was not measured again' if once else ''}."


def _unsteady(chosen: Choice) -> Iterator[str]:
    """A recommendation that rests on uneven steps alone says so where it stands, not only among the warnings."""
    if chosen.pairs and not any(pair.baseline.steady and pair.candidate.steady for pair in chosen.pairs):
        yield "None of the pairs behind this became steady: measure again on a quieter machine before you adopt it."


def _unconfirmed(findings: Findings) -> Iterator[str]:
    """What looked faster and was not, or failed, when it was measured again."""
    for members in refuted(findings):
        effect = findings.final_effect(members)
        assert effect is not None
        yield f"{names_of(members)} looked faster at first, and fresh pairs do not confirm it: {times(*effect)}."
    for members, tried in findings.finals.items():
        if tried.failure is not None:
            yield f"{names_of(members)} failed when measured again: {tried.failure.message}"


def _nothing(findings: Findings, chosen: Choice) -> Iterator[str]:
    """Why nothing is recommended: nothing is faster, or what is may not be adopted."""
    if chosen.members:
        return
    nothing = "Nothing else" if faster_copies(findings) else "Nothing"
    known = refuted(findings)
    faster = [each for each in findings.candidates if is_faster(findings, each) and (each,) not in known]
    reasons = [f"{each.name} is faster, but {why}" for each in faster if (why := _obstacle(findings, each)) is not None]
    if reasons:
        yield f"{nothing} can be recommended: {'; '.join(reasons)}."
    else:
        yield f"{nothing} was {'confirmed' if findings.finals else 'shown'} to be faster than the baseline."


def _obstacle(findings: Findings, candidate: Candidate) -> str | None:
    """Why a faster switch may not be adopted; null if it may."""
    if not candidate.recommendable:
        return "is not a matter of speed"
    check = findings.checks.get(candidate)
    if check is None:
        return "its loss was not looked at" if candidate.changes_arithmetic else None
    return None if check.sound else fault(check)


def fault(check: LossCheck) -> str:
    """What is wrong with a loss, as a clause."""
    if check.difference is None:
        return (check.note or "its loss is not known").rstrip(".")
    return f"its loss differs by {abs(check.difference):.3g}"


def times(ratio: float, interval: Interval) -> str:
    """`1.42× (1.40 to 1.44)`."""
    if not math.isfinite(interval[1]):
        return f"{ratio:.2f}× (how exactly is not known)"
    return f"{ratio:.2f}× ({interval[0]:.2f} to {interval[1]:.2f})"
