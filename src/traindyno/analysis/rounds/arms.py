"""The runs of a round by arm, and what each arm came to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, partial

from traindyno.analysis.intervals import median
from traindyno.analysis.rounds.trials import best_first, tuning
from traindyno.core.answers.rounds import ArmRow, BestFound
from traindyno.core.round_space import arms_of, configuration_of, contains, membership
from traindyno.core.rounds import Round, RoundTrial


def runs_by_arm(round_: Round, trials: Iterable[RoundTrial]) -> dict[str, list[RoundTrial]]:
    """All runs of the search, plain or not, of every arm that the round has now, in the space as it is now.

    What was drawn where the round does not search any more is none of its results.
    """
    runs = all_inside(round_, tuning(trials))
    return {arm: [each for each in runs if each.draw.arm == arm] for arm in arms_of(round_)}


def draws_by_arm(round_: Round, trials: Iterable[RoundTrial]) -> dict[str, list[RoundTrial]]:
    """Those of the plain search alone: draws from the space, which the others are not."""
    return {
        arm: [each for each in runs if each.draw.phase == "search"] for arm, runs in runs_by_arm(round_, trials).items()
    }


def is_inside(round_: Round, trial: RoundTrial) -> bool:
    return contains(round_, trial.draw.arm, trial.draw.branch, trial.draw.values)


def all_inside(round_: Round, trials: Iterable[RoundTrial]) -> list[RoundTrial]:
    """Those that lie in the space as it is now; what a branch is made of is looked up once."""
    membership_of = cache(partial(membership, round_))
    return [each for each in trials if membership_of(each.draw.arm, each.draw.branch)(each.draw.values)]


def gate_scores(trials: Iterable[RoundTrial]) -> tuple[float, ...]:
    """The incumbent's, one for each seed that has one."""
    gate = [each for each in trials if each.draw.phase == "gate" and each.feasible]
    return tuple(each.score for each in gate if each.score is not None)


def arm_row(round_: Round, arm: str, runs: Sequence[RoundTrial]) -> ArmRow:
    """One arm's count and its best run."""
    best = next(iter(best_first(round_.metric, runs)), None)
    rates = [each.examples_per_second for each in runs if each.feasible and each.examples_per_second is not None]
    return ArmRow(
        arm=arm,
        trials=len(runs),
        feasible=sum(each.feasible for each in runs),
        infeasible=dict(Counter[str](each.ending for each in runs if not each.feasible)),
        best_score=None if best is None else best.score,
        best_values={} if best is None else best.draw.values,
        best_index=None if best is None else best.draw.index,
        best_branch="" if best is None else best.draw.branch,
        seconds=None if best is None else best.seconds,
        examples_per_second=median(rates) if rates else None,
    )


def best_found(round_: Round, runs: Iterable[RoundTrial]) -> BestFound | None:
    """The best run of all arms, as a configuration."""
    best = next(iter(best_first(round_.metric, runs)), None)
    if best is None or best.score is None:
        return None
    return BestFound(
        arm=best.draw.arm,
        score=best.score,
        configuration=configuration_of(round_, best.draw.values),
        index=best.draw.index,
        branch=best.draw.branch,
    )
