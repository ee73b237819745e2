"""The runs of a round as points to draw: how they ended, what their arms are called, and in which colours."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from traindyno.core.answers import Document, RoundAnswer
from traindyno.core.rounds import ALONE, Ending, Round, RoundTrial, Value
from traindyno.report.charts.learning import COLORS
from traindyno.report.charts.style import INK, WIDTH
from traindyno.report.wording import clean

SEEDS, ALL_RUNS, WORSE = "incumbent's seeds", "all runs", "worse than the axis shows"
ENDINGS: dict[Ending, str] = {
    "ok": "finished",
    "pruned": "ended early",
    "diverged": "diverged",
    "out_of_memory": "out of memory",
    "crashed": "crashed",
    "timed_out": "timed out",
    "failed": "failed",
}
CROSS = "M-0.9,-0.6L-0.6,-0.9L0,-0.3L0.6,-0.9L0.9,-0.6L0.3,0L0.9,0.6L0.6,0.9L0,0.3L-0.6,0.9L-0.9,0.6L-0.3,0Z"
SHAPES = {
    "finished": "circle",
    "ended early": "triangle-right",
    WORSE: "triangle-down",
    "diverged": CROSS,
    "out of memory": "square",
    "crashed": "triangle-up",
    "timed out": "diamond",
    "failed": "cross",
}
LETTER_WIDTH, SYMBOL_WIDTH, LONGEST_NAME = 6.6, 34, 34


def round_of(document: Document) -> Round | None:
    """The round as its file had it; null where the document has no request that can be read."""
    try:
        return msgspec.convert((document.request or {}).get("round"), Round)
    except msgspec.ValidationError:
        return None


def searched_runs(answer: RoundAnswer) -> list[RoundTrial]:
    """All runs but those of the gate, which are the incumbent's."""
    return [run for run in answer.runs if run.draw.phase != "gate"]


def value_text(value: Value) -> str:
    """`0.01234`, `true`, `mlp:64`: as a round's file would have it, numbers with four figures."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else " ".join(clean(value).split())


def values_text(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{' '.join(clean(name).split())}={value_text(value)}" for name, value in values.items())


def short(text: str, limit: int = LONGEST_NAME) -> str:
    """A long name without its middle: names of arms often differ at their ends."""
    line = " ".join(clean(text).split())
    tail = (limit - 1) // 2
    return line if len(line) <= limit else f"{line[: limit - 1 - tail]}…{line[-tail:]}"


def arm_names(arms: Iterable[str], limit: int = LONGEST_NAME) -> dict[str, str]:
    """What to call each arm in a picture: short, and no two alike."""
    names: dict[str, str] = {}
    for arm in arms:
        name, taken = short(arm, limit) or ALL_RUNS, set(names.values())
        names[arm] = name if name not in taken else f"{name} ({len(taken) + 1})"
    return names


def names_of(answer: RoundAnswer, limit: int = LONGEST_NAME) -> dict[str, str]:
    arms = [arm.arm for arm in answer.arms] + [run.draw.arm for run in searched_runs(answer)]
    labels = {arm: arm_label(answer, arm) for arm in arms or [ALONE]}
    names = arm_names(dict.fromkeys(labels.values()), limit)
    return {arm: names[label] for arm, label in labels.items()}


def arm_label(answer: RoundAnswer, arm: str) -> str:
    """An arm by itself: `mlp:64` says what it is, `0` does not, so it is `dropout = 0`."""
    if arm == ALONE or answer.target is None:
        return arm or ALL_RUNS
    return arm if ":" in arm else f"{answer.target} = {arm}"


def arm_color(names: Sequence[str], legend: bool = True, seeds: bool = False, field: str = "arm") -> Any:
    """A colour for each arm in their order, and ink for the incumbent; one alone needs no legend."""
    import altair

    domain = [*names, *([SEEDS] if seeds else [])]
    colors = [*(COLORS[number % len(COLORS)] for number in range(len(names))), *([INK] if seeds else [])]
    shown = legend_of(domain) if legend and len(domain) > 1 else None
    return altair.Color(f"{field}:N", scale=altair.Scale(domain=domain, range=colors), legend=shown, title=None)


def legend_of(names: Sequence[str], side: Literal["top", "bottom"] = "top") -> Any:
    """A legend in as many columns as its longest name leaves room for."""
    import altair

    wide = SYMBOL_WIDTH + LETTER_WIDTH * max(map(len, names), default=1)
    columns = max(1, min(len(names), int(WIDTH // wide)))
    return altair.Legend(orient=side, title=None, columns=columns, symbolSize=90, symbolOpacity=1)
