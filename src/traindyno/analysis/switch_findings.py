"""What a study of switches has found so far. The strategy writes it down as it goes; the answer is drawn from it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.switch_effects import Spread, effect_of, is_calm, is_noisy, pooled_spread
from traindyno.analysis.switch_losses import LossCheck
from traindyno.core.answers.interval import Interval
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
    """One step of the combination: what was tried on top of, or in place of, what was held.

    With nothing added, `instead_of` was given up.
    """

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

    `dropped` is what was taken out of the combination for its loss, `dropped_check` that loss; `members` is what is
    left, and `members_check` its loss. `finals` are fresh pairs against the baseline of what may be recommended.
    `ended` says that nothing more is to be measured.
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
    dropped_check: LossCheck | None = None
    members: Members = ()
    members_check: LossCheck | None = None
    finals: dict[Members, Tried] = field(default_factory=dict)
    ended: bool = False
    baseline_failure: Failure | None = None

    def effect(self, candidate: Candidate) -> tuple[float, Interval] | None:
        """The ratio of one switch alone; null if it was not measured, or failed in one of its pairs."""
        tried = self.singles.get(candidate)
        return None if tried is None else self.compared(tried)

    def final_effect(self, members: Members) -> tuple[float, Interval] | None:
        """The members against the baseline, by fresh pairs alone; null where there are none, or one failed."""
        tried = self.finals.get(members)
        return None if tried is None else self.compared(tried, members)

    def compared(self, tried: Tried, members: Members = ()) -> tuple[float, Interval] | None:
        """The ratio that pairs show, with the spread of all their kind. `members` are what the settings have on."""
        if tried.failure is not None or not tried.pairs:
            return None
        alone = [self.singles[member] for member in members if member in self.singles]
        kin = [each.pairs for each in alone if each is not tried and each.apart == tried.apart]
        return effect_of(tried.pairs, self._spread(tried), kin, calm=self.calm(tried))

    def noisy(self, tried: Tried) -> bool:
        """Whether pairs differ by far more than those of other switches."""
        return is_noisy(tried.pairs, self._spread(tried))

    def any_noisy(self, candidates: Iterable[Candidate]) -> bool:
        """Whether one of these was noisy alone."""
        return any(self.noisy(self.singles[each]) for each in candidates if each in self.singles)

    def calm(self, tried: Tried) -> bool:
        """Whether the turns of these pairs vary by far less than those of the switches alone."""
        return is_calm(tried.pairs, [pair for pairs in self._others(tried) for pair in pairs])

    def _spread(self, tried: Tried) -> Spread:
        """How far pairs differ from process to process, by all switches that were tried alone, and by these pairs."""
        return pooled_spread((*self._others(tried), tried.pairs))

    def _others(self, tried: Tried) -> list[tuple[Pair, ...]]:
        """The pairs of other switches alone. Those that took turns and processes that ran apart are not alike."""
        return [each.pairs for each in self.singles.values() if each is not tried and each.apart == tried.apart]
