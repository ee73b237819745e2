"""How loader workers and other threads share the CPUs there are, as a fluid."""


class CpuSharing:
    """Speeds of busy workers and of other threads, as shares of their speeds when alone.

    A busy worker wants `worker_share` of a CPU. `contention` is how much each further worker that runs at the same time
    slows all of them down although there are CPUs for all.
    """

    def __init__(self, cpus: float, worker_share: float, contention: float) -> None:
        self._cpus, self._share, self._contention = cpus, worker_share, contention
        self._known: dict[tuple[int, float], tuple[float, float]] = {}

    def rates(self, workers: int, threads: float) -> tuple[float, float]:
        """With so many busy workers and so many other threads: the speed of the workers, and of the threads."""
        key = (workers, threads)
        if key not in self._known:
            self._known[key] = self._rates(workers, threads)
        return self._known[key]

    def _rates(self, workers: int, threads: float) -> tuple[float, float]:
        level = cpu_level(workers, self._share, threads, self._cpus)
        at_once = min(workers, max(1.0, self._cpus))
        slowdown = 1 + self._contention * max(0.0, at_once - 1)
        unhindered = min(1.0, level / self._share) if self._share > 0 else 1.0
        return unhindered / slowdown, min(1.0, level)


def cpu_level(workers: int, worker_share: float, threads: float, cpus: float) -> float:
    """The most of a CPU that any thread gets when all are served alike; 1 when there is enough for all.

    A worker wants `worker_share` of a CPU, any other thread a whole one.
    """
    if workers * worker_share + threads <= cpus:
        return 1.0
    level = cpus / (workers + threads)
    return level if level <= worker_share else (cpus - workers * worker_share) / threads
