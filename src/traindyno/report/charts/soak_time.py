"""What the panels of a long run share: the axis of time, and fewer points than there are seconds."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from traindyno.analysis.soak_run import SoakRun

Item = TypeVar("Item")
Panel = Callable[[Any], Any]
"""Draws itself over an axis of time."""
MOST_POINTS = 600
PANEL_HEIGHT = 110
LABEL_ROOM = 48


def minutes_axis(run: SoakRun, titled: bool = True) -> Any:
    """Minutes since the run began, the same under every panel; only the last says so."""
    import altair

    scale = altair.Scale(domain=[0, run.seconds / 60], nice=False)
    axis = altair.Axis(title="minutes" if titled else None, labels=titled, grid=False, tickCount=8)
    return altair.X("minutes:Q", scale=scale, axis=axis)


def value_axis(name: str, values: Sequence[float]) -> Any:
    """The axis of what was read, over the range it had; all panels leave the same room for its labels."""
    import altair

    low, high = min(values), max(values)
    air = max(0.15 * (high - low), 0.02 * high)
    scale = altair.Scale(domain=[max(0.0, low - air), high + air], nice=False, zero=False)
    axis = altair.Axis(title=None, tickCount=4, format=",~r", minExtent=LABEL_ROOM)
    return altair.Y(f"{name}:Q", scale=scale, axis=axis)


def thinned(items: Sequence[Item]) -> Sequence[Item]:
    """Items at even distances, so that a chart of a long run stays small."""
    return items[:: -(-len(items) // MOST_POINTS)] if items else items
