"""Whether a loader's batches in flight fit shared memory, main memory and the limit of open files, before it runs."""

import msgspec

from traindyno.core.base import Record
from traindyno.core.errors import TraindynoError
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.units import format_bytes

# Per worker: two queues, its log and its sentinel on either side; per batch in flight: one descriptor for each tensor.
_FILES_PER_WORKER = 8
_TENSORS_PER_BATCH = 2
_FILES_OF_THE_PROCESS = 64
_WORKER_BYTES = 64 * 2**20


class LoaderRoom(Record, frozen=True):
    """What there is to take; `most_workers` can share the data. Unknown is null and refuses nothing."""

    shared_free_bytes: int | None = None
    available_bytes: int | None = None
    open_files: int | None = None
    most_workers: int | None = None


def with_data(room: LoaderRoom, probe: TrialRecord | None) -> LoaderRoom:
    """The room that the data leaves, as its probe told."""
    told = probe.measurement.loading if probe is not None and probe.measurement is not None else None
    return room if told is None else msgspec.structs.replace(room, most_workers=told.most_workers)


def batches_in_flight(settings: Settings) -> int:
    """The batches that exist at once: those being made or waiting, and the one in use."""
    return settings.num_workers * settings.prefetch_factor + 1


def refuse_loader(
    settings: Settings, batch_bytes: int | None, room: LoaderRoom, loaders: int = 1
) -> TraindynoError | None:
    """Why these settings cannot run, with what to change; null when they should fit.

    `loaders` of the same kind share the machine's memory, each in a process with open files of its own.
    """
    return (
        _shares(settings, room.most_workers)
        or _shared_memory(settings, batch_bytes or 0, room.shared_free_bytes, loaders)
        or _main_memory(settings, batch_bytes or 0, room.available_bytes, loaders)
        or _open_files(settings, room.open_files)
    )


def _shares(settings: Settings, most: int | None) -> TraindynoError | None:
    """Data in shards has at most one worker for each."""
    count = settings.num_workers
    if most is None or count <= most:
        return None
    shards = f"{most} shard{'' if most == 1 else 's'}"
    return TraindynoError(
        f"{count} workers cannot share {shards}", "use no more workers than shards, or write the data in more of them"
    )


def _shared_memory(settings: Settings, batch_bytes: int, free: int | None, loaders: int) -> TraindynoError | None:
    """Workers hand batches over in /dev/shm; a loader without workers does not use it."""
    batches = loaders * batches_in_flight(settings)
    needed = batches * batch_bytes if settings.num_workers else 0
    if free is None or needed <= free:
        return None
    gibibytes = -(-needed * 5 // 4 // 2**30)
    return TraindynoError(
        f"{_named(settings, loaders)} keep {batches} batches of {format_bytes(batch_bytes)} in shared "
        f"memory, {format_bytes(needed)} in all, and /dev/shm has {format_bytes(free)} free",
        f"enlarge it (docker: --shm-size {max(1, gibibytes)}g), or use "
        f"{_fewer_workers(settings, free // loaders, batch_bytes)}a smaller batch",
    )


def _main_memory(settings: Settings, batch_bytes: int, available: int | None, loaders: int) -> TraindynoError | None:
    """Batches in flight, one more that each worker is making, and what a worker takes by itself."""
    workers = settings.num_workers
    needed = loaders * ((batches_in_flight(settings) + workers) * batch_bytes + workers * _WORKER_BYTES)
    if available is None or needed <= available:
        return None
    return TraindynoError(
        f"{_named(settings, loaders)} need about {format_bytes(needed)} of memory, and {format_bytes(available)} are "
        "available",
        "use fewer workers or a smaller batch, or free memory",
    )


def _open_files(settings: Settings, limit: int | None) -> TraindynoError | None:
    """Every tensor in flight and every worker's pipes hold descriptors open in the main process."""
    if settings.num_workers == 0:
        return None
    tensors = _TENSORS_PER_BATCH * batches_in_flight(settings)
    needed = _FILES_OF_THE_PROCESS + _FILES_PER_WORKER * settings.num_workers + tensors
    if limit is None or needed <= limit:
        return None
    return TraindynoError(
        f"{_named(settings)} may hold {needed} files open, and the limit is {limit}",
        f"raise it with `ulimit -n {max(4096, 2 * needed)}`, or use fewer workers",
    )


def _fewer_workers(settings: Settings, free: int, batch_bytes: int) -> str:
    fitting = (free // batch_bytes - 1) // settings.prefetch_factor
    if fitting < 1:
        return "no workers at all, or "
    return f"at most {fitting} worker{'' if fitting == 1 else 's'}, or "


def _named(settings: Settings, loaders: int = 1) -> str:
    count, each = settings.num_workers, "" if loaders == 1 else f" in each of {loaders} processes"
    if count == 0:
        return f"the batches loaded without workers{each}"
    return f"{count} worker{'' if count == 1 else 's'} with prefetch factor {settings.prefetch_factor}{each}"
