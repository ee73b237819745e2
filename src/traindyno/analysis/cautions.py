"""Warnings about a whole study, from the conditions in which its trials ran."""

from collections.abc import Iterable, Sequence

from traindyno.analysis.probes import larger_than_data
from traindyno.analysis.sustained import counted_blocks
from traindyno.core.machine import POWER_CAP
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Conditions, TrialRecord
from traindyno.core.units import count_of, format_percent

LOOKS_STEADY = ("speed", "load", "feed", "pair", "anatomy", "scale")
FEWEST_TO_TELL = 5
"""Of the blocks that count, which are half or most of those that there are where steadiness is not shown."""
BUSY_FROM = 0.1
"""Share of the CPUs that others may take before a reader must know."""
BESIDE_A_GPU = "loading data and launching kernels then take longer, and differ from trial to trial"
BENIGN = (Outcome.OK, Outcome.OUT_OF_DEVICE_MEMORY, Outcome.OUT_OF_HOST_MEMORY)


def cautions(records: Sequence[TrialRecord]) -> tuple[str, ...]:
    """Sentences a reader must see before trusting the numbers."""
    timed = [record for record in records if record.spec.kind != "fit"]
    return (
        *_throttled(timed),
        *_power_capped(timed),
        *_foreign(records),
        *_other_work(timed),
        *_unsteady(records),
        *_left_out(records),
        *_own_loader(records),
        *_notes(records),
        *_failures(records),
    )


def remarks(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Sentences on what runs that learn were made with, each once: worth knowing, and no reason for distrust."""
    measured = [record.measurement for record in records if record.measurement is not None]
    runs = [run for each in measured for run in (each.learning, each.noise) if run is not None]
    return tuple(dict.fromkeys(remark for run in runs for remark in run.remarks))


def _throttled(records: Sequence[TrialRecord]) -> list[str]:
    slowed = [record for record in records if set(record.conditions.throttle_reasons) - {POWER_CAP}]
    reasons = sorted({reason for record in slowed for reason in record.conditions.throttle_reasons} - {POWER_CAP})
    if not slowed:
        return []
    return [f"The device was throttled in {len(slowed)} of {len(records)} trials: {', '.join(reasons)}."]


def _power_capped(records: Sequence[TrialRecord]) -> list[str]:
    """Not a fault: a large GPU under load draws all it may, and its sustained speed is what that allows."""
    capped = sum(POWER_CAP in record.conditions.throttle_reasons for record in records)
    if not capped:
        return []
    return [f"In {capped} of {len(records)} trials the GPU ran at its power limit, which set its clocks."]


def _foreign(records: Sequence[TrialRecord]) -> list[str]:
    most = max((record.conditions.foreign_processes or 0 for record in records), default=0)
    return [f"{most} other process(es) used the GPU while it was measured."] if most else []


def others_cpu_share(conditions: Iterable[Conditions]) -> float | None:
    """The most of the CPUs that others took beside any trial, if that is worth a word."""
    return max((each.other_cpu_share or 0.0 for each in conditions if _is_disturbed(each)), default=None)


def _is_disturbed(conditions: Conditions) -> bool:
    """Runs that others of the same study have in hand beside it are meant to be there."""
    return not conditions.runs_beside and (conditions.other_cpu_share or 0.0) >= BUSY_FROM


def _other_work(records: Sequence[TrialRecord]) -> list[str]:
    beside = [record for record in records if _is_disturbed(record.conditions)]
    most = others_cpu_share(record.conditions for record in beside)
    if most is None:
        return []
    on_cpu = any(record.spec.settings.device == "cpu" for record in beside)
    slows = "threads that wait for one another then slow down many times over" if on_cpu else BESIDE_A_GPU
    return [
        f"Other processes took up to {format_percent(most, 0)} of the CPUs beside {len(beside)} of "
        f"{count_of(len(records), 'trial')}: {slows}."
    ]


def _unsteady(records: Sequence[TrialRecord]) -> list[str]:
    timed = [record.measurement for record in records if record.spec.kind in LOOKS_STEADY and record.measurement]
    unsteady = [measurement for measurement in timed if not measurement.became_steady]
    few = [measurement for measurement in unsteady if len(counted_blocks(measurement)) < FEWEST_TO_TELL]
    others = len(unsteady) - len(few)
    told = []
    if others:
        told.append(f"{others} of {len(timed)} trials did not become steady: other work on this machine, or heat.")
    if few:
        told.append(
            f"{len(few)} of {len(timed)} trials had too few blocks of steps to tell whether they became steady, as "
            "trials of slow steps have."
        )
    return [f"{sentence} Give them more time with --trial-seconds." for sentence in told]


def _left_out(records: Sequence[TrialRecord]) -> list[str]:
    """Of all trials the one that left most examples out: they read the same data, some more of it than others."""
    measured = [record.measurement for record in records if record.measurement is not None]
    told = [each.loading for each in measured if each.loading is not None and each.loading.bad_examples]
    if not told:
        return []
    most = max(told, key=lambda loading: loading.bad_examples)
    were = "example was" if most.bad_examples == 1 else "examples were"
    such_as = "".join(f", such as {name}" for name in most.bad_names[:1])
    return [f"{most.bad_examples:,} {were} left out that could not be read{such_as}."]


def _own_loader(records: Sequence[TrialRecord]) -> list[str]:
    """A loader of the user's own that no trial was like: what it has must be named, or it is not what is compared."""
    told = [record.measurement.loading for record in records if record.measurement is not None]
    found = {(each.own_batch_size, each.own_workers) for each in told if each is not None and each.own_batch_size}
    tried = {(record.spec.settings.batch_size, record.spec.settings.num_workers) for record in records}
    return [
        f"The job's own DataLoader has batch_size={size} and num_workers={workers}, and no trial had both: to measure "
        f"it as it is, add --batch-size {size} --workers {workers}."
        for size, workers in sorted(found - tried)
    ]


def _notes(records: Sequence[TrialRecord]) -> list[str]:
    """What the trials themselves noted, each note once; with its batch sizes where the trials have several."""
    notes: dict[str, set[int]] = {}
    for record in records:
        for note in record.measurement.notes if record.measurement else ():
            notes.setdefault(note, set()).add(record.batch_size)
    told = sorted((sorted(sizes), note) for note, sizes in notes.items())
    if len({record.batch_size for record in records}) == 1:
        return [f"{_begun(note)}." for _, note in told]
    return [f"Batch {', '.join(map(str, sizes))}: {note}." for sizes, note in told]


def _begun(note: str) -> str:
    """As a sentence begins, unless it begins with the name of a file or a setting."""
    return f"{note[:1].upper()}{note[1:]}" if note.partition(" ")[0].isalpha() else note


def _failures(records: Sequence[TrialRecord]) -> list[str]:
    """Of trials that have nothing to tell but that; a long one that ended early has more."""
    return [
        f"Batch {record.batch_size}: {record.outcome.replace('_', ' ')}: {record.failure.message}"
        for record in records
        if record.outcome not in BENIGN
        and record.measurement is None
        and record.failure is not None
        and not larger_than_data(record)
    ]
