"""Gather what a check-up looks at beyond a study's facts: limits, disks, driver and GPU state right now."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from traindyno.core.machine import DiskSpace, DoctorFacts, GpuFacts
from traindyno.machine.bytecode import keeps_bytecode
from traindyno.machine.cgroups import SYSTEM_ROOT
from traindyno.machine.cpus import usable_cpus
from traindyno.machine.facts import collect
from traindyno.machine.files import whole_number
from traindyno.machine.folders import may_write, nearest_existing
from traindyno.machine.gpu import GpuReader
from traindyno.machine.limits import open_files
from traindyno.machine.memory import file_system_space, host_memory
from traindyno.machine.other_work import others_now


def doctor_facts(
    store_folder: Path,
    reader: GpuReader,
    root: Path = SYSTEM_ROOT,
    environment: Mapping[str, str] | None = None,
    others: Callable[[], float | None] = others_now,
) -> DoctorFacts:
    """The facts of a check-up. No GPU work of ours runs meanwhile, so every process on a GPU is foreign."""
    environment = os.environ if environment is None else environment
    machine = collect(reader, root)
    gpus = tuple(_with_foreign_processes(gpu, reader) for gpu in machine.gpus)
    samples = (reader.sample(gpu.index) for gpu in gpus)
    soft, hard = open_files()
    return DoctorFacts(
        machine=msgspec.structs.replace(machine, gpus=gpus),
        cpus=usable_cpus(root=root, environment=environment),
        memory=host_memory(root),
        driver=reader.driver(),
        gpu_samples=tuple(sample for sample in samples if sample is not None),
        disks=tuple(_disks(store_folder)),
        open_files_soft=soft,
        open_files_hard=hard,
        omp_num_threads=whole_number(environment.get("OMP_NUM_THREADS")),
        cuda_visible_devices=environment.get("CUDA_VISIBLE_DEVICES"),
        cuda_device_order=environment.get("CUDA_DEVICE_ORDER"),
        other_cpu_share=others(),
        torch_keeps_bytecode=keeps_bytecode("torch"),
    )


def _with_foreign_processes(gpu: GpuFacts, reader: GpuReader) -> GpuFacts:
    return msgspec.structs.replace(gpu, foreign_processes=reader.foreign_processes(gpu.index, ()) or ())


def _disks(store_folder: Path) -> Iterator[DiskSpace]:
    """Store, temporary and working folder, each path once."""
    seen: set[Path] = set()
    purposes: tuple[tuple[Literal["store", "temporary", "working"], Path], ...] = (
        ("store", store_folder),
        ("temporary", Path(tempfile.gettempdir())),
        ("working", Path.cwd()),
    )
    for purpose, folder in purposes:
        existing = nearest_existing(folder)
        if existing not in seen:
            seen.add(existing)
            yield DiskSpace(
                purpose=purpose,
                path=str(existing),
                free_bytes=file_system_space(existing)[1],
                writable=may_write(existing),
            )
