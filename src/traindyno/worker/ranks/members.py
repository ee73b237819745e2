"""The members of a group as their captain knows them: what each said last, and who is behind."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from traindyno.core.base import Record
from traindyno.core.records import Failure, Measurement, Memory
from traindyno.core.scaling import RankReading
from traindyno.worker.ranks.lines import Line

STALE_SECONDS = 3.0
"""A rank tells where it stands every second, whatever it computes."""


class RankResult(Record, frozen=True):
    """What a rank found. The measurement, which is of all ranks, is told by the first.

    A rank that learns has nothing to tell of itself but its memory, and what it noted.
    """

    reading: RankReading | None
    memory: Memory
    measurement: Measurement | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RankError:
    """A failure as its rank told it; a consequence is that of another rank's end."""

    failure: Failure
    consequence: bool


@dataclass
class Member:
    """One rank. `marks` counts the places that all ranks come by in the same order, the last of which is `stage`."""

    rank: int
    node: int
    host: str
    line: Line
    heard: float
    phase: str = "start"
    stage: str = "start"
    step: int = 0
    marks: int = 0
    stack: str | None = None
    error: RankError | None = None
    result: RankResult | None = None
    gone: float | None = None

    @property
    def done(self) -> bool:
        return self.result is not None

    @property
    def vanished(self) -> bool:
        """Whether it went without a word."""
        return self.gone is not None and self.error is None and not self.done


@dataclass
class NodeMember:
    """Another machine, which tells that it lives. `printed` is what its torchrun said, once that has ended."""

    node: int
    host: str
    line: Line
    heard: float
    gone: bool = False
    exit_codes: dict[int, int] = field(default_factory=dict)
    printed: str | None = None


def furthest_behind(members: Iterable[Member], now: float) -> list[Member]:
    """Who the others wait for: ranks that tell nothing at all any more, else those with the fewest places behind them.

    Several where they stand at the same place.
    """
    waiting = [member for member in members if not member.done]
    if stale := [member for member in waiting if now - member.heard > STALE_SECONDS]:
        return stale
    fewest = min(member.marks for member in waiting)
    return [member for member in waiting if member.marks == fewest]
