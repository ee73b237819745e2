"""Whether what was adopted leaves training as it was: its losses beside the baseline's, over a short run.

They are looked at for everything together. Where they differ, precision is given up first, and then everything that
changes arithmetic. What is left must be compiled anew for another look; without time for that, compiling goes too.
"""

import math
from collections.abc import Sequence

import msgspec

from traindyno.analysis.switch_losses import LOOKS, SEEDS, LossCheck, check_loss, final_loss, loss_fall
from traindyno.core.records import Budget, Settings, TrialRecord
from traindyno.core.setups import fed_as, step_settings
from traindyno.search.find.giving_up import give_up
from traindyno.search.find.hunt import Hunt
from traindyno.search.replaying import Trying, Wanted, beside
from traindyno.search.switches.trying import losses_batch, losses_spec

CHANGES_MOST = "precision"
_OF_HELD = "the losses of what is held"
TRIALS_IF_ALIKE = SEEDS + 1
"""The baseline's seeds, and one of what is held."""
TRIALS_IF_NOT = 2 * LOOKS[-1] + 1
"""All seeds of the baseline and of something that differs, and what is left of it without that. Where there is not the
time for a hundred steps of each, fewer steps are better than fewer seeds, which take one sound switch in ten for worse.
"""


class LossLook:
    """Looks at the losses of what is held, and gives up what spoils them."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._trials, self._findings = hunt.goal, hunt.trials, hunt.findings
        self._baseline: list[TrialRecord] = []
        self._purse = hunt.purse
        self._steps: int | None = None
        self._size: int | None = None

    def run(self) -> Trying[None]:
        findings = self._findings
        while findings.trains and self._is_open():
            check = yield from self._check(findings.held.settings)
            findings.loss_checks[step_settings(findings.held.settings)] = check
            if check.sound:
                return
            self._give_up(check)

    def _is_open(self) -> bool:
        held, members = step_settings(self._findings.held.settings), self._findings.members
        return held not in self._findings.loss_checks and any(member.changes_arithmetic for member in members)

    def _give_up(self, check: LossCheck) -> None:
        members = self._findings.members
        spoiling = [member for member in members if member.switch == CHANGES_MOST] or [
            member for member in members if member.changes_arithmetic
        ]
        why = check.note or "the loss after a short run lies outside the spread of the baseline's seeds"
        self._findings.spoiling |= {(member.switch, member.value) for member in spoiling}
        give_up(self._findings, spoiling, why)
        compiled = [member for member in self._findings.members if member.switch == "compile"]
        if compiled and not self._purse.affords_to_compile_again():
            give_up(self._findings, compiled, "no time was left to compile what remained, and to look at its loss")

    def _baseline_losses(self, beside_them: Sequence[Wanted], seeds: int = SEEDS) -> Trying[None]:
        settings, missing = self._goal.baseline.settings, range(len(self._baseline), seeds)
        left = [self._wanted(settings, "the baseline's losses", seed) for seed in missing]
        for number, wanted in enumerate(left, start=1):
            self._baseline.append((yield beside(wanted, (*beside_them, *left[number:]))))

    def _check(self, settings: Settings) -> Trying[LossCheck]:
        """At the first seed; a difference there may be chance, so that it is looked at again at more of them."""
        finals: list[float] = []
        check = LossCheck()
        for seeds in LOOKS:
            if seeds > SEEDS and not self._purse.affords_more_losses(2 * (seeds - SEEDS)):
                break
            left = [self._wanted(settings, _OF_HELD, seed) for seed in range(len(finals), seeds)]
            yield from self._baseline_losses(left, max(SEEDS, seeds))
            if seeds > SEEDS and not all(map(math.isfinite, self._baseline_finals())):
                break
            for number, wanted in enumerate(left, start=1):
                record = yield beside(wanted, left[number:])
                if record.measurement is None:
                    failure = record.failure
                    note = "the check of its loss failed" if failure is None else f"its losses: {failure.message}"
                    return LossCheck(agrees=False, note=note)
                finals.append(final_loss(record.measurement.losses))
            check = check_loss(self._baseline_finals(), finals, self._fall())
            if check.agrees is not False or check.difference is None:
                break
        return check

    def _baseline_finals(self) -> list[float]:
        told = [record.measurement for record in self._baseline]
        return [math.nan if each is None else final_loss(each.losses) for each in told]

    def _fall(self) -> float:
        told = [record.measurement for record in self._baseline if record.measurement is not None]
        return max((loss_fall(each.losses) for each in told), default=0.0)

    def _wanted(self, settings: Settings, losses: str, seed: int) -> Wanted:
        parts = math.lcm(self._goal.baseline.settings.accumulation_steps, settings.accumulation_steps)
        if self._steps is None or self._size is None:
            own = self._goal.baseline.settings.batch_size
            self._size = own if self._purse.prices.is_compiled else losses_batch(own, parts)
            self._steps = self._purse.loss_steps(TRIALS_IF_NOT)
        template = self._trials.of(self._goal.baseline)
        # Decoders differ in single pixels, which is enough for training to go another way: all learn from the same.
        spec = losses_spec(template, fed_as(settings, self._goal.baseline.settings), self._size, seed)
        return Wanted(
            spec=msgspec.structs.replace(spec, budget=Budget(steps=self._steps)), reason=f"{losses}, seed {seed}"
        )
