"""What the workers of a loader used up between two moments."""

from dataclasses import dataclass

from traindyno.worker.data.flow import Flow


@dataclass(frozen=True)
class Used:
    """CPU seconds of the workers and bytes from disk; null where nobody tells, or other workers took their place.

    Of the batches that they made `more_ready` were not taken, or as many fewer, where that is known.
    """

    cpu_seconds: float | None = None
    disk_bytes: int | None = None
    more_ready: int = 0

    def cpu_seconds_per(self, taken: int) -> float | None:
        return None if self.cpu_seconds is None else self.cpu_seconds / max(1, taken + self.more_ready)


class Usage:
    """Reads what a flow's workers have used, at the beginning and at the end."""

    def __init__(self) -> None:
        self._flow: Flow | None = None
        self._cpu_seconds: float | None = None
        self._disk_bytes: int | None = None
        self._ready: int | None = None

    def begin(self, flow: Flow) -> None:
        self._flow, self._cpu_seconds, self._disk_bytes = flow, flow.worker_cpu_seconds(), flow.bytes_from_disk()
        self._ready = flow.ready()

    def end(self, flow: Flow) -> Used:
        if flow is not self._flow:
            return Used()
        cpu, disk, ready = flow.worker_cpu_seconds(), flow.bytes_from_disk(), flow.ready()
        return Used(
            None if cpu is None or self._cpu_seconds is None else cpu - self._cpu_seconds,
            None if disk is None or self._disk_bytes is None else disk - self._disk_bytes,
            0 if ready is None or self._ready is None else ready - self._ready,
        )
