"""Studies and runs that were cut short: what is said of them, and what is kept."""

import msgspec

from traindyno.core.learning import FIRST_STEP
from traindyno.core.records import TrialRecord

AT = {
    "device": "starting",
    "model": "building the model",
    "data": "waiting for its data",
    FIRST_STEP: "in its first step",
    "warm-up": "warming up",
}
"""What a trial does in the phases in which it may hang, or which may take longer than a budget."""

MACHINE_LOST = "machines"
WORDS = {"budget": "The time budget ended", "interrupted": "The study was stopped", MACHINE_LOST: "A machine was lost"}


def cut_warning(cut: str, trials: int) -> str:
    """What the answer of a study says that was cut short."""
    kept = "1 trial, which is kept" if trials == 1 else f"{trials} trials; all of them are kept"
    return f"{WORDS[cut]} after {kept}."


def without_cut(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """The warnings of a study that goes on, and so was not ended by what ended it last time."""
    return tuple(each for each in warnings if not each.startswith(tuple(WORDS.values())))


def where_time_went(phase: str) -> str:
    """What the time went into of a run that was cut in this phase, before it had learnt anything."""
    if phase == FIRST_STEP:
        return "it went into start-up and the first step, which was not finished"
    return "all of it went into start-up, before the first step"


def where_it_was(phase: str | None) -> str:
    """Where a trial was that was cut in this phase; nothing where that tells nothing."""
    return "" if phase not in AT else f": the trial was still {AT[phase]}"


def run_seconds(record: TrialRecord) -> float:
    """How long a run went on that tells of itself even when it is cut short; 0 for all others."""
    told = record.measurement
    if told is None or told.soak is None:
        return 0.0 if told is None or told.learning is None else told.learning.seconds
    return told.soak.blocks[-1].end_seconds


def new_notes(longer: TrialRecord, shorter: TrialRecord) -> tuple[str, ...]:
    """What only the later, shorter run has to say."""
    if longer.measurement is None or shorter.measurement is None:
        return ()
    return tuple(note for note in shorter.measurement.notes if note not in longer.measurement.notes)


def kept_beside(longer: TrialRecord, shorter: TrialRecord) -> TrialRecord:
    """The longer run with the notes of the later, shorter one, whose state it is that lies in the folder now."""
    told = longer.measurement
    if told is None or shorter.measurement is None:
        return longer
    learning = None if told.learning is None else msgspec.structs.replace(told.learning, checkpoint=None)
    notes = (*told.notes, *new_notes(longer, shorter))
    return msgspec.structs.replace(longer, measurement=msgspec.structs.replace(told, notes=notes, learning=learning))
