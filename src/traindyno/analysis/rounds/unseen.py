"""Parts of ranges that no run has seen although all trials are spent: they were added since, and trials were not."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.rounds.arms import runs_by_arm
from traindyno.analysis.rounds.points import is_whole, trials_with
from traindyno.analysis.rounds.reach import draws_to_see, last_seen, reached
from traindyno.core.round_space import unit_of
from traindyno.core.rounds import Parameter, Round, RoundTrial

CHANCE_GAPS = 3
"""An end is left empty on purpose, and not by chance, if so many draws would be expected there."""


def unseen_parts(round: Round, trials: Sequence[RoundTrial]) -> dict[str, str]:
    """What to say of each searched range that goes on where no run lies; nothing while runs are still to come."""
    if round.budget.trials is None or not is_whole(round, trials):
        return {}
    runs = [run for of_arm in runs_by_arm(round, trials).values() for run in of_arm if run.draw.phase == "search"]
    ranged = [each for each in round.searched if each.range is not None]
    told = {each.name: " ".join(_sentences(round, each, runs)) for each in ranged}
    return {name: text for name, text in told.items() if text}


def _sentences(round: Round, parameter: Parameter, runs: Sequence[RoundTrial]) -> Iterator[str]:
    seen = reached(parameter, runs)
    assert parameter.range is not None
    assert seen.range is not None
    draws = len({each.draw.values[parameter.name] for each in runs if parameter.name in each.draw.values})
    for above, end in ((False, parameter.range.low), (True, parameter.range.high)):
        last = last_seen(parameter, seen, above)
        gap = 0.0 if last is None else abs(unit_of(parameter, end) - unit_of(parameter, last))
        if gap * draws > CHANCE_GAPS:
            trials = trials_with(round, runs, draws_to_see(seen.range, parameter))
            yield (
                f"The range of {parameter.name} goes on to {end:g}, but no run lies {'above' if above else 'below'} "
                f"{last:.3g}, and all trials are spent: set trials = {trials} under [budget] for runs there."
            )
