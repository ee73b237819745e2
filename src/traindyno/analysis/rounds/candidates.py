"""Which configurations of a round are worth fresh seeds: the best of each arm that is not clearly behind."""

import math
import statistics
from collections.abc import Sequence

from traindyno.analysis.rounds.words import arm_words
from traindyno.core.answers.rounds import ArmRow, RoundAnswer
from traindyno.core.proof_levels import MOST_CANDIDATES
from traindyno.core.requests import Candidate
from traindyno.core.round_space import configuration_of
from traindyno.core.rounds import ALONE, Configuration, Round

INCUMBENT = "incumbent"
TUNED = "tuned"
"""The one candidate of a round without a target."""
FAR_BEHIND = 3.0
"""Spreads between seeds. The best of an arm is a lucky run already, and luck rarely lies that far below it."""
SURE = 0.9


def candidates_of(
    round_: Round, answer: RoundAnswer, arms: Sequence[str] = ()
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """The incumbent and those to prove against it, the best of the search first; and the arms that are left out.

    With `arms` exactly those, however far behind they are.
    """
    incumbent = Candidate(label=INCUMBENT, values=answer.incumbent)
    searched = [row for row in answer.arms if row.best_score is not None and (not arms or row.arm in arms)]
    turn = 1 if answer.higher_is_better else -1
    ranked = sorted(searched, key=lambda row: -turn * (row.best_score or 0.0))
    found = {row.arm: _candidate(round_, row, answer.incumbent) for row in ranked}
    new = [row for row in ranked if found[row.arm].values != answer.incumbent]
    taken = new if arms else [row for row in new if not _is_behind(row, new[0], answer)][:MOST_CANDIDATES]
    left_out = tuple(row.arm for row in new if row not in taken)
    return (incumbent, *(found[row.arm] for row in taken)), left_out


def _candidate(round_: Round, row: ArmRow, incumbent: Configuration) -> Candidate:
    values = configuration_of(round_, row.best_values)
    return Candidate(
        label=TUNED if row.arm == ALONE else arm_words(round_, row.arm),
        values=values,
        arm=row.arm,
        changes={field: value for field, value in values.items() if incumbent.get(field) != value},
        search_score=row.best_score,
    )


def _is_behind(row: ArmRow, best: ArmRow, answer: RoundAnswer) -> bool:
    """Whether an arm's best is so far from the best of all that fresh seeds would only confirm it."""
    if row is best or row.best_score is None or best.best_score is None or len(answer.incumbent_scores) < 2:
        return False
    spread = largest_spread(answer.incumbent_scores)
    return spread > 0 and abs(best.best_score - row.best_score) > FAR_BEHIND * spread


def largest_spread(scores: Sequence[float]) -> float:
    """What the standard deviation may well be, of which a few seeds tell little: 90 % sure to be no larger."""
    from scipy.special import chdtri

    freedom = len(scores) - 1
    return statistics.stdev(scores) * math.sqrt(freedom / float(chdtri(freedom, SURE)))
