"""The greedy combination: from the best single switch upwards, each next one against what is held.

What alone gains nothing may gain together with others, so partners are tried even then; those that were refused are
tried several at once, and again after the rest. Of one switch only one value is held at a time; the others are tried
in its place at the end.
"""

from collections.abc import Sequence
from itertools import combinations

from traindyno.analysis.switch_candidates import Candidate, all_applied, names_of
from traindyno.analysis.switch_choice import is_faster
from traindyno.analysis.switch_effects import effect_of
from traindyno.analysis.switch_findings import Findings, Members, Rung, Tried
from traindyno.core.records import TrialSpec
from traindyno.search.switches.trying import Trying, compare

MOST_PAIRS = 12
WORTH_A_SECOND = 1.02


class Climb:
    """One combination. `held` is what has won so far; every attempt is written into the findings.

    Where no switch is faster alone, nothing is held at first, and all partners have been refused one by one already.
    """

    def __init__(self, template: TrialSpec, findings: Findings, order: Sequence[Candidate]) -> None:
        self._template = template
        self._findings = findings
        self._order = tuple(order)
        self.held: Members = tuple(self._order[:1]) if is_faster(findings, self._order[0]) else ()
        self._refused: dict[Candidate, Members] = {} if self.held else dict.fromkeys(self._order, ())

    def run(self) -> Trying[None]:
        yield from self._one_by_one()
        yield from self._refused_together()
        yield from self._other_values()
        yield from self._refused_again()

    def _one_by_one(self) -> Trying[None]:
        for candidate in self._order:
            if not self._holds(candidate) and candidate not in self._refused:
                yield from self._add((candidate,))

    def _refused_together(self) -> Trying[None]:
        """Partners that were refused one by one, two at once and then all: the best value of each switch."""
        best: dict[str, Candidate] = {}
        for candidate in self._order:
            if candidate in self._refused and candidate.partner and not self._holds(candidate):
                best.setdefault(candidate.switch, candidate)
        for count in range(2, len(best) + 1):
            for several in combinations(best.values(), count):
                if not any(self._holds(candidate) for candidate in several):
                    yield from self._add(several)

    def _other_values(self) -> Trying[None]:
        """Which value of a switch is best may depend on the others."""
        held_once = set(self.held)
        for candidate in self._order:
            now = next((each for each in self.held if each.switch == candidate.switch), None)
            if now is not None and candidate not in held_once:
                members = tuple(candidate if each == now else each for each in self.held)
                yield from self._attempt((candidate,), members, instead_of=now)
                held_once.update(self.held)

    def _refused_again(self) -> Trying[None]:
        """Partners that were refused on top of something else than what is held now."""
        for candidate, before in tuple(self._refused.items()):
            if candidate.partner and before != self.held and not self._holds(candidate):
                yield from self._add((candidate,))

    def _holds(self, candidate: Candidate) -> bool:
        return any(each.switch == candidate.switch for each in self.held)

    def _add(self, added: Members) -> Trying[None]:
        before = self.held
        yield from self._attempt(added, (*before, *added))
        if self.held == before and len(added) == 1:
            self._refused[added[0]] = before

    def _attempt(self, added: Members, members: Members, instead_of: Candidate | None = None) -> Trying[None]:
        """Hold the members if they are faster than what is held."""
        if sum(len(rung.tried.pairs) for rung in self._findings.rungs) >= MOST_PAIRS:
            self._findings.bounded = True
            return
        top = (
            f"on top of {names_of(self.held) or 'the baseline'}"
            if instead_of is None
            else f"in place of {instead_of.name}"
        )
        tried = yield from self._compare(members, f"{names_of(added)} {top}")
        measured = None if tried.failure is not None else effect_of(tried.pairs, self._findings.spread)
        rung = Rung(
            added=added,
            members=members,
            tried=tried,
            kept=measured is not None and measured[1][0] > 1.0,
            ratio=None if measured is None else measured[0],
            ci95=None if measured is None else measured[1],
            instead_of=instead_of,
        )
        self._findings.rungs.append(rung)
        self.held = members if rung.kept else self.held

    def _compare(self, members: Members, reason: str) -> Trying[Tried]:
        """One pair, and a second where the first promises something but does not show it."""
        settings, against = (all_applied(each, self._template.settings) for each in (members, self.held))
        first = yield from compare(self._template, settings, against, "resident", 0, reason)
        if first.failure is not None or first.apart:
            return first
        ratio, ci95 = effect_of(first.pairs, self._findings.spread)
        if ci95[0] > 1.0 or ratio <= WORTH_A_SECOND:
            return first
        second = yield from compare(self._template, settings, against, "resident", 1, f"{reason}, once more")
        return first.and_then(second)
