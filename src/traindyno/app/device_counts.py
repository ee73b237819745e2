"""Several devices of this machine at once: whether there are as many, and what each of them has of the rest."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from traindyno.app.loader_workload import usable_cpus
from traindyno.app.processes import is_one_of_several
from traindyno.core.errors import UsageError
from traindyno.core.requests import Bench
from traindyno.core.units import count_of
from traindyno.machine.gpu import GpuReader, cuda_index
from traindyno.machine.locks import device_lock


def check_group_of(bench: Bench, most: int) -> None:
    """Refuse a group that is begun by somebody else already, or for which there is no place."""
    if most == 1:
        return
    if is_one_of_several():
        raise UsageError(
            f"torchrun has started several processes already, and each would start {most} more",
            "start this command without torchrun, or leave the number of devices away",
        )
    if bench.executor == "ray":
        raise UsageError(
            f"a lane of a Ray cluster is one device, and {most} are asked for",
            "leave --executor ray away, and run this on a machine with as many devices",
        )


def check_gpus(device: str, most: int, gpus: int, fewer: str) -> None:
    """Refuse more GPUs than are visible. `gpus` are those that torch sees, `fewer` is what to write instead."""
    first = cuda_index(device)
    if first is None or most == 1:
        return
    if first:
        raise UsageError(
            f"{device} is one device; several are the first that are visible",
            f"leave --device away, and choose them by the environment: CUDA_VISIBLE_DEVICES={first},{first + 1}",
        )
    if most > gpus:
        there = f"{count_of(gpus, 'GPU')} {'is' if gpus == 1 else 'are'} visible"
        raise UsageError(
            f"{count_of(most, 'device')} on this machine cannot be measured: {there}",
            f"use {fewer}, or try it on processes with --device cpu; CUDA_VISIBLE_DEVICES may hide others",
        )


def gpus_besides_first(device: str, most: int) -> tuple[str, ...]:
    """Those that so many devices take besides the first: a group has the first ones there are."""
    return () if cuda_index(device) is None else tuple(f"cuda:{index}" for index in range(1, most))


@contextmanager
def further_locks(device: str, most: int, reader: GpuReader) -> Iterator[None]:
    """The GPUs besides the first held for this process, as the first is already."""
    with ExitStack() as locks:
        for gpu in gpus_besides_first(device, most):
            locks.enter_context(device_lock(gpu, reader))
        yield


def threads_each(bench: Bench, most: int) -> int:
    """Threads of a process on the CPU, the same for every count of processes, so that counts compare."""
    return max(1, int(usable_cpus(bench, 1)) // most)


def crowding_words(bench: Bench, most: int) -> tuple[str, ...]:
    """A warning where more processes than CPUs take turns on a machine."""
    cpus = usable_cpus(bench, 1)
    if bench.device != "cpu" or most <= cpus:
        return ()
    return (f"{most} processes share {cpus:g} CPUs here and take turns: their scaling is not that of {most} devices.",)
