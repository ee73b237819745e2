"""Scores of a round as people read them and as axes show them: which way is better, in percent or plain."""

import math
from collections.abc import Iterable
from statistics import median
from typing import Any

from traindyno.core.answers import AdoptAnswer, Interval, LedgerEntry, RoundAnswer
from traindyno.core.base import Record
from traindyno.report.wording import NOT_AVAILABLE, known, one_line

FAR_OUT = 4.0
"""Runs this many times as far from the best as the middle one are drawn at the edge, so that the others are seen."""
AIR, STRIP = 0.06, 0.09
"""Shares of the axis: beside the outermost score, and for the runs that have none."""


class Scores(Record, frozen=True):
    """A metric: its name, which way is better, and whether it is a share, which is written in percent."""

    metric: str
    higher_is_better: bool
    in_percent: bool

    @property
    def name(self) -> str:
        return one_line(self.metric, 40)

    def words(self, value: float | None) -> str:
        """`97.21 %` or `0.3412`."""
        if value is None or not math.isfinite(value):
            return NOT_AVAILABLE
        return f"{100 * value:.2f} %" if self.in_percent else f"{value:.4g}"

    def span(self, interval: Interval | None) -> str:
        """`96.90 to 97.44 %`, or nothing where there is none."""
        if interval is None or not all(map(math.isfinite, interval)):
            return ""
        low, high = interval
        return f"{100 * low:.2f} to {100 * high:.2f} %" if self.in_percent else f"{low:.4g} to {high:.4g}"

    def with_span(self, value: float | None, interval: Interval | None) -> str:
        span = self.span(interval)
        return f"{self.words(value)} ({span})" if span else self.words(value)

    @property
    def unit(self) -> str:
        """What stands in a table's heading, so that it need not stand in every cell."""
        return "%, " if self.in_percent else ""

    def cell(self, value: float | None, arm: float | None = None, *, signed: bool = False) -> str:
        """`97.08 ± 0.29` in a column whose heading says what the arm is; a difference has its sign."""
        if value is None or not known(value):
            return NOT_AVAILABLE
        sign = "+" if signed else ""
        text = f"{100 * value:{sign}.2f}" if self.in_percent else f"{value:{sign}.4g}"
        if arm is None or not known(arm):
            return text
        return f"{text} ± {100 * arm:.2f}" if self.in_percent else f"{text} ± {arm:.2g}"

    def around(self, value: float | None, interval: Interval | None, *, signed: bool = False) -> str:
        """`97.08 ± 0.29` where the interval reaches as far to both sides, or else `97.08 (91.10 to 100.00)`."""
        if value is None or interval is None or not all(map(math.isfinite, (value, *interval))):
            return self.cell(value, signed=signed)
        low, high = interval
        if self.in_percent and not signed:
            low, high = max(0.0, low), min(1.0, high)
        if math.isclose(value - low, high - value, rel_tol=0.01, abs_tol=1e-9):
            return self.cell(value, high - value, signed=signed)
        ends = " to ".join(self.cell(end, signed=signed) for end in (low, high))
        return f"{self.cell(value, signed=signed)} ({ends})"

    def difference(self, value: float | None, interval: Interval | None = None) -> str:
        """`+0.35 points (+0.10 to +0.60)`: a difference of shares is no share."""
        if value is None or not math.isfinite(value):
            return NOT_AVAILABLE
        factor, form, unit = (100, "+.2f", " points") if self.in_percent else (1, "+.3g", "")
        text = f"{factor * value:{form}}{unit}"
        ends = self.difference_ends(interval)
        return f"{text} ({ends})" if ends else text

    def difference_ends(self, interval: Interval | None) -> str:
        """`+0.10 to +0.60`, in the unit of `difference`; nothing where there is none."""
        if interval is None or not all(map(math.isfinite, interval)):
            return ""
        low, high = (f"{100 * end:+.2f}" if self.in_percent else f"{end:+.3g}" for end in interval)
        return f"{low} to {high}"

    def amount(self, value: float) -> str:
        """A difference without a sign, such as a minimum gain."""
        return f"{100 * value:.2g} points" if self.in_percent else f"{value:.3g}"

    def best(self, values: Iterable[float]) -> float:
        return max(values) if self.higher_is_better else min(values)

    @property
    def axis_format(self) -> str:
        return ".1~%" if self.in_percent else ".3~g"


