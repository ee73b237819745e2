"""What a loader may take is asked before each of its trials: a clear refusal instead of a bus error in a worker."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from traindyno.analysis.loader_budget import LoaderRoom, refuse_loader
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec
from traindyno.machine.limits import open_files
from traindyno.machine.memory import host_memory
from traindyno.runner.protocol import Runner, Watcher
from traindyno.runner.ray_runner import RayRunner


def loader_room() -> LoaderRoom:
    """Shared memory, memory and file descriptors, as they are now."""
    memory = host_memory()
    return LoaderRoom(
        shared_free_bytes=memory.shared_free_bytes, available_bytes=memory.available_bytes, open_files=open_files()[0]
    )


class RoomyRunner:
    """A runner that refuses a loader for which there is no room. What a batch takes is known once a trial has told."""

    def __init__(self, runner: Runner, earlier: Sequence[TrialRecord]) -> None:
        self.beneath = runner
        self._earlier = earlier
        self.simulated = runner.simulated
        # What there is on another machine is not known here.
        self._knows_room = not (runner.simulated or isinstance(runner, RayRunner))

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        refused = self._refusal(spec) if self._knows_room else None
        return refused or self.beneath.run(spec, watcher, log_path)

    def close(self) -> None:
        self.beneath.close()

    def _refusal(self, spec: TrialSpec) -> TrialRecord | None:
        settings = _workers_of(spec)
        if settings is None:
            return None
        room, needed, (loaders, ranks) = loader_room(), batch_bytes(spec, self._earlier), _loaders(spec)
        needed = None if needed is None else needed // ranks
        error = refuse_loader(settings, needed, room, loaders)
        if error is None:
            return None
        short_of_memory = refuse_loader(settings, needed, LoaderRoom(available_bytes=room.available_bytes), loaders)
        outcome = Outcome.OUT_OF_HOST_MEMORY if short_of_memory else Outcome.OUT_OF_SHARED_MEMORY
        failure = Failure(outcome=outcome, message=error.message, remedy=error.hint or "", phase="before the start")
        return TrialRecord(spec=spec, outcome=outcome, seconds=0.0, failure=failure)


def _loaders(spec: TrialSpec) -> tuple[int, int]:
    """The loaders on this machine, one for each of its ranks, and those of all machines that share the batch."""
    return (1, 1) if spec.group is None else (spec.group.devices // spec.group.nodes, spec.group.devices)


def batch_bytes(spec: TrialSpec, earlier: Sequence[TrialRecord]) -> int | None:
    """What one batch takes at most, by trials of whole examples from the same data; null before any has told."""
    told = [
        (record.batch_size, record.measurement.loading.batch_bytes)
        for record in earlier
        if record.measurement is not None
        and record.measurement.loading is not None
        and record.spec.feed.depth == "examples"
        and record.spec.workload.data == spec.workload.data
    ]
    taken = [taken * spec.settings.batch_size // size for size, taken in told if taken is not None]
    return max(taken, default=None)


def _workers_of(spec: TrialSpec) -> Settings | None:
    """The loader that a trial starts; null for one that loads nothing. A probe hands its batch over by one worker."""
    if spec.kind == "probe":
        return msgspec.structs.replace(spec.settings, num_workers=1, prefetch_factor=2)
    return spec.settings if spec.kind in ("load", "feed") or spec.feed.supply == "loader" else None
