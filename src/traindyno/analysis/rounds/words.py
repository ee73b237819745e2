"""How a round's figures are told: an accuracy in per cent and its differences in points, all else as plain numbers."""

import math
from collections.abc import Iterable, Mapping

import msgspec

from traindyno.analysis.row_comparisons import points
from traindyno.core.answers.interval import Interval
from traindyno.core.answers.rounds import AdoptAnswer
from traindyno.core.round_space import label_of
from traindyno.core.rounds import ALONE, Round, RoundMetric, RoundTrial, Value


class OwnFigures(RoundMetric, frozen=True):
    """What a job of the user's own calls an accuracy or a loss, and is none by its numbers: 93.1, and not 0.931."""


def with_own_figures(round_: Round, trials: Iterable[RoundTrial]) -> Round:
    """The round as its scores are to be told. The recipe's accuracy is a share; that of another job may be."""
    low, high = bounds_of(round_.metric)
    fits = all(low <= each.score <= high for each in trials if each.score is not None)
    if round_.job.function is None or fits:
        return round_
    return msgspec.structs.replace(round_, metric=OwnFigures(**msgspec.structs.asdict(round_.metric)))


def bounds_of(metric: RoundMetric) -> Interval:
    """What no score lies beyond."""
    known = {} if isinstance(metric, OwnFigures) else {"accuracy": (0.0, 1.0), "loss": (0.0, math.inf)}
    return known.get(metric.name, (-math.inf, math.inf))


def metric_of(answer: AdoptAnswer) -> RoundMetric:
    """The metric of a proof, as its scores are to be told."""
    metric = RoundMetric(name=answer.metric, higher_is_better=answer.higher_is_better)
    low, high = bounds_of(metric)
    fits = all(low <= score <= high for row in answer.rows for score in row.scores)
    return metric if fits else OwnFigures(**msgspec.structs.asdict(metric))


def is_share(metric: RoundMetric | str) -> bool:
    """Whether scores are told in per cent. A metric's name alone is taken for the recipe's."""
    name = metric if isinstance(metric, str) else metric.name
    return name == "accuracy" and not isinstance(metric, OwnFigures)


def figure(value: float, metric: RoundMetric | str) -> str:
    """A score: `96.41 %` of an accuracy, `0.1234` of anything else."""
    return f"{value:.2%}".replace("%", " %") if is_share(metric) else f"{value:.4g}"


def amount(value: float, metric: RoundMetric | str) -> str:
    """The size of a difference: an accuracy's in points of a hundred."""
    return points(value) if is_share(metric) else f"{abs(value):.3g}"


def ends(interval: Interval, metric: RoundMetric | str) -> str:
    """`-0.2 to 1.3`, in the unit of `amount`, and with as many digits."""
    low, high = (100 * end if is_share(metric) else end for end in interval)
    if is_share(metric) and max(abs(low), abs(high)) >= 1:
        return f"{low:.1f} to {high:.1f}"
    return f"{low:.2g} to {high:.2g}"


def change_words(gain: float, ci95: Interval | None, metric: RoundMetric, least: str = "") -> str:
    """`a gain of 1.2 points (95 %: 0.3 to 2.0)`; of a loss, the interval counts losses as the number does."""
    within = "" if ci95 is None else f" (95 %: {ends(ci95 if gain >= 0 else turned(ci95), metric)})"
    return f"a {'gain' if gain >= 0 else 'loss'} of {least}{amount(gain, metric)}{within}"


def turned(interval: Interval) -> Interval:
    """The interval of what counts the other way."""
    return -interval[1], -interval[0]


def gain_of(difference: float, round_: Round) -> float:
    """A difference of scores turned so that more is better, whichever way the metric goes."""
    return difference if round_.metric.higher_is_better else -difference


def gain_ends(interval: Interval, round_: Round) -> Interval:
    """The interval of such a difference, turned with it."""
    return interval if round_.metric.higher_is_better else turned(interval)


def arm_words(round_: Round, arm: str) -> str:
    """An arm as a sentence names it: a text by itself, a number or a truth with the target's name."""
    target = round_.target
    if target is None or arm == ALONE:
        return "the search"
    return arm if ":" in arm else f"{target.name} = {arm}"


def values_words(values: Mapping[str, Value]) -> str:
    """`learning_rate = 0.12, momentum = 0.9`."""
    told = ((name, f"{value:.4g}" if isinstance(value, float) else label_of(value)) for name, value in values.items())
    return ", ".join(f"{name} = {text}" for name, text in told)


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
