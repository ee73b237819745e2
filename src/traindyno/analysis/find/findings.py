"""What a search has found so far. The strategy writes it down as it goes; the answer is drawn from it."""

from dataclasses import dataclass, field

from traindyno.analysis.find.rates import rate_of, resident_of
from traindyno.analysis.find.rounds import Entry
from traindyno.analysis.intervals import median
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.probes import MOST_WORKERS
from traindyno.analysis.sustained import Rate
from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.switch_findings import Tried
from traindyno.analysis.switch_losses import LossCheck
from traindyno.core.answers.find import Attempt
from traindyno.core.answers.interval import Interval
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Memory, Pair, Settings, TrialRecord
from traindyno.core.setups import Setup, step_settings

Effect = tuple[float, Interval]
"""A ratio with its interval."""

Supplier = tuple[str, str]
"""Where examples come from, and how they are decoded."""


ENOUGH_FAILED = 2
"""Runs end to end from a source and decoder that fail, and none that does not: others would fail, too."""


@dataclass
class Findings:
    """`held` is the best way to train at the user's own batch so far, `free` the best with any batch.

    - `log` are all trials with the part of the search they belong to; `feeds` ran end to end before the last rounds.
    - `resident` are seconds per step by the settings that a step depends on, `memory` is what it took; `timed` are
      those that were timed by themselves, and not by a pair alone.
    - `pair_ratios` are what pairs say: seconds of a step ÷ seconds of the one it took turns with.
    - `probes` and `loads` are by supplier; `unusable` are suppliers that failed.
    - `compared` are the pairs of switches so far, which tell how far processes differ.
    - `members` are the switches adopted, `effects` what the pairs showed that spoke for them, `ratios` what the step
      would lose without one of them.
    - `loss_checks` and `fits` say of a step whether its losses agree, and whether it ran with the margin of memory;
      `spoiling` are switches and values that were given up for their losses.
    - `noise` is the gradients' noise scale, for a search that asks for the time to the same loss; null for others. It
      was read in runs of `noise_share` of training's length.
    - `entries` take part in the last rounds, the baseline first. `ended` says that nothing more is to be measured,
      and `seconds_left` what is then left of the budget; null without one.
    """

    baseline: Setup
    held: Setup
    usable_cpus: float
    has_data: bool
    trains: bool = True
    free: Setup | None = None
    baseline_failure: TrialRecord | None = None
    log: list[tuple[str, TrialRecord]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    feeds: dict[Setup, list[TrialRecord]] = field(default_factory=dict)
    resident: dict[Settings, float] = field(default_factory=dict)
    timed: set[Settings] = field(default_factory=set)
    pair_ratios: dict[tuple[Settings, Settings], list[float]] = field(default_factory=dict)
    memory: dict[Settings, Memory] = field(default_factory=dict)
    probes: dict[Supplier, TrialRecord] = field(default_factory=dict)
    loads: dict[Supplier, list[TrialRecord]] = field(default_factory=dict)
    anatomies: dict[Setup, TrialRecord] = field(default_factory=dict)
    unusable: set[Supplier] = field(default_factory=set)
    compared: list[Tried] = field(default_factory=list)
    members: tuple[Candidate, ...] = ()
    effects: list[Effect] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)
    loss_checks: dict[Settings, LossCheck] = field(default_factory=dict)
    spoiling: set[tuple[str, object]] = field(default_factory=set)
    fits: dict[Settings, bool] = field(default_factory=dict)
    noise: NoiseEstimate | None = None
    noise_share: float = 1.0
    entries: list[Entry] = field(default_factory=list)
    ended: bool = False
    seconds_left: float | None = None

    @property
    def examples_in_data(self) -> int | None:
        """How many there are, once a trial has told."""
        told = [record.measurement for _, record in self.log if record.measurement is not None]
        return next((each.examples_in_data for each in told if each.examples_in_data is not None), None)

    def most_workers(self, data: str) -> int | None:
        """How many workers may share a source, where a trial was refused for having more."""
        failures = (record.failure for _, record in self.log if record.spec.workload.data == data)
        told = (each.details.get(MOST_WORKERS) for each in failures if each is not None)
        return min((int(each) for each in told if each is not None), default=None)

    @property
    def may_lay_out(self) -> bool:
        """Whether an input or a weight has four dimensions, as far as a trial has told: a memory format is about
        these.
        """
        told = (record.measurement for _, record in self.log)
        return not any(each is not None and each.has_images is False for each in told)

    @property
    def noise_scale(self) -> float | None:
        return None if self.noise is None else self.noise.value

    @property
    def spent_seconds(self) -> float:
        return sum(record.seconds for _, record in self.log)

    @property
    def has_tried(self) -> bool:
        """Whether any change has been measured."""
        return any(attempt.trials for attempt in self.attempts)

    def note_feed(self, setup: Setup, record: TrialRecord) -> None:
        """A run end to end; it also says what its step takes with resident data."""
        self.feeds.setdefault(setup, []).append(record)
        if record.measurement is None:
            return
        self.memory[step_settings(setup.settings)] = record.measurement.memory
        self.note_resident(record)

    def note_resident(self, record: TrialRecord) -> None:
        """What a trial says of a step on resident data, if it does.

        What disturbs a process only ever slows it down: of several readings the shortest counts. They take the place
        of what pairs have foretold, whose ratios were chosen for being large.
        """
        if record.measurement is None:
            return
        resident, step = resident_of(record.measurement), step_settings(record.spec.settings)
        if record.spec.kind in ("speed", "fit"):
            self.memory[step] = record.measurement.memory
        seconds = record.measurement.step_seconds if record.spec.kind == "speed" else None
        seconds = seconds if resident is None else resident.step_seconds
        if seconds is not None:
            known = self.resident.get(step, seconds) if step in self.timed else seconds
            self.resident[step] = min(seconds, known)
            self.timed.add(step)

    def note_pair(self, settings: Settings, against: Settings, pair: Pair) -> None:
        """A pair says what both of its steps take; what took turns is comparable, so that one scale is kept.

        Of several pairs the middle one counts, until the step has been timed by itself.
        """
        candidate, other = step_settings(settings), step_settings(against)
        ratios = self.pair_ratios.setdefault((candidate, other), [])
        ratios.append(pair.candidate.step_seconds / pair.baseline.step_seconds)
        known = self.resident.setdefault(other, pair.baseline.step_seconds)
        if candidate not in self.timed:
            self.resident[candidate] = known * median(ratios)
        self.memory[step_settings(settings)] = pair.candidate.memory

    def note_untried(self, attempt: Attempt) -> None:
        """Once is enough: of several reasons the last."""
        if attempt not in self.attempts:
            told = (attempt.side, attempt.change)
            self.attempts = [each for each in self.attempts if each.trials or (each.side, each.change) != told]
            self.attempts.append(attempt)

    def is_usable(self, supplier: Supplier) -> bool:
        """Whether a supplier may yet serve: not one that could not be probed, or goes on failing."""
        return supplier not in self.unusable and not self.goes_on_failing(supplier)

    def goes_on_failing(self, supplier: Supplier) -> bool:
        """Whether runs from a supplier failed, and none did not."""
        tried = [records for setup, records in self.feeds.items() if (setup.data, setup.settings.decoder) == supplier]
        failed = [record.measurement is None for records in tried for record in records]
        return len(failed) >= ENOUGH_FAILED and all(failed)

    def step_goes_on_failing(self, settings: Settings) -> bool:
        """Whether runs end to end with this step failed, whatever fed it, and none did not; once is enough where the
        device's memory was too small.
        """
        step = step_settings(settings)
        ran = [record for setup, each in self.feeds.items() if step_settings(setup.settings) == step for record in each]
        full = any(record.outcome == Outcome.OUT_OF_DEVICE_MEMORY for record in ran)
        return all(record.measurement is None for record in ran) and (full or len(ran) >= ENOUGH_FAILED)

    def forget_prediction(self, change: str) -> None:
        """What the simulation said of a change before, with another step, no longer counts."""
        self.attempts = [each for each in self.attempts if not each.predicted or each.change != change]

    def forget_untried(self, change: str) -> None:
        """What was not tried or ruled out before has been tried by now."""
        self.attempts = [each for each in self.attempts if each.trials or each.adopted or each.change != change]

    def rate(self, setup: Setup) -> Rate | None:
        """What a way to train sustained before the last rounds; null if it has not run, or failed."""
        records = [record for record in self.feeds.get(setup, ()) if record.measurement is not None]
        return rate_of(records) if records else None

    def runs(self, setup: Setup) -> list[TrialRecord]:
        """The runs end to end of a way to train: those of the last rounds, or else the ones before."""
        entry = next((entry for entry in self.entries if entry.setup == setup and entry.measured), None)
        before = [record for record in self.feeds.get(setup, ()) if record.measurement is not None]
        return before if entry is None else entry.measured

    def agrees(self, settings: Settings) -> bool | None:
        """Whether the losses of a step agree with the baseline's; null where they were not looked at.

        What was given up for its losses is not taken up again with other switches.
        """
        step = step_settings(settings)
        if not self.trains or step == step_settings(self.baseline.settings):
            return True
        check = self.loss_checks.get(step)
        if check is not None:
            return check.sound
        return False if any(getattr(settings, switch) == value for switch, value in self.spoiling) else None

    def memory_share(self, settings: Settings) -> float | None:
        """What a step held of the device's memory at most; null where that is not known, as on a CPU."""
        memory = self.memory.get(step_settings(settings))
        total = None if memory is None else memory.device_total_bytes or memory.limit_bytes
        if memory is None or total is None or memory.peak_reserved_bytes is None:
            return None
        return memory.peak_reserved_bytes / total

    def resident_seconds(self, settings: Settings) -> float | None:
        return self.resident.get(step_settings(settings))