class Window(Record, frozen=True):
    """The scores an axis shows. Worse ones than `edge` are drawn there; runs without a score at `strip`, beyond it."""

    low: float
    high: float
    edge: float
    strip: float
    has_scores: bool = True

    def shown(self, score: float) -> float:
        return max(score, self.edge) if self.strip < self.edge else min(score, self.edge)

    def is_beyond(self, score: float) -> bool:
        return self.shown(score) != score


def is_share(metric: str, values: Iterable[float | None]) -> bool:
    """Accuracies are shares of 1, unless a job of the user's own counts them otherwise."""
    return metric == "accuracy" and all(
        value is None or not math.isfinite(value) or 0 <= value <= 1 for value in values
    )


def round_scores(answer: RoundAnswer) -> Scores:
    values = [*answer.incumbent_scores, *(run.score for run in answer.runs), *(arm.best_score for arm in answer.arms)]
    return Scores(
        metric=answer.metric, higher_is_better=answer.higher_is_better, in_percent=is_share(answer.metric, values)
    )


def adoption_scores(answer: AdoptAnswer) -> Scores:
    values = [value for row in answer.rows for value in row.scores]
    return Scores(
        metric=answer.metric, higher_is_better=answer.higher_is_better, in_percent=is_share(answer.metric, values)
    )


def entry_scores(entry: LedgerEntry) -> Scores:
    """Which way is better does not matter to how a decision's mean is written."""
    return Scores(metric=entry.metric, higher_is_better=True, in_percent=is_share(entry.metric, [entry.mean]))


def window_of(scores: Scores, values: Iterable[float | None], always: Iterable[float | None] = ()) -> Window:
    """Room for the better half of the values and all of `always`, and for as many of the others as do not squeeze it.

    Both ends are those of an axis on which better lies further up or right, whichever way that is.
    """
    given = [value for value in values if value is not None and known(value)]
    kept = [value for value in always if value is not None and known(value)]
    if not given and not kept:
        return Window(low=0.0, high=1.0, edge=0.0, strip=-STRIP, has_scores=False)
    sign = 1.0 if scores.higher_is_better else -1.0
    better = [sign * value for value in (*given, *kept)]
    best = max(better)
    reach = FAR_OUT * (best - median(sign * value for value in given)) if given else 0.0
    worst = min([*(value for value in better if reach <= 0 or value >= best - reach), *(sign * each for each in kept)])
    span = best - worst or abs(best) * 0.02 or 0.02
    ends = (worst - AIR * span, best + AIR * span, worst - AIR * span, worst - (AIR + STRIP) * span)
    low, high, edge, strip = (sign * end for end in ends)
    return Window(low=low, high=high, edge=edge, strip=strip)


def score_scale(window: Window, with_strip: bool = True) -> Any:
    """A scale on which better lies further up, or to the right, also where less is better."""
    import altair

    first = window.strip - (window.edge - window.strip) * 0.6 if with_strip else window.edge
    domain = [first, window.high]
    return altair.Scale(domain=sorted(domain), reverse=domain[0] > domain[1], nice=False, zero=False)


def score_axis(scores: Scores, window: Window, title: str | None, ticks: int = 5, shown: bool = True) -> Any:
    """Its labels leave out the strip of the runs without a score."""
    import altair

    beyond = "<" if window.strip < window.edge else ">"
    labels = f"datum.value {beyond} {window.edge!r} ? '' : datum.label"
    visible = shown and window.has_scores
    return altair.Axis(
        title=title, format=scores.axis_format, tickCount=ticks, labelExpr=labels, labels=visible, ticks=visible
    )


def better_words(scores: Scores) -> str:
    return scores.name if scores.higher_is_better else f"{scores.name} (less is better)"
