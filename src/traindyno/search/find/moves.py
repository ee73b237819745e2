"""The step side: switches, each on top of what is held, in pairs that take turns on resident data.

On a GPU lower precision and channels_last are tried together first, because each alone may gain nothing; what came in
together is then tried without its second part. Where bf16 gains nothing so, fp16 has its turn. The rest follows one at
a time, what usually gains most first. A gain that may be the difference between two processes is looked at in further
pairs. At the end the losses of all that was adopted are looked at together.
"""

from collections.abc import Callable, Sequence

import msgspec

from traindyno.analysis.find.attempts import failure_words, not_tried, out_of_time, tried_switches
from traindyno.analysis.find.findings import Effect
from traindyno.analysis.find.pairs import MOST_PAIRS, needs_another, said_by, speaks_for
from traindyno.analysis.switch_candidates import Candidate, all_applied, names_of
from traindyno.analysis.switch_findings import Tried
from traindyno.core.answers.find import Attempt
from traindyno.core.records import Settings
from traindyno.core.setups import Setup
from traindyno.search.find.adoption_costs import AdoptionCosts
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.mattering import GRAPHS_FROM, cannot_matter, host_share
from traindyno.search.find.switch_order import (
    BEFORE_DATA,
    COMPILED,
    GRAPHS,
    OLDER_PRECISION,
    PRECISION,
    graphs_first,
    is_set,
    one_by_one,
    partners,
    takes_back,
)
from traindyno.search.replaying import Trying
from traindyno.search.switches.trying import compare

WORTH_ADOPTING = 1.01
TIME_TO_SPARE = 0.5
"""Of the budget: so much must be left for more pairs than usual."""
BESIDE_PRECISION = ("memory_format", "tf32")
"""Useless or slower beside lower precision, they may gain without it."""
HOST_MATTERS = 0.5
"""A partner that was refused is tried again on a compiled step where launching took this share of it, or more."""


