"""The parts of an input pipeline as separate trials measured them, put together for the event simulation.

A probe tells what a batch costs in one process, what the step takes with resident data, and what moving a batch takes.
What no trial has told yet is assumed.
"""

import math
from collections.abc import Sequence

import msgspec

from traindyno.analysis.intervals import median
from traindyno.analysis.loader_simulation import (
    Forecast,
    PipelineModel,
    simulate,
    simulate_epoch_end,
    simulate_first_batch,
)
from traindyno.analysis.sustained import sustained
from traindyno.core.base import Record
from traindyno.core.loading import GPU_DECODER, Loading
from traindyno.core.records import Settings, TrialRecord

ASSUMED_HAND_OFF_SECONDS = 0.0003
ASSUMED_LAUNCH_SECONDS = 0.015
ASSUMED_PINNED_BYTES_PER_SECOND = 5e9
# A worker beside its like is slower than a lone process: a little by itself, and more the more CPUs are busy.
USUAL_OVERHEAD = 0.05
USUAL_CROWDING = 0.15
# How the speed of a step on the CPU falls with its share of the CPUs, as a power: its threads wait for the slowest of
# them. Fitted to 14 settings of three models on two CPUs (median miss 2 %, where a fair share would miss by 26 %).
USUAL_SENSITIVITY = 3.5
_FEWEST_FOR_A_PATTERN = 8
_SHORTEST_LOAD = 1e-6


class LoaderParts(Record, frozen=True):
    """What the simulation is made from, all per batch.

    `overhead` and `crowding` are logarithms of how much longer a worker takes than the probe's process: always, and
    on top of that when every CPU has a busy worker. `step_seconds` is null without a model. `decode_seconds` is what a
    GPU that decodes takes, in a thread of its own and beside the step. `pinned_bytes_per_second` is assumed, and
    infinite once a run was faster than that would allow.
    """

    batch_size: int
    load_seconds: float
    load_cpu_share: float
    load_pattern: tuple[float, ...]
    asynchronous: bool
    cpus: float
    step_seconds: float | None = None
    step_threads: float = 1.0
    step_sensitivity: float = 1.0
    launch_seconds: float = 0.0
    transfer_seconds: float = 0.0
    decode_seconds: float = 0.0
    hand_off_seconds: float = ASSUMED_HAND_OFF_SECONDS
    batch_bytes: int | None = None
    pinned_bytes_per_second: float = ASSUMED_PINNED_BYTES_PER_SECOND
    overhead: float = USUAL_OVERHEAD
    crowding: float = USUAL_CROWDING

    def pipeline(self, settings: Settings, *, alone: bool, cpus: float | None = None) -> PipelineModel:
        """The loader at these settings, feeding the step or, if `alone`, one who always asks."""
        workers, load_seconds = settings.num_workers, max(_SHORTEST_LOAD, self.load_seconds)
        load_seconds *= math.exp(self.overhead) if workers else 1.0
        pin_seconds = (
            (self.batch_bytes or 0) / self.pinned_bytes_per_second if settings.pin_memory and workers else None
        )
        if self.decode_seconds and not alone:
            if workers:
                pin_seconds = max(pin_seconds or 0.0, self.decode_seconds)
            else:
                # The thread that decodes also loads, beside the main process, as a worker does.
                workers, load_seconds = 1, load_seconds + self.decode_seconds
        return PipelineModel(
            num_workers=workers,
            load_seconds=load_seconds,
            step_seconds=0.0 if alone else self.step_seconds or 0.0,
            load_cpu_share=self.load_cpu_share,
            load_pattern=self.load_pattern,
            prefetch_factor=settings.prefetch_factor,
            hand_off_seconds=self.hand_off_seconds,
            pin_seconds=pin_seconds,
            transfer_seconds=0.0 if alone else self.transfer_seconds,
            transfer="queued" if settings.pin_memory else "blocking",
            asynchronous=self.asynchronous and not alone,
            launch_seconds=self.launch_seconds,
            step_threads=1.0 if alone else self.step_threads,
            step_sensitivity=self.step_sensitivity,
            contention=math.expm1(self.crowding) / max(1.0, self.cpus - 1),
            cpus=cpus or self.cpus,
        )

    def forecast(self, settings: Settings, *, alone: bool, cpus: float | None = None) -> Forecast:
        return simulate(self.pipeline(settings, alone=alone, cpus=cpus))

    def epoch_end_seconds(self, settings: Settings, batches: int) -> float:
        """What an epoch of so many batches takes longer, as its workers begin it with nothing ahead."""
        return simulate_epoch_end(self.pipeline(settings, alone=False), batches)

    def first_batch_seconds(self, settings: Settings) -> float:
        """What loading the first batch takes once the workers have started, at least: by workers as fast as the probe's
        process, and a batch like all others.
        """
        unslowed = msgspec.structs.replace(self, overhead=0.0, crowding=0.0, load_pattern=(1.0,))
        return simulate_first_batch(unslowed.pipeline(settings, alone=True))


