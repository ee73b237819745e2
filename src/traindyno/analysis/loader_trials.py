"""The trials of a loader study, sorted by what each was for."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_fit import read_parts
from traindyno.analysis.sustained import sustained
from traindyno.analysis.worker_choice import choose_count
from traindyno.analysis.worker_estimates import Known
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.loading import StageCost
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Settings, TrialKind, TrialRecord

REPEATED = 100
"""Repeats from here on are of the settings that won; those below belong to the comparisons of single knobs."""

_NOTABLE_DECODING = 0.02


class LoaderTrials(Record, frozen=True):
    """`probes` timed single processes, one per decoder; `probe` is the fastest. `searched` looked for the worker count,
    `compared` tried single knobs, `repeated` the settings that won, `restricted` had fewer CPUs.

    `with_model` says what is asked for: training fed by the loader, or the loader alone.
    """

    with_model: bool
    probes: tuple[TrialRecord, ...] = ()
    probe: TrialRecord | None = None
    searched: tuple[TrialRecord, ...] = ()
    compared: tuple[TrialRecord, ...] = ()
    repeated: tuple[TrialRecord, ...] = ()
    restricted: tuple[TrialRecord, ...] = ()

    @property
    def goal_kind(self) -> TrialKind:
        return "feed" if self.with_model else "load"

    @property
    def goal(self) -> tuple[TrialRecord, ...]:
        """Measured trials of what is asked for, in the search for the worker count."""
        return tuple(record for record in self.searched if record.spec.kind == self.goal_kind and record.measurement)

    @property
    def loads(self) -> tuple[TrialRecord, ...]:
        return tuple(record for record in self.searched if record.spec.kind == "load" and record.measurement)

    def processes_at(self, settings: Settings) -> tuple[TrialRecord, ...]:
        """The fresh processes that measured what is asked for at these very settings."""
        return tuple(
            record
            for record in (*self.goal, *self.compared, *self.repeated)
            if record.spec.settings == settings and record.spec.kind == self.goal_kind and record.measurement
        )


def read_loader_trials(history: Sequence[TrialRecord], batch_size: int, with_model: bool) -> LoaderTrials:
    """Sort the trials of one batch size; interrupted ones count for nothing."""
    records = [
        record for record in history if record.batch_size == batch_size and record.outcome is not Outcome.INTERRUPTED
    ]
    probes = [record for record in records if record.spec.kind == "probe"]
    probe = min((record for record in probes if record.measurement), key=usual_seconds, default=None)
    loaders = [record for record in records if record.spec.kind in ("load", "feed")]
    unrestricted = [record for record in loaders if record.spec.feed.cpus is None]
    return LoaderTrials(
        with_model=with_model,
        probes=tuple(probes),
        probe=probe,
        searched=tuple(record for record in unrestricted if record.spec.repeat == 0),
        compared=tuple(record for record in unrestricted if 0 < record.spec.repeat < REPEATED),
        repeated=tuple(record for record in unrestricted if record.spec.repeat >= REPEATED),
        restricted=tuple(record for record in loaders if record.spec.feed.cpus is not None),
    )


def known_from(trials: LoaderTrials, usable_cpus: float) -> Known | None:
    """What the search's trials say about every worker count; null before the probe has said something."""
    probe = () if trials.probe is None else (trials.probe,)
    parts = read_parts((*probe, *trials.searched), usable_cpus)
    if parts is None:
        return None
    return Known(parts=parts, loads=trials.loads, goal=trials.goal, alone=not trials.with_model)


def chosen_settings(trials: LoaderTrials) -> Settings | None:
    """The settings of the fewest workers within the interval of the best; null while nothing was measured."""
    if not trials.goal:
        return None
    count = choose_count([(record.spec.settings.num_workers, *rate_of(record)) for record in trials.goal])
    return msgspec.structs.replace(trials.goal[0].spec.settings, num_workers=count)


def decodes(stages: Sequence[StageCost]) -> bool:
    """Whether decoding is a notable part of the work; what is stored as pixels passes that stage in no time."""
    total = sum(stage.seconds for stage in stages)
    return any(stage.stage == "decode" and stage.seconds > _NOTABLE_DECODING * total for stage in stages)


def rate_of(record: TrialRecord) -> tuple[float, Interval]:
    """Examples per second that a trial sustained, with interval."""
    found = sustained(measurement_of(record))
    return found.examples_per_second, found.interval


def rate_interval(batch_size: int, seconds: Interval) -> Interval:
    """The interval of a rate from that of the time per batch."""
    low, high = seconds
    return batch_size / high, (batch_size / low if low > 0 else float("inf"))


def usual_seconds(record: TrialRecord) -> float:
    """The middle batch, for comparing decoders: what held up a single batch of one was not its decoding."""
    return measurement_of(record).step_seconds


def measurement_of(record: TrialRecord) -> Measurement:
    assert record.measurement is not None
    return record.measurement
