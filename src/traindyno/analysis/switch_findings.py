"""What a study of switches has found so far. The strategy writes it down as it goes; the answer is drawn from it."""

from dataclasses import dataclass, field

import msgspec

from traindyno.analysis.intervals import Interval
from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.switch_effects import Spread, effect_of, pooled_spread
from traindyno.analysis.switch_losses import LossCheck
from traindyno.core.base import Record
from traindyno.core.records import Failure, Pair

Members = tuple[Candidate, ...]


class Tried(Record, frozen=True):
    """Two settings compared: their pairs in order, or the failure that ended it.

    `of_baseline` says whose failure it was. Settings that did not fit the device together were run `apart`, in fresh
    processes by turns.
    """

    pairs: tuple[Pair, ...] = ()
    failure: Failure | None = None
    of_baseline: bool = False
    apart: bool = False

    def and_then(self, later: "Tried") -> "Tried":
        """With what was tried later; pairs of two kinds are not mixed."""
        return later if later.apart else msgspec.structs.replace(later, pairs=(*self.pairs, *later.pairs))


class Rung(Record, frozen=True):
    """One step of the combination: what was tried on top of, or in place of, what was held."""

    added: Members
    members: Members
    tried: Tried
    kept: bool
    ratio: float | None = None
    ci95: Interval | None = None
    instead_of: Candidate | None = None


@dataclass
class Findings:
    """`baseline_losses` are the baseline's final ones by seed, `baseline_fall` how far they came down at most.

    `failed_losses` says why they are not known.

    `dropped` is what was taken out of the combination for its loss. `members` and `final` are the combination
    against the baseline, in fresh pairs. `ended` says that nothing more is to be measured.
    """

    candidates: tuple[Candidate, ...]
    singles: dict[Candidate, Tried] = field(default_factory=dict)
    baseline_losses: list[float] = field(default_factory=list)
    baseline_fall: float = 0.0
    failed_losses: str | None = None
    checks: dict[Candidate, LossCheck] = field(default_factory=dict)
    rungs: list[Rung] = field(default_factory=list)
    bounded: bool = False
    dropped: Candidate | None = None
    members: Members = ()
    members_check: LossCheck | None = None
    final: Tried | None = None
    ended: bool = False
    baseline_failure: Failure | None = None

    @property
    def spread(self) -> Spread:
        """How far pairs differ from process to process, by all switches that were tried alone."""
        return pooled_spread(tried.pairs for tried in self.singles.values())

    def effect(self, candidate: Candidate) -> tuple[float, Interval] | None:
        """The ratio of one switch alone; null if it was not measured, or failed in one of its pairs."""
        tried = self.singles.get(candidate)
        if tried is None or tried.failure is not None or not tried.pairs:
            return None
        return effect_of(tried.pairs, self.spread)

    def final_effect(self) -> tuple[float, Interval] | None:
        """The combination against the baseline; its own pairs also tell how far pairs differ."""
        if self.final is None or self.final.failure is not None or not self.final.pairs:
            return None
        groups = (*(tried.pairs for tried in self.singles.values()), self.final.pairs)
        return effect_of(self.final.pairs, pooled_spread(groups))
