"""What would make training wait less, the cheapest first, each with the gain that the event simulation foretells."""

from collections.abc import Iterable, Iterator

import msgspec

from traindyno.analysis.loader_parts import LoaderParts
from traindyno.analysis.loader_trials import decodes
from traindyno.analysis.slowed_steps import SHARED
from traindyno.analysis.stall_causes import HAND_OFF, TRANSFER
from traindyno.analysis.stall_commands import prepare_command, stalls_command, throughput_command
from traindyno.analysis.stall_verdicts import UNSETTLED
from traindyno.analysis.worker_choice import fewest_near_best, worker_counts
from traindyno.analysis.worker_estimates import Known, estimate_counts
from traindyno.core.answers import Remedy
from traindyno.core.base import Record
from traindyno.core.loading import Decoder, StageCost
from traindyno.core.records import Settings
from traindyno.core.requests import StallsRequest

_WORTH_NAMING = 1.03
# Rules of thumb for what is not measured here; every sentence that rests on one says so.
_DECODING = {"pil": 1.0, "torchvision": 0.9, "simplejpeg": 0.8}
_PINNED_TRANSFER = 0.4
_PREPARED_AUGMENT = 0.2
_FETCH_FROM_RAM = 0.1
_GPU_DECODED_PER_SECOND = 15_000.0
_UNPREPARED = ("folder:", "shards:")
_BY_INDEX = ("folder:", "cifar10:", "prepared:")


class Patient(Record, frozen=True):
    """What the remedies are for. `halved_ratio` is the step at half the batch over that at the whole.

    `most` is the speedup that resident data would give: no remedy of loading can give more. `sources` are other sources
    that were run, with the speedup they gave. `most_workers` can share the data.
    """

    request: StallsRequest
    settings: Settings
    bound: str
    parts: LoaderParts
    stages: tuple[StageCost, ...]
    most: float
    halved_ratio: float | None = None
    sources: tuple[tuple[str, float], ...] = ()
    most_workers: int | None = None

    def gain(self, parts: LoaderParts, settings: Settings) -> float:
        """How many times as fast a step gets with other parts or settings."""
        now = self.parts.forecast(self.settings, alone=False).step_seconds
        return min(self.most, now / parts.forecast(settings, alone=False).step_seconds)

    def without(self, **shares: float) -> LoaderParts:
        """The parts with stages at the given shares of what they cost."""
        total = sum(stage.seconds for stage in self.stages)
        left = sum(stage.seconds * shares.get(stage.stage, 1.0) for stage in self.stages)
        load = self.parts.load_seconds * (left / total if total > 0 else 1.0)
        return msgspec.structs.replace(self.parts, load_seconds=load)


def find_remedies(patient: Patient) -> tuple[Remedy, ...]:
    """Settings first, then other software, other data, other hardware; what gains nothing is left out."""
    if patient.bound == "launch":
        return tuple(_larger_batch(patient))
    if patient.bound in ("compute", UNSETTLED):
        return ()
    if patient.bound.endswith(SHARED):
        larger = _larger_batch(patient) if patient.bound.startswith("launch") else ()
        return tuple(_worth_naming((*_fewer_workers(patient), *larger)))
    found = (
        *_pinning(patient),
        *_worker_count(patient),
        *_decoders(patient),
        *_measured_sources(patient),
        *_memory(patient),
        *_preparing(patient),
        *_gpu_decoding(patient),
        *_more_cpus(patient),
    )
    return tuple(_worth_naming(found))


def _worth_naming(found: Iterable[Remedy]) -> Iterator[Remedy]:
    return (remedy for remedy in found if remedy.predicted_speedup >= _WORTH_NAMING)


def _fewer_workers(patient: Patient) -> Iterator[Remedy]:
    """What leaves a step that nobody keeps waiting more of the CPUs."""
    if _best_workers(patient, patient.parts).num_workers < patient.settings.num_workers:
        yield from _worker_count(patient)


def _pinning(patient: Patient) -> Iterator[Remedy]:
    if patient.bound != TRANSFER or patient.settings.pin_memory or not patient.parts.asynchronous:
        return
    settings = msgspec.structs.replace(patient.settings, pin_memory=True)
    parts = msgspec.structs.replace(patient.parts, transfer_seconds=_PINNED_TRANSFER * patient.parts.transfer_seconds)
    yield Remedy(
        action="pin the loader's batches (pinned copies are usually 2.5 times as fast)",
        predicted_speedup=patient.gain(parts, settings),
        command=stalls_command(patient.request, settings),
    )


def _worker_count(patient: Patient) -> Iterator[Remedy]:
    """Another worker count, where the simulation finds a better one."""
    settings = _best_workers(patient, patient.parts)
    count = settings.num_workers
    if count == patient.settings.num_workers:
        return
    yield Remedy(
        action=f"use {count} worker{'' if count == 1 else 's'} instead of {patient.settings.num_workers}",
        predicted_speedup=patient.gain(patient.parts, settings),
        command=stalls_command(patient.request, settings),
    )


