"""How much of the variation of scores each nuisance explains within an arm, and whether that is more than chance.

The ranks of the scores are fitted by a sum of parabolas, one for each number, and of one level for each choice, held
back by a ridge: twelve runs cannot carry more. A parameter's share is what its own part of that sum varies. Draws of a
parameter do not depend on those of the others, so shuffling them among the runs shows what an irrelevant one would
get; it is important if it gets more than 95 % of the shuffled. Runs that were placed where others had been good are
left out, for there the choice of the search, not of nature, ties values to scores. A run that diverged ranks last: that
comes of its values too. How else a run failed says nothing of its score, and it is left out.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from traindyno.analysis.rounds.ridge_shares import KEPT, Design
from traindyno.core.answers.rounds import Importance
from traindyno.core.rounds import Parameter, Round, RoundTrial

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

FEWEST_RUNS = 10
SMALL_SHARE = 0.25
"""What explains no more than this at the most is unimportant; what may explain more, and was not shown to, is open."""
LEVEL = 0.05


def importance_in(round_: Round, arm: str, draws: Sequence[RoundTrial]) -> tuple[Importance, ...]:
    """One row for each nuisance that the plain search drew; `is_important` is null where the runs do not tell."""
    import numpy

    runs = [each for each in draws if each.feasible or each.ending == "diverged"]
    parameters = [each for each in round_.searched if _varies(each, runs)]
    if not parameters or not any(each.feasible for each in runs):
        return ()
    design, random = Design(round_, parameters, runs), numpy.random.default_rng(0)
    shares, again = design.shares(), design.resampled(random)
    return tuple(
        _row(each.name, arm, float(shares[place]), again[:, place], design, place, random)
        for place, each in enumerate(parameters)
    )


def _row(
    name: str, arm: str, share: float, again: "Array", design: Design, place: int, random: "numpy.random.Generator"
) -> Importance:
    import numpy

    floor = float(numpy.quantile(design.shuffled(place, random), 1 - LEVEL))
    is_enough = int(design.present[:, place].sum()) >= FEWEST_RUNS
    is_above, ends = share > floor, _interval(share, again) if is_enough else (0.0, 1.0)
    known = is_enough and (is_above or ends[1] <= SMALL_SHARE)
    return Importance(
        parameter=name,
        arm=arm,
        importance=share,
        ci95=ends,
        stable=float(numpy.mean((again > floor / KEPT) == is_above)),
        is_important=is_above if known else None,
    )


def _interval(share: float, again: "Array") -> tuple[float, float]:
    """Parts of the same runs differ less than new runs would: by what is left out of them over what is kept.

    Where parts explain all, nothing more could be seen above, and the end is there.
    """
    import numpy

    low, high = numpy.quantile(again, (0.025, 0.975))
    off = (numpy.array((low, high)) - numpy.median(again)) * (KEPT / (1 - KEPT)) ** 0.5
    return max(0.0, share + float(off[0])), 1.0 if high >= 1 else min(1.0, share + float(off[1]))


def _varies(parameter: Parameter, runs: Sequence[RoundTrial]) -> bool:
    values = [each.draw.values[parameter.name] for each in runs if parameter.name in each.draw.values]
    return len(set(values)) > 1
