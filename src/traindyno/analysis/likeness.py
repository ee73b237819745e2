"""In what two studies differ besides their numbers."""

from collections.abc import Sequence
from typing import Any

from traindyno.core.answers import Document
from traindyno.core.units import format_bytes

Facts = dict[str, str]


UNSAID = "unknown"
OWN = "the model's own"


def unlike(a: Document, b: Document) -> tuple[str, ...]:
    """Every recorded condition in which the two differ: "GPU: NVIDIA H200 against NVIDIA A100"."""
    facts_a, facts_b = conditions(a), conditions(b)
    names = [*facts_a, *(name for name in facts_b if name not in facts_a)]
    return tuple(
        f"{name}: {facts_a.get(name, UNSAID)} against {facts_b.get(name, UNSAID)}"
        for name in names
        if facts_a.get(name) != facts_b.get(name)
    )


def conditions(document: Document) -> Facts:
    """What is recorded about machine, software, workload and settings, by name; unknowns are left out."""
    request = document.request or {}
    measured = request.get("curve") or request
    bench = measured.get("bench") or {}
    found = {
        **_machine(document.machine or {}, bench.get("device")),
        **_workload(measured),
        "precision": bench.get("precision"),
        "batch size": request.get("batch_size"),
        "decoder": request.get("decoder"),
        "runner": "simulated" if is_simulated(document) else "measured",
        "examples": request.get("examples"),
        "epochs": request.get("epochs"),
    }
    return {name: _text(value) for name, value in found.items() if value is not None and value != ""}


def is_simulated(document: Document) -> bool:
    """Whether any answer in the document came from the simulated runner."""
    answers = document.answer if isinstance(document.answer, list | tuple) else [document.answer]
    return any(
        bool(answer.get("simulated")) if isinstance(answer, dict) else bool(getattr(answer, "simulated", False))
        for answer in answers
    )


def _text(value: Any) -> str:
    """Numbers without a needless fraction, so that 1 and 1.0 are alike."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _machine(machine: dict[str, Any], device: str | None) -> dict[str, Any]:
    gpu = _gpu(machine.get("gpus") or (), device)
    return {
        "machine": machine.get("hostname"),
        "device": device.partition(":")[0] if device else None,
        "GPU": gpu.get("name"),
        "GPU memory": format_bytes(gpu["memory_bytes"]) if gpu.get("memory_bytes") else None,
        "driver": gpu.get("driver"),
        "CUDA": machine.get("cuda") if gpu else None,
        "torch": machine.get("torch"),
        "Python": machine.get("python"),
        "traindyno": machine.get("traindyno"),
        "CPU": machine.get("cpu_model"),
        "usable CPUs": machine.get("cpus_usable"),
    }


def _gpu(gpus: Sequence[dict[str, Any]], device: str | None) -> dict[str, Any]:
    """The GPU that was measured on; none for a CPU study."""
    if not device or not device.startswith("cuda"):
        return {}
    wanted = device.partition(":")[2] or "0"
    return next((gpu for gpu in gpus if str(gpu.get("index")) == wanted), gpus[0] if gpus else {})


def _workload(request: dict[str, Any]) -> dict[str, Any]:
    workloads = request.get("workloads") or [request.get("workload") or {}]
    first = workloads[0]
    return {
        "model": ", ".join(str(workload["model"]) for workload in workloads if workload.get("model")),
        "mode": first.get("mode"),
        "data": first.get("data"),
        "image size": first.get("image_size") or (OWN if first else None),
        "classes": first.get("classes") or (OWN if first else None),
        "optimizer": first.get("optimizer"),
        "conv1 stride": first.get("conv1_stride"),
        "model source": (first.get("source_sha256") or "")[:12],
    }