class StepSearch:
    """Improves what is held by its switches. Everything found goes into the findings."""

    def __init__(self, hunt: Hunt) -> None:
        self._hunt, self._costs = hunt, AdoptionCosts(hunt)
        self._goal, self._trials, self._findings, self._purse = hunt.goal, hunt.trials, hunt.findings, hunt.purse
        self._undone: set[Candidate] = set()
        """What was held and given up by a pair of its own."""
        self._left: list[Candidate] | None = None
        """What has not had its turn; null before the first."""
        self._together_again = False
        """Whether the step was compiled since the partners had their turn."""
        self._too_long: dict[Candidate, Setup | None] = {}
        """What there was no time for, on top of what was held then: the rounds of something else may leave more. Null
        where it is to be asked again in any case."""

    @property
    def is_done(self) -> bool:
        return self._left == [] and not self._together_again and not self._worth_asking_again()

    @property
    def left_over(self) -> str:
        """What has not been tried, in words; nothing where that is nothing."""
        if self._left is None:
            return "switches"
        left = (*self._worth_asking_again(), *self._left)
        return names_of(tuple(each for each in left if not self._is_held(each) and each not in self._undone))

    @property
    def may_change_much(self) -> bool:
        """Whether a switch is left that may make the step another one."""
        if self._left is None or (self._together_again and len(self._missing_partners()) == len(self._partners)):
            return True
        return any(map(self._may_gain_much, self._left))

    def _may_gain_much(self, candidate: Candidate) -> bool:
        """Not what is a part of what is held: a step that is launched as one graph is compiled."""
        is_part = candidate.value == COMPILED and self._findings.held.settings.compile == GRAPHS
        return candidate.switch in BEFORE_DATA and not takes_back(candidate) and not is_part

    @property
    def first_look_seconds(self) -> float:
        """What the partners' pair and their losses take, as long as nothing was tried; they may gain most of all."""
        together = self._together() if self._left is None else ()
        if not together:
            return 0.0
        return self._purse.prices.cost("pair") + self._costs.losses_seconds(
            together, compiled=self._purse.prices.is_compiled
        )

    def improve(self, waits_now: Callable[[], bool]) -> Trying[None]:
        """Try what is left. Once training waits for its data, they come first, and the rest is for another time."""
        if self._left is None:
            self._left = one_by_one(self._goal)
            together = self._together()
            if len(together) > 1 and not any(self._is_held(partner) for partner in together):
                yield from self._add_together()
                yield from self._add_older_precision()
        self._take_up_again()
        if (host_share(self._findings) or 0.0) >= GRAPHS_FROM:
            self._left = graphs_first(self._left)
        while (self._left or self._together_again) and not waits_now():
            if self._together_again:
                self._together_again = False
                yield from self._add_together()
                continue
            candidate, compiled = self._left.pop(0), self._findings.held.settings.compile
            if self._is_held(candidate) or candidate in self._undone:
                continue
            if (why := cannot_matter(candidate, self._hunt)) is not None:
                self._findings.attempts.append(not_tried("step", candidate.name, why))
            elif self._affords((candidate,)):
                yield from self._add((candidate,))
                if self._together() == (candidate,):
                    yield from self._add_older_precision()
            else:
                self._findings.attempts.append(self._out_of_time((candidate,)))
                self._too_long[candidate] = self._findings.held
            self._together_again = self._findings.held.settings.compile != compiled

    def _take_up_again(self) -> None:
        """Put what there was no time for before the rest, as if it had not had its turn."""
        again = self._worth_asking_again()
        words = [self._out_of_time((each,)) for each in again]
        self._findings.attempts = [each for each in self._findings.attempts if each not in words]
        self._left = [*again, *(self._left or [])]
        for each in again:
            del self._too_long[each]

    def ask_again(self) -> None:
        """There may be more time by now for what took too long."""
        self._too_long = dict.fromkeys(self._too_long)

    def _worth_asking_again(self) -> list[Candidate]:
        return [each for each, held in self._too_long.items() if held != self._findings.held]

    def _out_of_time(self, members: tuple[Candidate, ...]) -> Attempt:
        return out_of_time("step", names_of(members))

    def begin_again(self) -> Trying[None]:
        """Leave out what spoils the losses, and what was tried and does not depend on it.

        What came in together with precision must pay without it.
        """
        spoiling, tried = self._findings.spoiling, {each.change for each in self._findings.attempts if each.trials}
        told = [each for each in one_by_one(self._goal) if each.name not in tried or self._depends_on_precision(each)]
        fresh = [each for each in told if (each.switch, each.value) not in spoiling]
        self._left = [each for each in fresh if not self._is_held(each)]
        again = {each.name for each in self._left}
        self._findings.attempts = [each for each in self._findings.attempts if each.adopted or each.change not in again]
        for member in [each for each in self._partners if each in self._findings.members]:
            yield from self._without(member)

    def _depends_on_precision(self, candidate: Candidate) -> bool:
        """Whether a switch may do something else without lower precision, and was never tried so."""
        if candidate.switch not in BESIDE_PRECISION:
            return False
        arms = [(record.spec.settings, record.spec.against) for _, record in self._findings.log]
        in_full = [(one, other) for one, other in arms if other and one.precision == other.precision == "fp32"]
        return not any(is_set(candidate, one) and not is_set(candidate, other) for one, other in in_full)

    @property
    def _partners(self) -> tuple[Candidate, ...]:
        """With the precision that is held, if that is the older one."""
        is_older = self._findings.held.settings.precision == OLDER_PRECISION
        return self._together(OLDER_PRECISION if is_older else PRECISION)

    def _together(self, precision: str = PRECISION) -> tuple[Candidate, ...]:
        return partners(self._goal, precision, may_lay_out=self._findings.may_lay_out)

    def _add_older_precision(self) -> Trying[None]:
        """Where lower precision gained nothing although launching is not the limit, the GPU may not know that one."""
        together = self._together(OLDER_PRECISION)
        tried = any(record.spec.settings.precision == PRECISION for _, record in self._findings.log)
        held = self._findings.held.settings.precision
        if not together or not tried or held in (PRECISION, OLDER_PRECISION):
            return
        if (host_share(self._findings) or 0.0) >= HOST_MATTERS:
            return
        if not self._affords(together):
            self._findings.attempts.append(self._out_of_time(together))
        elif (yield from self._add(together)) and len(together) > 1:
            yield from self._without(together[-1])

    def _add_together(self) -> Trying[None]:
        """Both partners; once a step is compiled again, and one of them by itself where launching was in its way."""
        missing = self._missing_partners()
        if not missing:
            return
        if not self._affords(missing):
            self._findings.attempts.append(self._out_of_time(missing))
        elif (yield from self._add(missing)) and len(missing) > 1:
            yield from self._without(missing[-1])

    def _missing_partners(self) -> tuple[Candidate, ...]:
        """Those that should have another turn."""
        together, spoiling = self._partners, self._findings.spoiling
        sound = [each for each in together if (each.switch, each.value) not in spoiling]
        missing = tuple(partner for partner in sound if not self._is_held(partner))
        is_worth_it = len(missing) == len(together) or (host_share(self._findings) or 0.0) >= HOST_MATTERS
        return missing if is_worth_it else ()

    def _is_held(self, candidate: Candidate) -> bool:
        return is_set(candidate, self._findings.held.settings)

    def _add(self, members: tuple[Candidate, ...]) -> Trying[bool]:
        """Hold the members too, if pairs show that they are faster."""
        settings = self._with(members)
        before, reason = len(self._findings.log), f"{names_of(members)} on top of what is held"
        tried = yield from self._pairs(members, settings, reason)
        effect = self._judged(members, tried, before, self._findings.compared, WORTH_ADOPTING)
        self._findings.compared.append(tried)
        if effect is None:
            return False
        new = {member.switch for member in members}
        others = [each for each in self._findings.members if each.switch not in new and is_set(each, settings)]
        self._hold(settings, (*others, *members))
        self._note_gain(members, effect)
        return True

    def _affords(self, members: tuple[Candidate, ...]) -> bool:
        return self._purse.affords("pair", extra_seconds=self._costs.extra_seconds(members, self._with(members)))

    def _with(self, members: tuple[Candidate, ...]) -> Settings:
        return self._without_idle_tf32(all_applied(members, self._findings.held.settings))

    def _note_gain(self, members: tuple[Candidate, ...], effect: Effect) -> None:
        """What the step would lose without a switch: of those that came together, each may be needed for all of it."""
        self._findings.effects.append(effect)
        for member in members:
            before = self._findings.ratios.get(member.switch, 1.0)
            self._findings.ratios[member.switch] = before * effect[0]

    def _without_idle_tf32(self, settings: Settings) -> Settings:
        """Products of lower precision do not use TF32."""
        own = self._goal.baseline.settings.tf32
        return settings if settings.precision == "fp32" else msgspec.structs.replace(settings, tf32=own)

    def _without(self, member: Candidate) -> Trying[None]:
        """What came in together with another must pay by itself. One pair says: it is about a change less, no gain.

        It does not take the time that a run of what is held with its loader needs.
        """
        held = self._findings.held
        value = getattr(self._goal.baseline.settings, member.switch)
        settings = msgspec.structs.replace(held.settings, **{member.switch: value})
        loading = self._purse.prices.end_to_end_seconds if self._goal.has_data else 0.0
        if not self._purse.affords("pair", extra_seconds=loading):
            return
        back = msgspec.structs.replace(member, value=value)
        before, reason = len(self._findings.log), f"without {member.name} again"
        tried = yield from self._pair((back,), settings, 0, reason)
        as_fast = self._judged((back,), tried, before, (), 1 / WORTH_ADOPTING)
        ratio = self._findings.attempts[-1].ratio
        if as_fast is not None:
            self._hold(settings, tuple(each for each in self._findings.members if each != member))
            self._undone.add(member)
            self._findings.effects.append(as_fast)
            self._findings.ratios.pop(member.switch, None)
        elif ratio is not None:
            self._findings.ratios[member.switch] = 1 / ratio

    def _pairs(self, members: tuple[Candidate, ...], settings: Settings, reason: str) -> Trying[Tried]:
        """One pair, and further ones while they are needed and there is time for them."""
        tried = yield from self._pair(members, settings, 0, reason)
        while needs_another(tried, self._findings.compared, WORTH_ADOPTING) and self._affords_another(members, tried):
            again = yield from self._pair(members, settings, len(tried.pairs), f"{reason}, once more")
            tried = tried.and_then(again)
        return tried

    def _pair(self, members: tuple[Candidate, ...], settings: Settings, repeat: int, reason: str) -> Trying[Tried]:
        findings, held, supply = self._findings, self._findings.held, members[0].supply
        tried = yield from compare(self._trials.of(held), settings, held.settings, supply, repeat, reason)
        for pair in tried.pairs if supply == "resident" else ():
            findings.note_pair(settings, held.settings, pair)
        return tried

    def _affords_another(self, members: tuple[Candidate, ...], tried: Tried) -> bool:
        """As long as the last one at most, and the losses to look at in the end.

        What the usual number leaves open is looked at again only where half of the time is left: other switches wait.
        Compiling, which may gain most of all, is not given up for it.
        """
        _, last = self._findings.log[-1]
        if self._leaves_no_time_to_compile(members, last.seconds):
            return False
        losses = self._costs.losses_seconds(members, compiled=last.spec.settings.compile != "none")
        plenty = not self._purse.hurries and self._purse.spare() >= TIME_TO_SPARE * (self._purse.budget_seconds or 0.0)
        return self._purse.spare() >= last.seconds + losses and (plenty or len(tried.pairs) < MOST_PAIRS)

    def _leaves_no_time_to_compile(self, members: tuple[Candidate, ...], seconds: float) -> bool:
        """Whether there is time now for a step that is compiled, and none after so many seconds."""
        is_open = "compile" not in {each.switch for each in members} and self._findings.held.settings.compile == "none"
        left = (each for each in self._left or () if each.switch == "compile" and not takes_back(each))
        compiled = next(left, None)
        if compiled is None or not is_open:
            return False
        needed = self._purse.prices.cost("pair") + self._costs.extra_seconds((compiled,), self._with((compiled,)))
        return needed <= self._purse.spare() < needed + seconds

    def _judged(
        self, members: tuple[Candidate, ...], tried: Tried, before: int, others: Sequence[Tried], least: float
    ) -> Effect | None:
        """What pairs say that speaks for the members; null if one failed or they do not. It is written down."""
        said, log = said_by(tried, others), self._findings.log
        adopted = said is not None and tried.failure is None and speaks_for(said.effect, least)
        failure = "what is held did not run beside it" if tried.of_baseline else failure_words(tried.failure)
        records = [record for _, record in log[before:]]
        self._findings.attempts.append(tried_switches(members, said, failure, adopted=adopted, records=records))
        return said.effect if said is not None and adopted else None

    def _hold(self, settings: Settings, members: Sequence[Candidate]) -> None:
        self._findings.held = Setup(data=self._findings.held.data, settings=settings)
        self._findings.members = tuple(members)
