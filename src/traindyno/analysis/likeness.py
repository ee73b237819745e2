"""In what two studies differ besides their numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from traindyno.analysis.asked import Facts, asked, measuring
from traindyno.core.answers import Document
from traindyno.core.units import format_bytes

UNSAID = "unknown"


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
    bench = measuring(request).get("bench") or {}
    found = {
        **_machine(_measured_on(document), bench.get("device")),
        "runner": _runner(bench.get("runner"), is_simulated(document)),
    }
    return {name: _text(value) for name, value in found.items() if value is not None} | asked(request)


def is_simulated(document: Document) -> bool:
    """Whether any answer in the document came from the simulated runner."""
    answers = document.answer if isinstance(document.answer, list | tuple) else [document.answer]
    return any(
        bool(answer.get("simulated")) if isinstance(answer, dict) else bool(getattr(answer, "simulated", False))
        for answer in answers
    )


def _runner(runner: str | None, simulated: bool) -> str:
    """How trials ran: of a simulation also what it made up."""
    if simulated:
        return runner if runner is not None and runner.startswith("simulated") else "simulated"
    return "measured" if runner in (None, "fork") else f"measured, {runner}"


def _measured_on(document: Document) -> Mapping[str, Any]:
    """The machine of the trials behind the figures: of a plan from an earlier curve, that curve's."""
    source = (document.request or {}).get("source")
    return (source.get("machine") if source else document.machine) or {}


def _text(value: Any) -> str:
    """Numbers without a needless fraction, so that 1 and 1.0 are alike."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _machine(machine: Mapping[str, Any], device: str | None) -> dict[str, Any]:
    gpu = _gpu(machine.get("gpus") or (), device)
    return {
        "machine": machine.get("hostname"),
        "device": device.partition(":")[0] if device else None,
        "GPU": gpu.get("name"),
        "GPU memory": format_bytes(gpu["memory_bytes"]) if gpu.get("memory_bytes") else None,
        "GPU power limit": f"{gpu['power_limit_watts']:g} W" if gpu.get("power_limit_watts") else None,
        "driver": gpu.get("driver"),
        "CUDA": machine.get("cuda") if gpu else None,
        "torch": machine.get("torch"),
        "torchvision": machine.get("torchvision"),
        "Python": machine.get("python"),
        "traindyno": machine.get("traindyno"),
        "CPU": machine.get("cpu_model"),
        "usable CPUs": machine.get("cpus_usable"),
        "host memory": format_bytes(machine["memory_bytes"]) if machine.get("memory_bytes") else None,
    }


def _gpu(gpus: Sequence[dict[str, Any]], device: str | None) -> dict[str, Any]:
    """The GPU that was measured on; none for a CPU study."""
    if not device or not device.startswith("cuda"):
        return {}
    wanted = device.partition(":")[2] or "0"
    return next((gpu for gpu in gpus if str(gpu.get("index")) == wanted), gpus[0] if gpus else {})
