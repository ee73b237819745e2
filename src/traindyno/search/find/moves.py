"""The step side: switches, each on top of what is held, in pairs that take turns on resident data.

On a GPU lower precision and channels_last are tried together first, because each alone may gain nothing; what came in
together is then tried without its second part. The rest follows one at a time, what usually gains most first. At the
end the losses of all that was adopted are looked at together.
"""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.attempts import out_of_time, tried_switches
from traindyno.analysis.switch_candidates import Candidate, all_applied, names_of
from traindyno.analysis.switch_effects import effect_of, pooled_spread
from traindyno.core.records import Settings
from traindyno.core.setups import Setup
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.losses import losses_trials
from traindyno.search.find.purse import COMPILING_SECONDS
from traindyno.search.replaying import Trying
from traindyno.search.switches.trying import compare

WORTH_ADOPTING = 1.01
TOGETHER = ("precision", "memory_format")
ON_GPU = ("precision", "memory_format", "compile", "optimizer_kernel", "cudnn_benchmark", "tf32", "pin_memory")
ON_CPU = ("memory_format", "threads", "optimizer_kernel", "precision", "compile")
NEVER_FASTER = (("tf32", "none"), ("optimizer_kernel", "loop"), ("precision", "fp16"))
GRAPHS = "reduce-overhead"
HOST_MATTERS = 0.5
"""Graphs of kernels are tried where launching takes this share of the step, or more."""


