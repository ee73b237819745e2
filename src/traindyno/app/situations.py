"""What a switch may know before a trial, gathered from the request and this machine."""

from traindyno.app.loader_workload import usable_cpus
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench
from traindyno.machine.files import whole_number
from traindyno.search.switches.switch import Situation

THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""How many threads torch computes with; the first that is set counts. A cluster's lanes have the latter alone."""

CPP_COMPILERS = ("c++", "g++", "clang++")


def situation_of(
    workload: WorkloadSpec, baseline: Settings, bench: Bench, *, local_ranks: int = 1, max_autotune: bool = False
) -> Situation:
    return Situation(
        workload=workload,
        baseline=baseline,
        usable_cpus=max(1, int(usable_cpus(bench, local_ranks))),
        physical_cores=_physical_cores(),
        default_threads=_default_threads(bench),
        has_cpp_compiler=_has_cpp_compiler(),
        max_autotune=max_autotune,
    )


def _physical_cores() -> int | None:
    import psutil

    cores: int | None = psutil.cpu_count(logical=False)
    return cores


def _default_threads(bench: Bench) -> int | None:
    """As the environment has it; null where it does not, or has more than there are cores, which torch may refuse."""
    import os

    names = THREADS if bench.executor == "local" else THREADS[1:]
    named = next((value for name in names if (value := os.environ.get(name))), None)
    threads = None if named is None else whole_number(named)
    return threads if threads is not None and 0 < threads <= (_physical_cores() or 0) else None


def _has_cpp_compiler() -> bool:
    import os
    import shutil

    named = os.environ.get("CXX")
    return any(shutil.which(name) for name in ((named,) if named else CPP_COMPILERS))
