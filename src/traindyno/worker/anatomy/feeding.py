"""Fed steps of one job, with marks or without, over one optimiser and one supply."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from traindyno.core.loading import Loading
from traindyno.core.records import TrialSpec
from traindyno.worker.anatomy.instruments import MarkedWaits
from traindyno.worker.batches import host_bytes
from traindyno.worker.channel import Channel
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.loadable import loadable
from traindyno.worker.data.placed import PlacedSupply, Supply
from traindyno.worker.data.supply import CachedSupply, LoaderSupply, host_batches
from traindyno.worker.devices import Device
from traindyno.worker.job import Job
from traindyno.worker.lead import Ready, untold
from traindyno.worker.steps import NO_MARKS, Marks, Step, make_fed_step


@dataclass(frozen=True)
class Source:
    """Where host batches come from, and what is known of them before any is timed."""

    supply: Supply
    loading: Loading
    notes: tuple[str, ...] = ()
    ready: Ready = untold


@contextmanager
def open_source(spec: TrialSpec, job: Job, channel: Channel, skipped: SkippedExamples | None) -> Iterator[Source]:
    """The loader at work, or batches that it has finished."""
    channel.phase("data")
    if spec.feed.supply == "cached":
        batches = host_batches(job.source, spec, skipped, lambda: channel.step(0))
        yield Source(CachedSupply(batches), Loading(batch_bytes=host_bytes(batches[0])))
        return
    with LoaderSupply(loadable(job.source), spec, skipped, lambda: channel.step(0)) as supply:
        start_up_seconds, first = supply.start()
        loading = Loading(
            start_up_seconds=start_up_seconds,
            batch_bytes=host_bytes(first),
            fill_seconds=getattr(first, "fill_seconds", None),
            cached_share=supply.warmth.cached_share,
        )
        del first
        yield Source(supply, loading, supply.warmth.notes, supply.ready)


class FedSteps:
    """Makes steps that all take from one supply, and keeps the waits for their batches."""

    def __init__(self, spec: TrialSpec, job: Job, supply: Supply, device: Device) -> None:
        self._spec, self._job, self._device = spec, job, device
        self.waits = MarkedWaits()
        self.placed = PlacedSupply(supply, job.source, spec.settings, device.torch_device, self.waits)

    def step(self, marks: Marks = NO_MARKS) -> Step:
        return make_fed_step(self._job, self.placed.next, self._spec.workload, self._spec.settings, self._device, marks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.placed.__exit__(*raised)

    def make_room(self, steps: int) -> None:
        """Begin cold data anew where it would not last for so many steps."""
        if self.placed.left() < steps:
            self.placed.renew()
