"""How much a round that is drafted should have at least, so that its own checks have nothing to say against it."""

from traindyno.analysis.rounds.points import ENOUGH_PER_DIMENSION
from traindyno.core.proof_levels import MOST_CANDIDATES, fewest_seeds, level_of_look
from traindyno.core.round_space import arms_of, branches_of, dimensions_of
from traindyno.core.rounds import Round

FEWEST_TRIALS = 12


def enough_trials(round_: Round) -> int:
    """Enough for the arm that has most to tune: for each nuisance in every branch as many as checks want."""
    most = max(
        len(dimensions_of(round_, arm, branch)) * len(branches_of(round_, arm))
        for arm in arms_of(round_)
        for branch in branches_of(round_, arm)
    )
    return max(FEWEST_TRIALS, ENOUGH_PER_DIMENSION * most)


def enough_seeds(round_: Round) -> int:
    """So many fresh ones of each that the clearest gain could be shown."""
    return fewest_seeds(level_of_look(0), min(len(arms_of(round_)), MOST_CANDIDATES))
