"""What a trial of a tuning round was for, and what came of it, in a few words; read leniently as all entries are."""

import math
from collections.abc import Mapping
from typing import Any

from traindyno.report.wording import one_line

MOST_VALUES = 300


def draw_words(entry: Mapping[str, Any]) -> str:
    """`search 3 of mlp:64, seed 1003: learning_rate=0.12, momentum=0.9; accuracy 97.2 %, pruned`."""
    draw = entry.get("draw") or {}
    arm = f" of {one_line(draw['arm'], 60)}" if draw.get("arm") else ""
    branch = f" ({one_line(draw['branch'], 60)})" if draw.get("branch") else ""
    values = ", ".join(f"{one_line(name, 60)}={_value(value)}" for name, value in (draw.get("values") or {}).items())
    for_ = f"{one_line(draw.get('phase') or 'run')} {draw.get('index', '')}{arm}{branch}, seed {entry.get('seed') or 0}"
    told = f"{for_}: {one_line(values, MOST_VALUES)}" if values else for_
    came = ", ".join(_outcome(entry.get("measurement") or {}))
    return f"{told}; {came}" if came else told


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else one_line(value)


def _outcome(measurement: Mapping[str, Any]) -> list[str]:
    """The score at the run's end, and how it ended where that was not in full."""
    job, learning = measurement.get("job") or {}, measurement.get("learning") or {}
    last = (learning.get("evaluations") or [{}])[-1]
    shares = [f"accuracy {100 * last['accuracy']:.2f} %"] if _is_known(last.get("accuracy")) else []
    losses = [f"loss {last['loss']:.4g}"] if _is_known(last.get("loss")) else []
    scores = [f"score {job['value']:.4g}"] if _is_known(job.get("value")) else []
    return [*shares, *losses, *scores, *(word for word in ("diverged", "pruned") if learning.get(word))]


def _is_known(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
