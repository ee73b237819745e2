"""How far seeds alone move the score, against what the search and its arms differ by."""

import statistics
from collections.abc import Sequence

from traindyno.analysis.rounds.arms import gate_scores, runs_by_arm
from traindyno.analysis.rounds.next_steps import AGAIN, RUN
from traindyno.analysis.rounds.trials import best_first, sign
from traindyno.analysis.rounds.words import amount, arm_words
from traindyno.core.answers.rounds import Check
from traindyno.core.base import Record
from traindyno.core.resuming import adopt_command
from traindyno.core.round_space import gate_runs
from traindyno.core.rounds import Round, RoundTrial

NAME = "seeds"
FEW_SEEDS = 5
_TWO_RUNS = 2**0.5
"""Times the spread of one run is that of a difference of two."""


class Lead(Record, frozen=True):
    """What the best run of the first arm has over that of the second."""

    first: str
    second: str
    difference: float


def seed_spread(trials: Sequence[RoundTrial]) -> float | None:
    """The standard deviation between seeds, from the runs of the incumbent; null with fewer than two."""
    scores = gate_scores(trials)
    return statistics.stdev(scores) if len(scores) > 1 else None


def lead_of(round: Round, trials: Sequence[RoundTrial]) -> Lead | None:
    """How far the best two arms are apart; null where fewer have a score."""
    bests = [next(iter(best_first(round.metric, runs)), None) for runs in runs_by_arm(round, trials).values()]
    first, second = (*best_first(round.metric, [each for each in bests if each is not None])[:2], None, None)[:2]
    if first is None or second is None or first.score is None or second.score is None:
        return None
    return Lead(
        first=first.draw.arm,
        second=second.draw.arm,
        difference=sign(round.metric) * (first.score - second.score),
    )


def spread_check(round: Round, trials: Sequence[RoundTrial]) -> Check:
    """Whether what the search shows is more than what seeds do."""
    spread, seeds = seed_spread(trials), len(gate_scores(trials))
    if spread is None:
        return Check(
            name=NAME,
            state="unknown",
            text="How far seeds move the score is not known: fewer than two runs of the incumbent have one.",
            next_step=_more_seeds(round),
        )
    few = f" (from {seeds} seeds alone, so roughly)" if seeds < FEW_SEEDS else ""
    told = f"Seeds spread the score by {amount(spread, round.metric)}{few}."
    doubts = [doubt for doubt in (_search(round, trials, spread), _arms(round, trials, spread)) if doubt is not None]
    if not doubts:
        return Check(name=NAME, state="passed", text=f"{told} {_clear(round, trials)}".strip())
    return Check(
        name=NAME,
        state="warning",
        text=" ".join([told, *doubts]),
        next_step=f"Let fresh seeds decide: `{adopt_command(round)}`.",
    )


def _more_seeds(round: Round) -> str | None:
    """What gives the incumbent enough runs, if it can be run at all."""
    planned = gate_runs(round)
    if planned == 0:
        return None
    return RUN if planned > 1 else f"Set gate = 3 under [seeds] in the round's file, then {AGAIN}."


def _search(round: Round, trials: Sequence[RoundTrial], spread: float) -> str | None:
    found = _search_spread(round, trials)
    if found is None or spread < found:
        return None
    return f"The better half of the search spreads it by no more ({amount(found, round.metric)}): much is luck."


def _search_spread(round: Round, trials: Sequence[RoundTrial]) -> float | None:
    """That of the better half of all runs, from which is chosen; null with fewer than four."""
    runs = [each for of_arm in runs_by_arm(round, trials).values() for each in of_arm]
    ordered = [each.score for each in best_first(round.metric, runs) if each.score is not None]
    return statistics.stdev(ordered[: len(ordered) // 2]) if len(ordered) > 3 else None


def _arms(round: Round, trials: Sequence[RoundTrial], spread: float) -> str | None:
    lead = lead_of(round, trials)
    if lead is None or lead.difference >= _TWO_RUNS * spread:
        return None
    return (
        f"The best two arms, {arm_words(round, lead.first)} and {arm_words(round, lead.second)}, differ by "
        f"{amount(lead.difference, round.metric)}, less than two runs of one configuration do."
    )


def _clear(round: Round, trials: Sequence[RoundTrial]) -> str:
    lead = lead_of(round, trials)
    if lead is None:
        return "The better half of the search spreads it further."
    return f"The best two arms differ by {amount(lead.difference, round.metric)}."