class StepSearch:
    """Improves what is held by its switches. Everything found goes into the findings."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._trials, self._findings, self._purse = hunt.goal, hunt.trials, hunt.findings, hunt.purse

    def improve(self) -> Trying[None]:
        yield from self._add_together()
        before = self._findings.held
        for candidate in self._one_by_one():
            if not self._is_held(candidate) and self._may_matter(candidate):
                yield from self._add((candidate,))
        if self._findings.held.settings.compile != before.settings.compile:
            yield from self._add_together()

    def _add_together(self) -> Trying[None]:
        """Both partners, unless one is held already. Once a step is compiled they may gain what they did not before."""
        together = self._together()
        if not any(self._is_held(partner) for partner in together) and together and (yield from self._add(together)):
            yield from self._without(together[-1])

    def _together(self) -> tuple[Candidate, ...]:
        """The partners to begin with; nothing where there are not two."""
        first = {candidate.switch: candidate for candidate in reversed(self._allowed())}
        partners = tuple(first[switch] for switch in TOGETHER if switch in first)
        return partners if self._goal.on_gpu and len(partners) == len(TOGETHER) else ()

    def _one_by_one(self) -> list[Candidate]:
        order = ON_GPU if self._goal.on_gpu else ON_CPU
        return sorted(self._allowed(), key=lambda candidate: order.index(candidate.switch))

    def _allowed(self) -> list[Candidate]:
        order = ON_GPU if self._goal.on_gpu else ON_CPU
        return [
            candidate
            for candidate in self._goal.candidates
            if candidate.skipped_because is None
            and candidate.recommendable
            and candidate.switch in order
            and (candidate.switch, candidate.value) not in NEVER_FASTER
            and self._goal.may_change(candidate.switch)
        ]

    def _is_held(self, candidate: Candidate) -> bool:
        return _is_set(candidate, self._findings.held.settings)

    def _may_matter(self, candidate: Candidate) -> bool:
        """Leave out what cannot gain here by what is known of the step; that goes without a trial."""
        held = self._findings.held
        if candidate.value == GRAPHS:
            return self._host_share() >= HOST_MATTERS
        if candidate.switch == "tf32":
            return held.settings.precision == "fp32"
        return candidate.switch != "pin_memory" or self._trials.has_data

    def _host_share(self) -> float:
        """What the host needs to launch a step, as a share of the step that is held."""
        record = self._findings.anatomies.get(self._findings.baseline)
        told = record.measurement.anatomy if record is not None and record.measurement is not None else None
        step = self._findings.resident_seconds(self._findings.held.settings)
        return 0.0 if told is None or told.host_step_seconds is None or not step else told.host_step_seconds / step

    def _add(self, members: tuple[Candidate, ...]) -> Trying[bool]:
        """Hold the members too, if a pair shows that they are faster."""
        settings = self._without_idle_tf32(all_applied(members, self._findings.held.settings))
        if not self._purse.affords("pair", extra_seconds=self._extra_seconds(members, settings)):
            self._findings.attempts.append(out_of_time("step", names_of(members)))
            return False
        ratio = yield from self._compared(members, settings, f"{names_of(members)} on top of what is held")
        if ratio is None or ratio < WORTH_ADOPTING:
            return False
        new = {member.switch for member in members}
        others = [each for each in self._findings.members if each.switch not in new and _is_set(each, settings)]
        self._hold(settings, (*others, *members))
        self._findings.ratios |= {member.switch: ratio ** (1 / len(members)) for member in members}
        return True

    def _without_idle_tf32(self, settings: Settings) -> Settings:
        """Products of lower precision do not use TF32."""
        own = self._goal.baseline.settings.tf32
        return settings if settings.precision == "fp32" else msgspec.structs.replace(settings, tf32=own)

    def _extra_seconds(self, members: tuple[Candidate, ...], settings: Settings) -> float:
        """What adopting the members takes beside their pair: compiling, and the losses to look at in the end."""
        compiling = settings.compile not in ("none", self._findings.held.settings.compile)
        arithmetic = any(member.changes_arithmetic for member in members)
        losses = losses_trials() * self._purse.cost("losses") if arithmetic else 0.0
        return losses + (COMPILING_SECONDS if compiling else 0.0)

    def _without(self, member: Candidate) -> Trying[None]:
        """What came in together with another must pay by itself."""
        held = self._findings.held
        value = getattr(self._goal.baseline.settings, member.switch)
        settings = msgspec.structs.replace(held.settings, **{member.switch: value})
        if not self._purse.affords("pair"):
            return
        back = msgspec.structs.replace(member, value=value)
        ratio = yield from self._compared((back,), settings, f"without {member.name} again", least=1 / WORTH_ADOPTING)
        if ratio is not None:
            self._hold(settings, tuple(each for each in self._findings.members if each != member))

    def _compared(
        self, members: tuple[Candidate, ...], settings: Settings, reason: str, least: float = WORTH_ADOPTING
    ) -> Trying[float | None]:
        """The ratio of a pair that speaks for the settings; null if it failed or does not."""
        findings, held = self._findings, self._findings.held
        before = len(findings.log)
        template = self._trials.of(held)
        tried = yield from compare(template, settings, held.settings, members[0].supply, 0, reason)
        effect = effect_of(tried.pairs, pooled_spread((tried.pairs,))) if tried.pairs else None
        for pair in tried.pairs if members[0].supply == "resident" else ():
            findings.note_pair(settings, held.settings, pair)
        adopted = effect is not None and tried.failure is None and _speaks_for(effect, least)
        records = [record for _, record in findings.log[before:]]
        findings.attempts.append(tried_switches(members, effect, tried.failure, adopted=adopted, records=records))
        return effect[0] if adopted and effect is not None else None

    def _hold(self, settings: Settings, members: Sequence[Candidate]) -> None:
        self._findings.held = Setup(data=self._findings.held.data, settings=settings)
        self._findings.members = tuple(members)


def _is_set(candidate: Candidate, settings: Settings) -> bool:
    return bool(getattr(settings, candidate.switch) == candidate.value)


def _speaks_for(effect: tuple[float, tuple[float, float]], least: float) -> bool:
    """Faster by `least`, and by more than chance; where a little slower is allowed, not clearly slower than that."""
    ratio, (low, _) = effect
    return ratio >= least and low > min(1.0, least)
