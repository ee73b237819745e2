"""The trials of a study of switches: pairs, losses, and what to do when two settings do not fit together."""

import msgspec

from traindyno.analysis.switch_effects import pair_apart
from traindyno.analysis.switch_findings import Tried
from traindyno.analysis.switch_losses import LARGEST_BATCH, STEPS
from traindyno.core.loading import Feed, Supply
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Budget, Pair, Settings, TrialRecord, TrialSpec
from traindyno.search.replaying import Trying, Wanted

TURNS_APART = 2
OUT_OF_MEMORY = (Outcome.OUT_OF_DEVICE_MEMORY, Outcome.OUT_OF_HOST_MEMORY)
ONE_PROCESS = "busy or unavailable"
"""What CUDA says to the second process where a GPU is set to have one at a time."""


def compare(
    template: TrialSpec, settings: Settings, against: Settings, supply: Supply, repeat: int, reason: str
) -> Trying[Tried]:
    """One pair; what does not fit together, or only just, is run in fresh processes that alternate."""
    spec = msgspec.structs.replace(
        template, kind="pair", settings=settings, against=against, feed=Feed(supply=supply), repeat=repeat
    )
    record = yield Wanted(spec=spec, reason=reason)
    if fits_apart(record):
        return (yield from _compare_apart(spec, reason))
    if record.measurement is not None and record.measurement.pair is not None:
        return Tried(pairs=(record.measurement.pair,))
    return Tried(failure=record.failure, of_baseline=is_of_baseline(record))


def _compare_apart(pair: TrialSpec, reason: str) -> Trying[Tried]:
    """A B A B. Each trial names what it is compared with, so that no other comparison shares it."""
    assert pair.against is not None
    pairs: list[Pair] = []
    for turn in range(TURNS_APART):
        baseline = yield _alone(pair, pair.against, pair.settings, turn, reason)
        if baseline.measurement is None:
            return Tried(failure=baseline.failure, of_baseline=True, apart=True)
        candidate = yield _alone(pair, pair.settings, pair.against, turn, reason)
        if candidate.measurement is None:
            return Tried(failure=candidate.failure, apart=True)
        pairs.append(pair_apart(baseline.measurement, candidate.measurement))
    return Tried(pairs=tuple(pairs), apart=True)


def _alone(pair: TrialSpec, settings: Settings, other: Settings, turn: int, reason: str) -> Wanted:
    kind = "speed" if pair.feed.supply == "resident" else "feed"
    repeat = pair.repeat * TURNS_APART + turn
    spec = msgspec.structs.replace(pair, kind=kind, settings=settings, against=other, repeat=repeat)
    return Wanted(spec=spec, reason=f"{reason}, alone on the device")


def fits_apart(record: TrialRecord) -> bool:
    """Whether each arm of a pair may run better alone: there was not memory enough for both, or one process is allowed.

    That is so too where both got through, but one only after the allocator had freed its cache, which takes time that
    the arm would not need by itself.
    """
    if record.measurement is None or (pair := record.measurement.pair) is None:
        told = record.failure.message if record.failure is not None else ""
        return record.outcome in OUT_OF_MEMORY or (record.outcome is Outcome.CUDA_FAULT and ONE_PROCESS in told)
    return any(arm.memory.allocator_retries for arm in (pair.baseline, pair.candidate))


def is_of_baseline(record: TrialRecord) -> bool:
    """Whether the baseline's arm failed: it says so itself, or died in a phase of its own."""
    phase = record.failure.phase if record.failure is not None else None
    return _details(record).get("arm") == "baseline" or (phase or "").startswith("baseline:")


def _details(record: TrialRecord) -> dict[str, str]:
    return record.failure.details if record.failure is not None else {}


def losses_spec(template: TrialSpec, settings: Settings, batch_size: int, seed: int = 0) -> TrialSpec:
    """A short run from a seed that tells every loss."""
    return msgspec.structs.replace(
        template,
        kind="losses",
        settings=msgspec.structs.replace(settings, batch_size=batch_size),
        budget=Budget(steps=STEPS),
        feed=Feed(supply="resident"),
        seed=template.seed + seed,
    )


def losses_batch(batch_size: int, parts: int) -> int:
    """A small batch that can be computed in as many parts as any of the settings asks for."""
    return max(parts, min(batch_size, LARGEST_BATCH) // parts * parts)
