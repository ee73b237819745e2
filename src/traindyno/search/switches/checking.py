"""The losses of a study of switches: which are looked at, and what becomes of a combination whose loss differs."""

import math
from collections.abc import Sequence

from traindyno.analysis.switch_candidates import Candidate, all_applied
from traindyno.analysis.switch_choice import likely_combinations, may_combine, starts_slowly
from traindyno.analysis.switch_findings import Findings, Members
from traindyno.analysis.switch_losses import LOOKS, SEEDS, LossCheck, check_loss, final_loss, loss_fall, loss_spread
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec
from traindyno.search.replaying import Trying, Wanted, beside
from traindyno.search.switches.trying import losses_batch, losses_spec

OF_COMBINATION = "the losses of the combination"


class Checking:
    """Losses with and without switches. `unchecked` is why none are looked at, if so."""

    def __init__(
        self, template: TrialSpec, candidates: Sequence[Candidate], unchecked: str | None, *, combine: bool
    ) -> None:
        self._combine = combine
        self._template = template
        self._candidates = candidates
        self._unchecked = unchecked
        every = (template.settings, *(candidate.applied(template.settings) for candidate in candidates))
        parts = math.lcm(*(settings.accumulation_steps for settings in every))
        self._batch_size = losses_batch(template.settings.batch_size, parts)

    @property
    def checked(self) -> list[Candidate]:
        """What may have to be looked at."""
        return [each for each in self._candidates if self._unchecked is None and each.changes_arithmetic]

    def run(self, findings: Findings) -> Trying[None]:
        """The baseline over its seeds, then every switch that changes arithmetic and may be adopted."""
        for candidate in self._candidates:
            if (note := self._reason_not(findings, candidate)) is not None:
                findings.checks[candidate] = LossCheck(note=note)
        left = [candidate for candidate in self._candidates if candidate not in findings.checks]
        to_come = self._first_of(findings, left)
        if left:
            findings.failed_losses = yield from self._baseline(findings, to_come)
        if loss_spread(findings.baseline_losses) is None:
            findings.checks |= dict.fromkeys(left, LossCheck(note="the baseline's own losses are not known"))
            return
        for candidate in left:
            settings, reason = candidate.applied(self._template.settings), _with(candidate)
            findings.checks[candidate] = yield from self._check(findings, settings, reason, to_come)

    def _first_of(self, findings: Findings, candidates: Sequence[Candidate]) -> tuple[Wanted, ...]:
        """The first look at each of them; what starts slowly comes first, so that the others run meanwhile."""
        ordered = sorted(candidates, key=lambda candidate: not starts_slowly(findings, candidate))
        singles = tuple(self._wanted(each.applied(self._template.settings), _with(each)) for each in ordered)
        slow = sum(starts_slowly(findings, each) for each in ordered)
        return (*singles[:slow], *self._likely_ones(findings), *singles[slow:])

    def _likely_ones(self, findings: Findings) -> tuple[Wanted, ...]:
        """The losses of what will probably be held in the end, where that is compiled anew for their smaller batch.

        They take no longer beside others that are compiled. At the own batch that would choose kernels in company, for
        pairs that are timed later.
        """
        if not self._combine or self._batch_size == self._template.settings.batch_size:
            return ()
        likely = [all_applied(members, self._template.settings) for members in likely_combinations(findings)]
        return tuple(self._wanted(settings, OF_COMBINATION) for settings in likely)

    def _baseline(self, findings: Findings, to_come: tuple[Wanted, ...], seeds: int = SEEDS) -> Trying[str | None]:
        """The baseline at so many seeds; why that failed, if so."""
        settings, reason = self._template.settings, "the baseline's losses"
        missing = range(len(findings.baseline_losses), seeds)
        left = [self._wanted(settings, f"{reason}, seed {seed}", seed) for seed in missing]
        for number, wanted in enumerate(left, start=1):
            record = yield beside(wanted, (*to_come, *left[number:]))
            if (why := _no_loss(record)) is not None:
                return why
            findings.baseline_losses.append(_final(record))
            findings.baseline_fall = max(findings.baseline_fall, _fall(record))
        return None

    def _check(
        self, findings: Findings, settings: Settings, reason: str, to_come: tuple[Wanted, ...] = ()
    ) -> Trying[LossCheck]:
        """At the first seed; a difference there may be chance, so that it is looked at again at more of them.

        Where the baseline fails at the last of these, those before have decided.
        """
        finals: list[float] = []
        check = LossCheck()
        for seeds in LOOKS:
            left = [self._wanted(settings, _at(reason, seed), seed) for seed in range(len(finals), seeds)]
            if (yield from self._baseline(findings, tuple(left), seeds=max(SEEDS, seeds))) is not None:
                break
            for number, wanted in enumerate(left, start=1):
                record = yield beside(wanted, (*to_come, *left[number:]))
                if record.failure is not None:
                    return _broken(record, record.failure)
                finals.append(_final(record))
            check = check_loss(findings.baseline_losses, finals, findings.baseline_fall)
            if check.agrees is not False or check.difference is None:
                break
        return check

    def _reason_not(self, findings: Findings, candidate: Candidate) -> str | None:
        effect = findings.effect(candidate)
        if effect is None:
            return "it failed"
        if not candidate.changes_arithmetic:
            return "same arithmetic"
        if effect[1][1] < 1.0 and not may_combine(findings, candidate):
            return "slower"
        return self._unchecked

    def sound_part(self, findings: Findings, held: Members) -> Trying[Members]:
        """What is held, if its loss agrees; else without the switch whose own loss is furthest off, if that does."""
        if (yield from self._is_sound(findings, held)):
            return held
        findings.dropped_check = findings.members_check
        rounding = [member for member in held if member.changes_arithmetic]
        findings.dropped = max(rounding, key=lambda member: abs(findings.checks[member].difference or 0.0))
        rest = tuple(member for member in held if member != findings.dropped)
        return rest if (yield from self._is_sound(findings, rest)) else ()

    def _is_sound(self, findings: Findings, members: Members) -> Trying[bool]:
        """A single switch has been looked at already; without the baseline's losses there is nothing to look at."""
        rounds = any(member.changes_arithmetic for member in members)
        if not rounds or len(members) == 1 or loss_spread(findings.baseline_losses) is None:
            return True
        settings = all_applied(members, self._template.settings)
        findings.members_check = yield from self._check(findings, settings, OF_COMBINATION)
        return findings.members_check.sound

    def _wanted(self, settings: Settings, reason: str, seed: int = 0) -> Wanted:
        return Wanted(spec=losses_spec(self._template, settings, self._batch_size, seed), reason=reason)


def _at(reason: str, seed: int) -> str:
    return f"{reason}, seed {seed}" if seed else reason


def _with(candidate: Candidate) -> str:
    return f"the losses with {candidate.name}"


def _final(record: TrialRecord) -> float:
    return math.nan if record.measurement is None else final_loss(record.measurement.losses)


def _no_loss(record: TrialRecord) -> str | None:
    """Why the baseline's own loss is not known."""
    if record.failure is not None:
        return record.failure.message
    return None if math.isfinite(_final(record)) else "the baseline's own loss is not finite."


def _fall(record: TrialRecord) -> float:
    return 0.0 if record.measurement is None else loss_fall(record.measurement.losses)


def _broken(record: TrialRecord, failure: Failure) -> LossCheck:
    if record.outcome is Outcome.NONFINITE:
        return LossCheck(agrees=False, note="the loss is not finite")
    return LossCheck(note=f"the check of its loss failed: {failure.message}", failed=True)