def _best_workers(patient: Patient, parts: LoaderParts) -> Settings:
    known, most = Known(parts=parts, loads=(), goal=(), alone=False), patient.most_workers
    counts = [count for count in worker_counts(parts.cpus) if most is None or count <= most]
    best = fewest_near_best(estimate_counts(known, counts, patient.settings))
    return msgspec.structs.replace(patient.settings, num_workers=best.num_workers)


def _decoders(patient: Patient) -> Iterator[Remedy]:
    """The fastest decoder on the CPU, if it is not in use."""
    now, best = patient.settings.decoder, min(_DECODING, key=lambda name: _DECODING[name])
    if now not in _DECODING or now == best or not decodes(patient.stages):
        return
    ratio = _DECODING[best] / _DECODING[now]
    decoder: Decoder = "simplejpeg"
    settings = msgspec.structs.replace(patient.settings, decoder=decoder)
    yield Remedy(
        action=f"decode with {decoder} (pip install {decoder}; usually {1 / ratio:.1f} times as fast as {now})",
        predicted_speedup=patient.gain(patient.without(decode=ratio), patient.settings),
        command=stalls_command(patient.request, settings),
    )


def _measured_sources(patient: Patient) -> Iterator[Remedy]:
    """What was measured needs no prediction."""
    for source, speedup in patient.sources:
        yield Remedy(
            action=f"read from {source}, as measured here",
            predicted_speedup=speedup,
            command=stalls_command(patient.request, patient.settings, data=source),
        )


def _memory(patient: Patient) -> Iterator[Remedy]:
    data = patient.request.workload.data
    if patient.bound != "data: fetch" or not data.startswith(_BY_INDEX) or _was_run(patient, "memory:"):
        return
    yield Remedy(
        action="hold the data in RAM (assumed: fetching then takes a tenth)",
        predicted_speedup=patient.gain(patient.without(fetch=_FETCH_FROM_RAM), patient.settings),
        command=stalls_command(patient.request, patient.settings, data=f"memory:{data}"),
    )


def _preparing(patient: Patient) -> Iterator[Remedy]:
    unprepared = patient.request.workload.data.startswith(_UNPREPARED)
    if not unprepared or not decodes(patient.stages) or _was_run(patient, "prepared:"):
        return
    parts = patient.without(decode=0.0, augment=_PREPARED_AUGMENT)
    yield Remedy(
        action="decode once into a prepared set, from which workers only crop (assumed: in a fifth of the time)",
        predicted_speedup=patient.gain(parts, patient.settings),
        command=prepare_command(patient.request),
    )


def _gpu_decoding(patient: Patient) -> Iterator[Remedy]:
    if not patient.parts.asynchronous or patient.settings.decoder == "nvjpeg" or not decodes(patient.stages):
        return
    parts = msgspec.structs.replace(
        patient.without(decode=0.0, augment=0.0),
        decode_seconds=patient.settings.batch_size / _GPU_DECODED_PER_SECOND,
    )
    decoder: Decoder = "nvjpeg"
    settings = msgspec.structs.replace(patient.settings, decoder=decoder)
    yield Remedy(
        action="decode on the GPU with nvjpeg (assumed: 15,000 images/s, as on a large one)",
        predicted_speedup=patient.gain(parts, patient.settings),
        command=stalls_command(patient.request, settings),
    )


def _more_cpus(patient: Patient) -> Iterator[Remedy]:
    """Twice the CPUs with as many workers as they can use, where the CPUs there are do not suffice.

    How much workers slow each other down when all CPUs are busy is assumed to stay the same.
    """
    if not patient.bound.startswith("data:") or patient.bound == f"data: {HAND_OFF}":
        return
    cpus = patient.parts.cpus
    parts = msgspec.structs.replace(patient.parts, cpus=2 * cpus)
    settings = _best_workers(patient, parts)
    gain = patient.gain(parts, settings)
    if gain < _WORTH_NAMING * patient.gain(patient.parts, _best_workers(patient, patient.parts)):
        return
    yield Remedy(
        action=f"give the job {2 * cpus:g} CPUs instead of {cpus:g}, and {settings.num_workers} workers",
        predicted_speedup=gain,
        command=None,
    )


def _larger_batch(patient: Patient) -> Iterator[Remedy]:
    """If half the batch takes nearly as long, so does most of the whole one whatever its size; twice costs the rest."""
    if patient.halved_ratio is None:
        return
    fixed = min(1.0, max(0.0, 2 * patient.halved_ratio - 1))
    yield Remedy(
        action=f"use a batch of {2 * patient.settings.batch_size}",
        predicted_speedup=2 / (2 - fixed),
        command=throughput_command(patient.request),
    )


def _was_run(patient: Patient, scheme: str) -> bool:
    return any(source.startswith(scheme) for source, _ in patient.sources)
