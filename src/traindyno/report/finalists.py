"""The ways to train that a `find` ends with: what their gains rest on, and their settings in words."""

from collections.abc import Iterable
from typing import Any

from traindyno.analysis.find.placed import is_gain
from traindyno.analysis.switch_candidates import value_words
from traindyno.core.answers import Finalist, FindAnswer
from traindyno.core.records import Settings
from traindyno.report.wording import one_line

LONGEST_VALUE, LONGEST_TEXT = 80, 10_000


def foretells_loss(answer: FindAnswer) -> bool:
    """Whether batches were judged by the time to the same loss, which a noise scale predicts."""
    return answer.objective == "time-to-accuracy" and answer.noise_scale is not None


def is_predicted(answer: FindAnswer, found: Finalist) -> bool:
    """Whether its gain rests on that prediction; at the user's own batch it is the speed itself."""
    return foretells_loss(answer) and found.batch_size != answer.batch_size


def faster_elsewhere(answer: FindAnswer) -> Finalist | None:
    """Where nothing is faster at the user's batch: what is at another. More examples per second prove no more there."""
    free = None if is_gain(answer) or foretells_loss(answer) else answer.with_free_batch
    return free if free is not None and free.speedup_ci95[0] > 1.0 else None


def value_of(finalist: Finalist, name: str) -> Any:
    """A setting's value; `data` is named like the settings."""
    return finalist.data if name == "data" else finalist.settings.get(name)


def setting_of(finalist: Finalist, name: str) -> str:
    """A setting's value in words; what is too long loses its middle, for paths differ at their end."""
    value = value_of(finalist, name)
    words = "torch's own" if value is None else one_line(value_words(value), LONGEST_TEXT)
    return words if len(words) <= LONGEST_VALUE else f"{words[: LONGEST_VALUE // 2]}…{words[1 - LONGEST_VALUE // 2 :]}"


def differences(finalist: Finalist, other: Finalist) -> str:
    """`num_workers=8, compile=none`: what the first has that the other has not."""
    names = [name for name in in_order(finalist.settings) if value_of(finalist, name) != value_of(other, name)]
    return ", ".join(f"{one_line(name)}={setting_of(finalist, name)}" for name in names)


def in_order(names: Iterable[str]) -> list[str]:
    """The data and these settings in their usual order, which a stored answer has not."""
    usual = Settings.__struct_fields__
    return ["data", *sorted(names, key=lambda name: usual.index(name) if name in usual else len(usual))]
