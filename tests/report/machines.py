"""The machine on which the studies of the examples ran."""

from typing import Any

import msgspec

from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.core.requests import Bench

GIB = 2**30


def machine() -> dict[str, Any]:
    gpu = GpuFacts(index=0, name="NVIDIA H200", uuid="GPU-1", memory_bytes=int(139.8 * GIB), driver="570.86.15")
    facts = MachineFacts(
        hostname="bench-1",
        system="Linux 6.8",
        python="3.12.4",
        traindyno="0.1.0",
        torch="2.11.0",
        torchvision="0.26.0",
        cuda="12.8",
        cpu_model="Intel Xeon Platinum 8468",
        cpus_online=192,
        cpus_usable=16.0,
        memory_bytes=128 * GIB,
        gpus=(gpu,),
    )
    return msgspec.to_builtins(facts)


def bench(**changes: Any) -> Bench:
    return Bench(**{"device": "cuda:0", "precision": "fp32"} | changes)
