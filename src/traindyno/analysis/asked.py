"""What a request says about how its figures came about, by name and in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from traindyno.analysis.plan import evaluated_examples
from traindyno.core.units import bytes_word

Facts = dict[str, str]

OWN = "the model's own"
NOT_GIVEN = "not given"

_WORKLOAD = {
    "model": "model",
    "mode": "mode",
    "data": "data",
    "image size": "image_size",
    "classes": "classes",
    "optimizer": "optimizer",
    "conv1 stride": "conv1_stride",
    "model source": "source_sha256",
    "damaged examples skipped": "skip_bad",
    "arguments": "arguments",
}
_OF_THE_MODEL = ("image_size", "classes", "conv1_stride")
_BENCH = {
    "precision": "precision",
    "seed": "seed",
    "memory limit": "memory_limit_bytes",
    "time budget": "time_budget_seconds",
    "step timeout": "step_timeout_seconds",
    "trial timeout": "trial_timeout_seconds",
    "executor": "executor",
}
_MEASURING = {
    "margin": "margin",
    "tolerance": "tolerance",
    "exact": "exact",
    "limit": "limit",
    "effective batch": "effective_batch",
    "batch size": "batch_size",
    "batch sizes": "sizes",
    "smallest batch size": "smallest",
    "largest batch size": "largest",
    "refined": "refine",
    "repeats": "repeats",
    "time per trial": "trial_seconds",
    "model fed": "with_model",
    "workers": "workers",
    "grid": "grid",
    "CPU counts": "cpus",
    "decoder": "decoder",
    "examples per epoch": "epoch_examples",
    "local ranks": "local_ranks",
}
_JOB = {"examples": "examples", "epochs": "epochs"}


def asked(request: Mapping[str, Any]) -> Facts:
    """All that may have made a difference. What the request does not tell is left out; null is told, too."""
    measured = measuring(request)
    return {
        **_workload(measured),
        **_told(measured.get("bench") or {}, _BENCH),
        **_told(measured, _MEASURING),
        **_told(request, _JOB),
        **_evaluation(request),
    }


def measuring(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request whose trials gave the figures: a plan's are those of its curve."""
    source = request.get("source") or {}
    found: Mapping[str, Any] = request.get("curve") or source.get("request") or request
    return found


def _workload(request: Mapping[str, Any]) -> Facts:
    workloads = request.get("workloads") or [request.get("workload") or {}]
    return {
        name: _in_common([_part_words(key, workload[key]) for workload in workloads])
        for name, key in _WORKLOAD.items()
        if all(key in workload for workload in workloads)
    }


def _in_common(words: Sequence[str]) -> str:
    """What several models share is told once, all else for each of them."""
    return words[0] if len(set(words)) == 1 else ", ".join(words)


def _part_words(key: str, value: Any) -> str:
    if key == "source_sha256" and value:
        return str(value)[:12]
    return OWN if key in _OF_THE_MODEL and value is None else _words(key, value)


def _evaluation(request: Mapping[str, Any]) -> Facts:
    """What a plan counts, also where it follows from less than was given."""
    if "eval_examples" not in request:
        return {}
    every = request.get("eval_every_epochs")
    examples = evaluated_examples(request.get("examples") or 0, every, request["eval_examples"])
    if not examples:
        return {"examples per evaluation": "none", "epochs between evaluations": "none"}
    return {"examples per evaluation": str(examples), "epochs between evaluations": _words("", every or 1)}


def _told(record: Mapping[str, Any], names: Mapping[str, str]) -> Facts:
    return {name: _words(key, record[key]) for name, key in names.items() if key in record}


def _words(key: str, value: Any) -> str:
    """Numbers without a needless fraction, so that 1 and 1.0 are alike."""
    if value is None or value == "" or (isinstance(value, Sequence | Mapping) and not value):
        return NOT_GIVEN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_words('', item)}" for name, item in sorted(value.items()))
    if isinstance(value, list | tuple):
        return ", ".join(_words("", item) for item in value)
    return _number_words(key, value) if isinstance(value, int | float) else str(value)


def _number_words(key: str, value: float) -> str:
    if key.endswith("_bytes"):
        return bytes_word(int(value))
    return f"{value:.12g} s" if key.endswith("_seconds") else f"{value:.12g}"
