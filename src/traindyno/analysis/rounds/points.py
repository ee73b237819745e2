"""Were there enough runs? By how many there are for each dimension, and by whether more would find better ones."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.rounds.arms import draws_by_arm, runs_by_arm
from traindyno.analysis.rounds.best_of_k import best_of_k
from traindyno.analysis.rounds.next_steps import RUN, add_trials
from traindyno.analysis.rounds.spread import seed_spread
from traindyno.analysis.rounds.trials import best_first
from traindyno.analysis.rounds.words import arm_words
from traindyno.core.answers.rounds import Check, CheckState
from traindyno.core.base import Record
from traindyno.core.round_space import arms_of, branches_of, dimensions_of
from traindyno.core.rounds import Round, RoundTrial
from traindyno.core.units import count_of

NAME = "enough points"
FEWEST_PER_DIMENSION = 3
ENOUGH_PER_DIMENSION = 6
"""From benchmarks/rounds_boundary.py: with fewer, where the optimum lies is often left open."""
_NEAR_SHARE = 0.1
_FEW_NEAR = 3


class ArmPoints(Record, frozen=True):
    """`runs` are those of the plain search, `scores` those in the branch that has fewest for its `dimensions`.

    `rising`: more draws would still find better ones. `near` are the runs as good as the best, as far as seeds tell.
    """

    arm: str
    runs: int
    scores: int
    dimensions: int
    branches: int
    rising: bool
    near: int


def points_checks(round: Round, trials: Sequence[RoundTrial]) -> tuple[Check, ...]:
    """One check for each arm that was searched."""
    spread, draws = seed_spread(trials), draws_by_arm(round, trials)
    return tuple(
        _check(round, _points(round, arm, runs, draws[arm], spread))
        for arm, runs in runs_by_arm(round, trials).items()
        if runs
    )


def is_whole(round: Round, trials: Sequence[RoundTrial]) -> bool:
    """Whether every arm has had the runs that its budget gives it; time is no number of runs."""
    planned = round.budget.trials or 0
    return all(_plain_runs(runs) >= planned for runs in runs_by_arm(round, trials).values())


def trials_with(round: Round, trials: Sequence[RoundTrial], more: int) -> int:
    """The budget of each arm that leaves every branch of it so many draws more; its own where that is enough."""
    spent = max((_plain_runs(runs) for runs in runs_by_arm(round, trials).values()), default=0)
    branches = max(len(branches_of(round, arm)) for arm in arms_of(round))
    return max(round.budget.trials or 0, spent + more * branches)


def _plain_runs(runs: Sequence[RoundTrial]) -> int:
    return sum(each.draw.phase == "search" for each in runs)


def _points(
    round: Round, arm: str, runs: Sequence[RoundTrial], draws: Sequence[RoundTrial], spread: float | None
) -> ArmPoints:
    scored = [each for each in runs if each.feasible]
    sizes = [
        (
            sum(each.draw.branch == branch for each in scored),
            len(dimensions_of(round, arm, branch)),
        )
        for branch in branches_of(round, arm)
    ]
    scores, dimensions = min(sizes, key=lambda size: size[0] / max(size[1], 1))
    return ArmPoints(
        arm=arm,
        runs=_plain_runs(runs),
        scores=scores,
        dimensions=dimensions,
        branches=len(sizes),
        rising=bool(draws) and best_of_k(round, arm, draws, spread).saturated is False,
        near=_near_best(round, runs, spread),
    )


def _near_best(round: Round, runs: Sequence[RoundTrial], spread: float | None) -> int:
    """Runs within what seeds do of the best; within a tenth of all that runs differ by, where that is not known."""
    ordered = [each.score for each in best_first(round.metric, runs) if each.score is not None]
    if not ordered:
        return 0
    reach = spread if spread is not None else _NEAR_SHARE * abs(ordered[0] - ordered[-1])
    return sum(abs(score - ordered[0]) <= reach for score in ordered)


def _check(round: Round, points: ArmPoints) -> Check:
    base = Check(name=NAME, state="passed", text=_text(round, points), subject=points.arm or None)
    is_cut = round.budget.trials is not None and points.runs < round.budget.trials
    more = RUN if is_cut else add_trials(round, ENOUGH_PER_DIMENSION * points.dimensions * points.branches)
    if points.scores < FEWEST_PER_DIMENSION * points.dimensions:
        return _with(base, "failed", "That is too few to conclude from.", more)
    if is_cut:
        return _with(base, "warning", _ended(points.runs, round.budget.trials), more)
    if points.scores < ENOUGH_PER_DIMENSION * points.dimensions:
        text = f"Fewer than {ENOUGH_PER_DIMENSION} for each often leave open where the optimum lies."
        return _with(base, "warning", text, more)
    if points.rising and points.near < _FEW_NEAR:
        return _with(base, "warning", "With more of them the best would still become better.", add_trials(round))
    return base


def _ended(runs: int, planned: int | None) -> str:
    return f"Only {runs} of {planned} planned runs {'has' if runs == 1 else 'have'} ended."


def _text(round: Round, points: ArmPoints) -> str:
    of_arm = f" of {arm_words(round, points.arm)}" if points.arm else ""
    where = f"{of_arm} in the branch with fewest" if points.branches > 1 else of_arm
    dimensions = count_of(points.dimensions, "searched dimension")
    return f"{count_of(points.scores, 'score')}{where} for {dimensions}{_near_words(points)}."


def _near_words(points: ArmPoints) -> str:
    """The best itself is one of `near`."""
    if points.near < 2:
        return "; no other as good as the best" if points.scores > 1 else ""
    return f"; {points.near}{' of all' if points.branches > 1 else ''} as good as the best"


def _with(base: Check, state: CheckState, text: str, next_step: str) -> Check:
    return msgspec.structs.replace(base, state=state, text=f"{base.text} {text}", next_step=next_step)