def measured_seconds(record: TrialRecord) -> float:
    """Seconds per batch that a trial sustained, which is what the simulation foretells."""
    assert record.measurement is not None
    return sustained(record.measurement).step_seconds


def probed_parts(records: Sequence[TrialRecord], usable_cpus: float) -> LoaderParts | None:
    """The parts as the probe tells them; of steps and hand-overs, as all trials do. Null before the probe."""
    probe = next((record for record in records if record.spec.kind == "probe" and record.measurement), None)
    if probe is None or probe.measurement is None or probe.measurement.loading is None:
        return None
    told = probe.measurement.loading
    wall = sum(stage.seconds for stage in told.stages)
    computing = sum(stage.cpu_seconds for stage in told.stages)
    steps = _all(records, "resident_step_seconds")
    loads = [record for record in records if record.spec.kind == "load"]
    hand_offs = _all(loads, "hand_off_seconds") or _all(records, "hand_off_seconds")
    asynchronous = probe.spec.settings.device != "cpu"
    threads = _step_threads(records, usable_cpus)
    moving, on_gpu = told.transfer_seconds or 0.0, probe.spec.settings.decoder == GPU_DECODER
    return LoaderParts(
        batch_size=probe.batch_size,
        load_seconds=measured_seconds(probe),
        load_cpu_share=min(1.0, computing / wall) if wall > 0 else 1.0,
        load_pattern=_pattern(probe),
        asynchronous=asynchronous,
        cpus=usable_cpus,
        step_seconds=median(steps) if steps else None,
        step_threads=1.0 if asynchronous else threads,
        step_sensitivity=1.0 if asynchronous or threads <= 1 else USUAL_SENSITIVITY,
        launch_seconds=_launch_seconds(told) if asynchronous else 0.0,
        transfer_seconds=0.0 if on_gpu else moving,
        decode_seconds=moving if on_gpu else 0.0,
        hand_off_seconds=median(hand_offs) if hand_offs else ASSUMED_HAND_OFF_SECONDS,
        batch_bytes=told.batch_bytes,
    )


def _launch_seconds(told: Loading) -> float:
    """What launching a step keeps the main process busy: no longer than the step takes."""
    launching = ASSUMED_LAUNCH_SECONDS if told.step_cpu_seconds is None else told.step_cpu_seconds
    return min(launching, told.resident_step_seconds or launching)


def _all(records: Sequence[TrialRecord], field: str) -> list[float]:
    loadings = [record.measurement.loading for record in records if record.measurement and record.measurement.loading]
    values = [getattr(loading, field) for loading in loadings]
    return [value for value in values if value is not None]


def _step_threads(records: Sequence[TrialRecord], usable_cpus: float) -> float:
    """The CPUs that a step on the CPU keeps busy; all of them if nothing was told."""
    for record in records:
        told = record.measurement.loading if record.measurement else None
        if told and told.step_cpu_seconds and told.resident_step_seconds:
            return min(max(1.0, told.step_cpu_seconds / told.resident_step_seconds), max(1.0, usable_cpus))
    return max(1.0, usable_cpus)


def _pattern(probe: TrialRecord) -> tuple[float, ...]:
    """Relative times of single batches, where the probe timed enough of them one by one."""
    assert probe.measurement is not None
    seconds = [block.seconds for block in probe.measurement.blocks if block.steps == 1]
    if len(seconds) < _FEWEST_FOR_A_PATTERN:
        return (1.0,)
    mean = sum(seconds) / len(seconds)
    return tuple(value / mean for value in seconds)
