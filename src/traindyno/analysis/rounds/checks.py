"""All checks of a round, in the order in which they matter: each a verdict, and what to do where it does not hold."""

from collections.abc import Sequence

from traindyno.analysis.rounds.boundary_checks import boundary_checks
from traindyno.analysis.rounds.curves import curve_checks
from traindyno.analysis.rounds.feasibility import feasibility_checks
from traindyno.analysis.rounds.gate import judge_best, judge_gate
from traindyno.analysis.rounds.points import points_checks
from traindyno.analysis.rounds.spread import spread_check
from traindyno.analysis.rounds.trials import tuning
from traindyno.core.answers.rounds import Check
from traindyno.core.rounds import Round, RoundTrial


def check_round(round: Round, trials: Sequence[RoundTrial]) -> tuple[Check, ...]:
    """Whether anything learns first, then the search, then its curves; only the first before anything was searched.

    A round that looks for a first configuration has no incumbent whose seeds could be compared.
    """
    is_first = round.goal.kind == "initial"
    gate = judge_best(round, trials) if is_first else judge_gate(round, trials)
    if not tuning(trials):
        return (gate,)
    return (
        gate,
        *feasibility_checks(round, trials),
        *points_checks(round, trials),
        *boundary_checks(round, trials),
        *curve_checks(round, trials),
        *(() if is_first else (spread_check(round, trials),)),
    )
