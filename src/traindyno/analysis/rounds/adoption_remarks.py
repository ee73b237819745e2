"""What a decision on fresh seeds rests on and what it does not say, in sentences."""

from collections.abc import Sequence

from traindyno.analysis.rounds.power import fewest_seeds, level_of_look
from traindyno.analysis.rounds.simplicity import is_simpler
from traindyno.analysis.rounds.words import figure, metric_of
from traindyno.core.answers.rounds import AdoptAnswer, CandidateRow
from traindyno.core.requests import AdoptRequest
from traindyno.core.units import count_of


def remarks(
    answer: AdoptAnswer, winner: CandidateRow, request: AdoptRequest, *, told_apart: Sequence[str] = ()
) -> tuple[str, ...]:
    """All that is to be said beside the verdict, of a look whose runs are all there."""
    return (
        *_despite_checks(answer),
        *_retuned(answer, winner, request),
        *_no_better_than_retuned(answer, winner, request),
        *_not_told_apart(answer, winner, request, told_apart),
        *_flattered(answer, winner),
        *_failures(answer),
        *_looked_before(answer, request),
        *_never_enough(answer, request),
    )


def known(value: float | None) -> float:
    """A figure that a judged candidate always has."""
    assert value is not None
    return value


def _retuned(answer: AdoptAnswer, winner: CandidateRow, request: AdoptRequest) -> list[str]:
    """How much of a gain the target has no part in: the incumbent's own value of it, tuned again."""
    target = request.round.target
    if answer.verdict != "adopt" or target is None or target.field not in winner.changes:
        return []
    again = [row for row in answer.rows[1:] if target.field not in row.changes and (row.gain or 0.0) > 0]
    return [
        f"About {100 * min(1.0, known(row.gain) / known(winner.gain)):.0f} % of that gain came from tuning again what "
        f"the incumbent has already ({row.label}), and not from {target.name}."
        for row in again
    ]


def _no_better_than_retuned(answer: AdoptAnswer, winner: CandidateRow, request: AdoptRequest) -> list[str]:
    """Why another that passes is not taken: what the target adds to tuning again is not shown."""
    target = request.round.target
    if answer.verdict != "adopt" or target is None or target.field in winner.changes:
        return []
    return [
        f"{row.label} passes too, but is not shown to be better than {winner.label}, which is the incumbent tuned "
        f"again: {target.name} stays as it is."
        for row in answer.rows[1:]
        if row.verdict == "adopt" and target.field in row.changes
    ]


def _not_told_apart(
    answer: AdoptAnswer, winner: CandidateRow, request: AdoptRequest, told_apart: Sequence[str]
) -> list[str]:
    """Others that pass too, and that luck alone may have put before or behind the one that is taken."""
    if answer.verdict != "adopt":
        return []
    target = request.round.target
    retuned = target is not None and target.field not in winner.changes
    others = [row for row in answer.rows[1:] if row.verdict == "adopt" and row.label not in (winner.label, *told_apart)]
    return [
        f"{winner.label} is not told apart from {row.label}, which passes too{_why_taken(winner, row)}."
        for row in others
        if not (retuned and target is not None and target.field in row.changes)
    ]


def _why_taken(winner: CandidateRow, other: CandidateRow) -> str:
    if is_simpler(winner.configuration, other.configuration):
        return ", and is taken as the simpler one"
    return ": luck may have chosen between the two"


def _despite_checks(answer: AdoptAnswer) -> list[str]:
    if not answer.failed_checks:
        return []
    return [f"This was proved although checks of the round had failed: {' '.join(answer.failed_checks)}"]


def _flattered(answer: AdoptAnswer, winner: CandidateRow) -> list[str]:
    if winner.search_score is None or winner.mean is None:
        return []
    lost = (winner.search_score - winner.mean) * (1 if answer.higher_is_better else -1)
    if winner.sd is None or lost <= winner.sd:
        return []
    return [
        f"The search had seen {figure(winner.search_score, metric_of(answer))} of {winner.label}: the best of many "
        "runs flatters itself, which is why only fresh seeds count."
    ]


def stand_in_words(answer: AdoptAnswer) -> str:
    """What a failed run counts as: a score that a whole run has too, or else what guessing scores."""
    scores = [score for row in answer.rows for score in row.scores]
    worst = (min if answer.higher_is_better else max)(scores)
    is_of_a_run = scores.count(worst) > sum(row.failed for row in answer.rows)
    return "the worst score that any run had" if is_of_a_run else "what guessing scores"


def _failures(answer: AdoptAnswer) -> list[str]:
    return [
        f"{row.failed} of {len(row.scores)} runs of {row.label} diverged or failed; each counts as "
        f"{figure((min if answer.higher_is_better else max)(row.scores), metric_of(answer))}, {stand_in_words(answer)}."
        for row in answer.rows
        if row.failed
    ]


def _looked_before(answer: AdoptAnswer, request: AdoptRequest) -> list[str]:
    if len(request.looks) == 1:
        return []
    return [
        f"This is look {len(request.looks)} at this question (after {', '.join(map(str, request.looks[:-1]))} seeds): "
        f"it may err with {answer.level:.3g}, and all looks together with less than 0.05."
    ]


def _never_enough(answer: AdoptAnswer, request: AdoptRequest) -> list[str]:
    fewest = fewest_seeds(level_of_look(len(request.looks) - 1), len(answer.rows) - 1)
    if answer.seeds >= fewest:
        return []
    return [f"With {count_of(answer.seeds, 'seed')} of each not even the clearest gain could pass; {fewest} can."]
