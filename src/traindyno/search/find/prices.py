"""What trials take, by those that were run: the prices that a search reckons with."""

import math

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import forecast_seconds
from traindyno.analysis.flow_pace import flow_seconds
from traindyno.analysis.switch_losses import LARGEST_BATCH, SEEDS
from traindyno.core.records import Measurement, TrialKind, TrialRecord
from traindyno.core.setups import Setup
from traindyno.search.find.goal import Goal

COMPILING_SECONDS = 50.0
"""Assumed of a model that has not been compiled yet: three vision models took 24 to 55 s on an H200."""

COMPILED_SECONDS = 9.0
"""Assumed of the start of one that has."""

ANATOMY_TIMES = 1.4
"""How many times as long as a run end to end the first step takes to be taken apart: 1.1 to 1.4 times were seen."""

HARDLY_WAITS = 1.05
"""Steps that take so many times as long as with resident data, or less, leave their workers ahead."""

FEWEST_LOSS_STEPS = 25
_STARTING_SECONDS = 2.0


class Prices:
    """Of a search as far as it has come; nothing is known of a trial but what is like it."""

    def __init__(self, goal: Goal, findings: Findings, trial_seconds: float) -> None:
        self._goal, self._findings, self._trial_seconds = goal, findings, trial_seconds

    def cost(self, kind: TrialKind) -> float:
        """What the last trials of a kind took at most; compiling is counted apart."""
        if kind == "losses":
            return self.losses_cost(self.is_compiled)
        if kind == "pair":
            return self._pair_seconds()
        alike = [each for _, each in self._findings.log if each.spec.kind == kind and each.spec.against is None]
        if kind == "speed" and self.is_compiled:
            # A batch of another size has to be compiled for; without data the baseline was a trial of this kind too.
            alike = [each for each in alike if compiles(each)]
            if not alike:
                return self.compiling_seconds + self.end_to_end_seconds
        if kind == "anatomy" and not alike:
            return ANATOMY_TIMES * max(self.baseline_seconds, self.end_to_end_seconds)
        return max(each.seconds for each in alike[-2:]) if alike else self.end_to_end_seconds

    def losses_cost(self, compiled: bool) -> float:
        """What a short run that tells its losses takes at least, where the step is compiled or not."""
        return self.losses_seconds(FEWEST_LOSS_STEPS, compiled)

    def losses_seconds(self, steps: int, compiled: bool) -> float:
        """A short run at a small batch, whose steps take as long as launching does at least.

        One that is compiled has the own batch, for which there is code already; compiling for another takes longer.
        """
        settings = self._findings.baseline.settings
        step = self._findings.resident_seconds(settings) or 0.0
        record = self._findings.anatomies.get(self._findings.baseline)
        told = record.measurement.anatomy if record is not None and record.measurement is not None else None
        launching = 0.0 if told is None else told.host_step_seconds or 0.0
        if compiled:
            starts = SEEDS + 1 if self.was_compiled else 1
            return steps * step + _STARTING_SECONDS + self.compiled_seconds * starts / (SEEDS + 1)
        small = max(step * min(1.0, LARGEST_BATCH / settings.batch_size), min(step, launching))
        return steps * small + _STARTING_SECONDS

    def feed_seconds(self, setup: Setup, step_seconds: float | None) -> float:
        """What a run end to end should take: it starts as the baseline's, and its steps and workers are its own.

        Trials end when they know enough: the baseline's shows which share of the most that is.
        """
        baseline, told = self._findings.baseline, self._findings.rate(self._findings.baseline)
        if step_seconds is None or told is None:
            return self.end_to_end_seconds
        most = self._flow_seconds(baseline, told.step_seconds)
        starting = max(min(_STARTING_SECONDS, self.baseline_seconds), self.baseline_seconds - most)
        share = (self.baseline_seconds - starting) / most
        compiled = self.compiled_seconds if self.is_compiled and not self.was_compiled else 0.0
        return compiled + starting + share * self._flow_seconds(setup, step_seconds)

    def _flow_seconds(self, setup: Setup, step_seconds: float) -> float:
        resident = self._findings.resident_seconds(setup.settings)
        waits = resident is None or step_seconds > HARDLY_WAITS * resident
        return flow_seconds(setup.settings, step_seconds, self._trial_seconds, waits=waits)

    @property
    def fed_seconds(self) -> float:
        """What a run of what is held should take that does not wait for its data; no more than the last one took."""
        step = self._findings.resident_seconds(self._findings.held.settings)
        return min(self.cost("feed"), self.feed_seconds(self._findings.held, step))

    def seconds_to_compile(self, setup: Setup) -> float:
        """What a step that has not run yet takes to be compiled."""
        is_new = setup.settings.compile != "none" and self._findings.resident_seconds(setup.settings) is None
        return self.compiling_seconds if is_new else 0.0

    @property
    def baseline_seconds(self) -> float:
        return self._again(self._runs[0]) if self._runs else 2 * self._trial_seconds

    @property
    def end_to_end_seconds(self) -> float:
        """What is held: as its loader took last, or as it should with a step that is faster by now. What was tried and
        not held says nothing of the rounds to come.
        """
        held = _loader(self._findings.held)
        alike = [run for run in self._runs if _loader_of(run) == held]
        last = alike[-1] if alike else next(iter(self._runs), None)
        if last is None:
            return self.baseline_seconds
        starting = self.compiled_seconds if self.is_compiled and not compiles(last) else 0.0
        return min(starting + self._again(last), self._foretold_seconds)

    @property
    def _foretold_seconds(self) -> float:
        """Without limit where too little is known."""
        findings = self._findings
        step = forecast_seconds(findings, findings.held) if findings.held != findings.baseline else None
        known = step is not None and findings.rate(findings.baseline) is not None
        return self.feed_seconds(findings.held, step) if known else math.inf

    @property
    def compiling_seconds(self) -> float:
        """What a step takes to be compiled: as the first one took. One that failed had got that far at most."""
        return max((*self._first_steps, *self._failed_steps), default=COMPILING_SECONDS)

    @property
    def compiled_seconds(self) -> float:
        """What the first step takes of one that has been compiled before."""
        return min([COMPILED_SECONDS, *self._first_steps])

    @property
    def is_compiled(self) -> bool:
        return self._findings.held.settings.compile != "none"

    @property
    def was_compiled(self) -> bool:
        return self._findings.baseline.settings.compile != "none"

    @property
    def _first_steps(self) -> list[float]:
        """Of those that are compiled. Compiling begins before the first step, with what it imports."""
        told = (record for _, record in self._findings.log if record.spec.settings.compile != "none")
        begun = [record.measurement for record in told if _begins_with_steps(record)]
        return [_start_seconds(each) for each in begun if each is not None]

    @property
    def _failed_steps(self) -> list[float]:
        told = (record for _, record in self._findings.log if compiles(record) and record.measurement is None)
        return [record.seconds for record in told if record.spec.kind not in ("load", "probe", "losses")]

    def _pair_seconds(self) -> float:
        """A pair on top of what is held; where that is compiled, the other step has to be compiled too."""
        alike = [seconds for pair, seconds in self._pairs() if compiles(pair) == self.is_compiled]
        if alike:
            return max(alike[-2:]) if self.is_compiled else min(alike[-2:])
        plain = min(2 * self.end_to_end_seconds, 2 * _STARTING_SECONDS + 3 * self._trial_seconds)
        return plain + self.compiled_seconds + self.compiling_seconds if self.is_compiled else plain

    def _pairs(self) -> list[tuple[TrialRecord, float]]:
        """Each pair and what it took, with the trials that followed where its arms did not fit the device together."""
        pairs: list[tuple[TrialRecord, float]] = []
        for _, record in self._findings.log:
            if record.spec.kind == "pair":
                pairs.append((record, record.seconds))
            elif record.spec.against is not None and pairs:
                pairs[-1] = (pairs[-1][0], pairs[-1][1] + record.seconds)
        return pairs

    def _again(self, record: TrialRecord) -> float:
        """What the same trial should take the next time, when what it compiled is on disk."""
        told = record.measurement
        if told is None or not compiles(record):
            return record.seconds
        compiling = max(0.0, _start_seconds(told) - self.compiled_seconds)
        return max(record.seconds - compiling, min(record.seconds, self.compiled_seconds))

    @property
    def _runs(self) -> list[TrialRecord]:
        """End to end, at the user's batch. An arm of a pair that ran apart is none."""
        kind, size = ("feed" if self._goal.has_data else "speed"), self._findings.baseline.settings.batch_size
        log = (record for _, record in self._findings.log)
        told = (record for record in log if record.spec.kind == kind and record.spec.against is None)
        return [record for record in told if record.spec.settings.batch_size == size]


def _loader(setup: Setup) -> tuple[str, str, int]:
    return setup.data, setup.settings.decoder, setup.settings.num_workers


def _loader_of(record: TrialRecord) -> tuple[str, str, int]:
    return _loader(Setup(data=record.spec.workload.data, settings=record.spec.settings))


def _begins_with_steps(record: TrialRecord) -> bool:
    """Whether its start is that of a model, and neither of a loader nor of data that are read before."""
    if record.spec.kind == "pair":
        return record.spec.feed.supply == "resident"
    return record.spec.kind not in ("load", "probe", "losses")


def _start_seconds(told: Measurement) -> float:
    return told.start_up_seconds + told.first_step_seconds


def compiles(record: TrialRecord) -> bool:
    arms = (record.spec.settings, record.spec.against)
    return any(each is not None and each.compile != "none" for each in arms)
