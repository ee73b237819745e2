"""What a switch may know before a trial, gathered from the request and this machine."""

from traindyno.app.loader_workload import usable_cpus
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench
from traindyno.search.switches.switch import Situation

CPP_COMPILERS = ("c++", "g++", "clang++")


def situation_of(
    workload: WorkloadSpec, baseline: Settings, bench: Bench, *, local_ranks: int = 1, max_autotune: bool = False
) -> Situation:
    return Situation(
        workload=workload,
        baseline=baseline,
        usable_cpus=max(1, int(usable_cpus(bench, local_ranks))),
        physical_cores=_physical_cores(),
        has_cpp_compiler=_has_cpp_compiler(),
        max_autotune=max_autotune,
    )


def _physical_cores() -> int | None:
    import psutil

    cores: int | None = psutil.cpu_count(logical=False)
    return cores


def _has_cpp_compiler() -> bool:
    import os
    import shutil

    named = os.environ.get("CXX")
    return any(shutil.which(name) for name in ((named,) if named else CPP_COMPILERS))
