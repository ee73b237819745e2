"""What the event simulation foretells of each run from parts that were measured separately."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_fit import read_parts
from traindyno.analysis.loader_parts import LoaderParts
from traindyno.analysis.stall_runs import (
    BYTES_ONLY,
    DECODE_ONLY,
    HOST_CACHED,
    LOADER_ALONE,
    PROBE,
    RESIDENT,
    WARM,
    Runs,
    measured,
    source_name,
)
from traindyno.core.loading import StageCost
from traindyno.core.records import Settings

_DEPTHS = {BYTES_ONLY: ("fetch", "collate"), DECODE_ONLY: ("fetch", "decode", "collate")}


def parts_of(runs: Runs, usable_cpus: float, launch_bound: bool, source: str = "") -> LoaderParts | None:
    """The parts by the probe of a source and by how far the loader alone fell short of it.

    Where steps are launched no faster than they run, launching keeps the main process busy all the time.
    """
    probe = measured(runs, f"{PROBE} {source}" if source else PROBE)
    main_probe = measured(runs, PROBE)
    main = read_parts((*main_probe, *measured(runs, LOADER_ALONE)), usable_cpus)
    parts = read_parts(probe, usable_cpus)
    if parts is None or main is None:
        return None
    launch = parts.step_seconds if launch_bound and parts.step_seconds is not None else parts.launch_seconds
    return msgspec.structs.replace(
        parts,
        overhead=main.overhead,
        crowding=main.crowding,
        hand_off_seconds=main.hand_off_seconds,
        launch_seconds=launch if parts.asynchronous else 0.0,
    )


def predict_runs(
    runs: Runs,
    parts: LoaderParts,
    settings: Settings,
    stages: Sequence[StageCost],
    usable_cpus: float,
    also: Sequence[str] = (),
) -> dict[str, float]:
    """Seconds per step by run, for those that the parts say something about."""
    alone = _unfitted(runs, usable_cpus) or parts
    predicted = {
        HOST_CACHED: _cached(parts, settings),
        WARM: parts.forecast(settings, alone=False).step_seconds,
        LOADER_ALONE: alone.forecast(settings, alone=True).step_seconds,
    }
    if parts.step_seconds is not None:
        predicted[RESIDENT] = parts.step_seconds
    total = sum(stage.seconds for stage in stages)
    for name, reached in _DEPTHS.items():
        share = sum(stage.seconds for stage in stages if stage.stage in reached) / total if total > 0 else 1.0
        shallow = msgspec.structs.replace(alone, load_seconds=alone.load_seconds * share)
        predicted[name] = shallow.forecast(settings, alone=True).step_seconds
    for source in also:
        name = source_name(source, also)
        other = parts_of(runs, usable_cpus, launch_bound=False, source=name)
        if other is not None:
            predicted[name] = other.forecast(settings, alone=False).step_seconds
    return {name: seconds for name, seconds in predicted.items() if measured(runs, name)}


def _unfitted(runs: Runs, usable_cpus: float) -> LoaderParts | None:
    """The parts before the loader alone was seen, so that it can be foretold."""
    return read_parts(measured(runs, PROBE), usable_cpus)


def _cached(parts: LoaderParts, settings: Settings) -> float:
    """Batches that are there at once and only have to be moved."""
    ready = msgspec.structs.replace(parts, load_seconds=0.0)
    return ready.forecast(msgspec.structs.replace(settings, num_workers=0), alone=False).step_seconds
