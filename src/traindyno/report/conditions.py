"""Under which conditions a study ran: the machine, its versions, and what the device did meanwhile."""

from collections.abc import Iterable
from typing import Any

from traindyno.analysis.asked import measuring
from traindyno.core.answers import Document
from traindyno.core.base import Record
from traindyno.core.machine import POWER_CAP
from traindyno.core.records import is_user_file
from traindyno.core.settings_file import SYNTHETIC
from traindyno.report.trials import trial_rows
from traindyno.report.wording import NOT_AVAILABLE, one_line, size

Facts = tuple[tuple[str, str], ...]
_PLAIN_FACTS = {
    "cpu_model": "CPU",
    "hostname": "host",
    "system": "system",
    "python": "Python",
    "torch": "torch",
    "torchvision": "torchvision",
    "cuda": "CUDA",
    "traindyno": "traindyno",
}


class RunSettings(Record, frozen=True):
    """What all trials of a study share."""

    device: str | None = None
    precision: str | None = None


def run_settings(document: Document) -> RunSettings:
    """Device and precision of the study: from its first trial, or else from its request."""
    bench = measuring(document.request or {}).get("bench") or {}
    first: dict[str, Any] = next(iter(document.trials), {}).get("settings") or {}
    found = {name: first.get(name) or bench.get(name) for name in ("device", "precision")}
    return RunSettings(**found)


def brings_own_data(document: Document, model: str) -> bool:
    """Whether the study's examples came from the user's file of this model, and not from data by name."""
    request = document.request or {}
    single = (request.get("workload"), (request.get("curve") or {}).get("workload"))
    ran = [each for each in (*(request.get("workloads") or ()), *single) if each and each.get("model") == model]
    return is_user_file(model) and any(each.get("data", SYNTHETIC) == SYNTHETIC for each in ran)


def setting_words(document: Document, *others: str | None) -> str:
    """`train, bf16, cuda:0`."""
    settings = run_settings(document)
    words = (*others, settings.precision, settings.device)
    return ", ".join(one_line(word) for word in words if word)


def device_name(document: Document) -> str | None:
    """What the study ran on, as one would say it: the GPU it used, or else the CPU; of a simulation, nothing."""
    if run_settings(document).device == "simulated":
        return None
    machine, device = document.machine or {}, run_settings(document).device or ""
    gpus = machine.get("gpus") or []
    if device.startswith("cuda") and gpus:
        index = int(device.partition(":")[2] or 0) if device.partition(":")[2].isdigit() else 0
        return one_line(next((gpu for gpu in gpus if gpu.get("index") == index), gpus[0]).get("name"))
    return one_line(machine["cpu_model"]) if machine.get("cpu_model") else None


def machine_facts(document: Document) -> tuple[tuple[str | None, Facts], ...]:
    """Each machine's name, where there are several, and its facts."""
    machine = document.machine or {}
    if machine and all(isinstance(value, dict) or value is None for value in machine.values()):
        return tuple((one_line(name, 60), _facts(facts or {})) for name, facts in machine.items())
    return ((None, _facts(machine)),)


def observed_conditions(document: Document) -> Facts:
    """Clock, temperature and power over all trials, and every throttle reason seen."""
    seen = [trial.conditions for trial in trial_rows(document)]
    reasons = sorted({one_line(reason) for item in seen for reason in item.get("throttle_reasons") or ()})
    slowing = [reason for reason in reasons if reason != POWER_CAP]
    facts = (
        ("SM clock", _range((item.get("sm_clock_mhz") for item in seen), "MHz")),
        ("GPU temperature", _range((item.get("temperature_celsius") for item in seen), "°C")),
        ("GPU power", _range((item.get("power_watts") for item in seen), "W")),
        ("throttled by", ", ".join(slowing) or None),
        ("power limit", "reached" if POWER_CAP in reasons else None),
    )
    return tuple((label, value) for label, value in facts if value is not None)


def trial_conditions(conditions: dict[str, Any]) -> str:
    """One trial's conditions on one line."""
    parts = (
        _range([conditions.get("sm_clock_mhz")], "MHz"),
        _range([conditions.get("temperature_celsius")], "°C"),
        ", ".join(one_line(reason) for reason in conditions.get("throttle_reasons") or ()) or None,
    )
    return " · ".join(part for part in parts if part is not None)


def _facts(machine: dict[str, Any]) -> Facts:
    found = [("GPU", _gpu(gpu)) for gpu in machine.get("gpus") or ()]
    found += [(label, one_line(machine[key])) for key, label in _PLAIN_FACTS.items() if machine.get(key)]
    if machine.get("cpus_usable") is not None:
        found.append(("usable CPUs", f"{machine['cpus_usable']:g} of {machine.get('cpus_online') or NOT_AVAILABLE}"))
    if machine.get("memory_bytes") is not None:
        found.append(("memory", size(machine["memory_bytes"])))
    return tuple(found)


def _gpu(gpu: dict[str, Any]) -> str:
    parts = [one_line(gpu.get("name") or NOT_AVAILABLE), size(gpu.get("memory_bytes"))]
    parts += [f"driver {one_line(gpu['driver'])}"] if gpu.get("driver") else []
    parts += ["MIG"] if gpu.get("mig") else []
    foreign = gpu.get("foreign_processes") or ()
    parts += [f"{len(foreign)} foreign process{'es' if len(foreign) > 1 else ''}"] if foreign else []
    return ", ".join(parts)


def _range(pairs: Iterable[Any], unit: str) -> str | None:
    ends = [end for pair in pairs if pair for end in pair]
    if not ends:
        return None
    low, high = f"{min(ends):.0f}", f"{max(ends):.0f}"
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
