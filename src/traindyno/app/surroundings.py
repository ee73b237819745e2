"""What this machine has for a search, found once when the study begins."""

from pathlib import Path

from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.app.decoders import holds_pixels, usable_decoders
from traindyno.app.loader_room import loader_room
from traindyno.app.loader_workload import usable_cpus
from traindyno.app.preparing import is_prepared
from traindyno.app.situations import situation_of
from traindyno.app.workshop import SIMULATED_DEVICE
from traindyno.core.requests import FindRequest, Surroundings
from traindyno.search.switches.switch import Situation


def surroundings_of(request: FindRequest) -> Surroundings:
    """As they are now."""
    bench, simulated = request.bench, request.bench.device == SIMULATED_DEVICE
    room = LoaderRoom() if simulated else loader_room()
    situation = situation_of(request.workload, request.settings, bench, local_ranks=request.local_ranks)
    return Surroundings(
        usable_cpus=usable_cpus(bench, request.local_ranks),
        physical_cores=situation.physical_cores,
        default_threads=situation.default_threads,
        has_cpp_compiler=situation.has_cpp_compiler,
        is_prepared=not simulated and _is_prepared(request),
        decoders=usable_decoders(bench, request.workload.data, request.settings),
        pixels=tuple(source for source in request.also if holds_pixels(source, bench)),
        shared_free_bytes=room.shared_free_bytes,
        available_bytes=room.available_bytes,
        open_files=room.open_files,
    )


def _is_prepared(request: FindRequest) -> bool:
    return request.prepare is not None and is_prepared(Path(request.prepare), request.workload)


def situation_within(around: Surroundings, request: FindRequest) -> Situation:
    """What a switch may know before a trial, as it was when the study began."""
    return Situation(
        workload=request.workload,
        baseline=request.settings,
        usable_cpus=max(1, int(around.usable_cpus)),
        physical_cores=around.physical_cores,
        default_threads=around.default_threads,
        has_cpp_compiler=around.has_cpp_compiler,
        max_autotune=False,
    )
