"""The greedy combination: from the best single switch upwards, each next one against what is held.

What alone gains nothing may gain together with others, so partners are tried even then; those that were refused are
tried several at once. Of one switch only one value is held at a time. At the end the others are tried in its place,
what was refused is tried on top of that, and partners are given up, until none of it is faster.

All of that is done first with what starts quickly. On top of a compiled step every attempt takes most of a minute, so
that those come last, and partners that gained much are then kept without another look.
"""

from collections.abc import Sequence
from itertools import combinations

from traindyno.analysis.switch_candidates import Candidate, all_applied, names_of
from traindyno.analysis.switch_choice import WORTH_A_SLOW_START, is_faster, starts_slowly
from traindyno.analysis.switch_findings import Findings, Members, Rung, Tried
from traindyno.core.records import TrialSpec
from traindyno.search.replaying import Trying
from traindyno.search.switches.trying import compare

MOST_PAIRS = 16
"""With what starts quickly, and again with everything."""
MOST_OF_A_RUNG = 3
"""A second pair may show what one does not; a third only where these pairs may be judged by themselves."""
WORTH_A_SECOND = 1.02
GAINED_MUCH = 1.2
LAUNCHED = ("compile", "default")
"""Compiled, and launched kernel by kernel."""


class Climb:
    """One combination. `held` is what has won so far; every attempt is written into the findings.

    Where no switch is faster alone, nothing is held at first, and all partners have been refused one by one already.
    """

    def __init__(self, template: TrialSpec, findings: Findings, order: Sequence[Candidate]) -> None:
        self._template = template
        self._findings = findings
        self._order = tuple(order)
        self.held: Members = tuple(self._order[:1]) if is_faster(findings, self._order[0]) else ()
        self._refused: set[Candidate] = set() if self.held else set(self._order)
        self._pairs_before = 0
        self._compared = {self._meeting((candidate,), ()) for candidate in self._order}

    def run(self) -> Trying[None]:
        whole = self._order
        self._order = tuple(each for each in whole if not starts_slowly(self._findings, each) or each in self.held)
        yield from self._settle()
        if self._order != whole:
            self._order, before = whole, self.held
            yield from self._settle()
            if self.held != before:
                yield from self._others_again()

    def _settle(self) -> Trying[None]:
        """Combine what is in the order as far as it gains."""
        self._pairs_before = self._pairs()
        yield from self._one_by_one()
        yield from self._refused_together()
        before = None
        while self.held != before:
            before = self.held
            yield from self._other_values()
            yield from self._refused_again()
            yield from self._give_up()

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
        for candidate in self._order:
            now = next((each for each in self.held if each.switch == candidate.switch), None)
            if now is not None and now != candidate and not self._is_beaten(candidate, now):
                members = tuple(candidate if each == now else each for each in self.held)
                yield from self._attempt((candidate,), members, instead_of=now)

    def _is_beaten(self, candidate: Candidate, by: Candidate) -> bool:
        """Whether compiling without graphs was shown to be slower alone, and would have to be compiled for nothing.

        What others shorten leaves launching a larger share of the step, and that is what graphs save.
        """
        alone, best = self._findings.effect(candidate), self._findings.effect(by)
        apart = alone is not None and best is not None and alone[1][1] < best[1][0]
        return apart and (candidate.switch, candidate.value) == LAUNCHED and starts_slowly(self._findings, candidate)

    def _give_up(self) -> Trying[None]:
        """A partner that helped at first may stand in the way of those that came later."""
        for partner in self.held:
            if partner.partner and partner in self.held and len(self.held) > 1 and not self._stays(partner):
                members = tuple(each for each in self.held if each != partner)
                yield from self._attempt((), members, instead_of=partner)

    def _stays(self, partner: Candidate) -> bool:
        """Whether to do without it is not worth a slow start: it gained much, or on top of what starts slowly here."""
        slow = self._slow_ones(self.held)
        if not slow:
            return False
        kept = [rung for rung in self._findings.rungs if rung.kept and rung.instead_of is None]
        gained_here = any(rung.added == (partner,) and self._slow_ones(rung.members) == slow for rung in kept)
        if gained_here and partner not in slow:
            return True
        alone = self._findings.effect(partner)
        gains = [1.0 if alone is None else alone[0]]
        for rung in self._findings.rungs:
            if rung.ratio is not None and rung.kept and any(each.switch == partner.switch for each in rung.added):
                gains.append(rung.ratio)
            elif rung.ratio is not None and rung.instead_of == partner and not rung.added:
                gains.append(1 / rung.ratio)
        return max(gains) >= GAINED_MUCH

    def _slow_ones(self, members: Members) -> set[Candidate]:
        return {each for each in members if starts_slowly(self._findings, each)}

    def _others_again(self) -> Trying[None]:
        """What is no partner and was refused, on top of what starts slowly, which may have been wanting.

        One that hardly gains alone is not worth a slow start.
        """
        for candidate in self._order:
            alone = self._findings.effect(candidate)
            gains = alone is not None and alone[0] >= WORTH_A_SLOW_START
            if gains and not candidate.partner and not self._holds(candidate):
                yield from self._add((candidate,))

    def _refused_again(self) -> Trying[None]:
        """Partners that are not held, on top of what they have not been tried with."""
        for candidate in self._order:
            if candidate.partner and not self._holds(candidate):
                yield from self._add((candidate,))

    def _holds(self, candidate: Candidate) -> bool:
        return any(each.switch == candidate.switch for each in self.held)

    def _add(self, added: Members) -> Trying[None]:
        before = self.held
        yield from self._attempt(added, (*before, *added))
        if self.held == before and len(added) == 1:
            self._refused.add(added[0])

    def _attempt(self, added: Members, members: Members, instead_of: Candidate | None = None) -> Trying[None]:
        """Hold the members if they are faster than what is held; the same two are compared once."""
        members = _without_idle_tf32(members)
        if members == self.held or self._meeting(members, self.held) in self._compared:
            return
        if self._pairs() - self._pairs_before >= MOST_PAIRS:
            self._findings.bounded = True
            return
        self._compared.add(self._meeting(members, self.held))
        tried = yield from self._compare(members, self._reason(added, instead_of))
        measured = self._findings.compared(tried, members)
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

    def _pairs(self) -> int:
        return sum(len(rung.tried.pairs) for rung in self._findings.rungs)

    def _reason(self, added: Members, instead_of: Candidate | None) -> str:
        if instead_of is None:
            return f"{names_of(added)} on top of {names_of(self.held) or 'the baseline'}"
        return f"{names_of(added)} in place of {instead_of.name}" if added else f"without {instead_of.name}"

    def _compare(self, members: Members, reason: str) -> Trying[Tried]:
        """One pair, and more where it promises something but does not show it, or a switch is noisy."""
        settings, against = (all_applied(each, self._template.settings) for each in (members, self.held))
        tried = yield from compare(self._template, settings, against, "resident", 0, reason)
        while self._wants_another(tried, members):
            again = len(tried.pairs)
            more = yield from compare(self._template, settings, against, "resident", again, f"{reason}, once more")
            tried = tried.and_then(more)
        return tried

    def _wants_another(self, tried: Tried, members: Members) -> bool:
        effect, count = self._findings.compared(tried, members), len(tried.pairs)
        if effect is None or tried.apart or effect[0] <= WORTH_A_SECOND:
            return False
        noisy_alone = self._findings.any_noisy({*members, *self.held})
        if effect[1][0] > 1.0:
            return count == 1 and noisy_alone
        alike = noisy_alone and not self._findings.noisy(tried)
        return count == 1 or (count < MOST_OF_A_RUNG and (alike or self._findings.calm(tried)))

    @staticmethod
    def _meeting(members: Members, held: Members) -> frozenset[frozenset[Candidate]]:
        return frozenset((frozenset(members), frozenset(held)))


def _without_idle_tf32(members: Members) -> Members:
    """Products of lower precision do not use TF32: beside it there is nothing to set."""
    lower = any(each.switch == "precision" and each.value in ("bf16", "fp16") for each in members)
    return tuple(each for each in members if not (lower and each.switch == "tf32"))
