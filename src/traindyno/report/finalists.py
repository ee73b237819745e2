"""The ways to train that a `find` ends with, each under the name by which a reader knows it."""

from collections.abc import Iterable
from typing import Any

from traindyno.analysis.switch_candidates import value_words
from traindyno.core.answers import Finalist, FindAnswer
from traindyno.core.base import Record
from traindyno.core.records import Settings
from traindyno.report.wording import one_line

BASELINE, RECOMMENDED, OWN, FREE = "baseline", "recommended", "at your batch", "with any batch"
NEAR, OTHER = "near-equal", "runner-up"
LONGEST_VALUE, LONGEST_TEXT = 80, 10_000


class Placed(Record, frozen=True):
    """A finalist and its name; `chosen` is what is recommended."""

    label: str
    finalist: Finalist
    chosen: bool = False

    @property
    def known_by_label(self) -> bool:
        """Whether its label says what it is; of others one must say how they differ."""
        return self.label in (BASELINE, RECOMMENDED, OWN, FREE)


def placed_finalists(answer: FindAnswer) -> tuple[Placed, ...]:
    """Baseline, what is recommended, at the other batch, near-equals, and whatever else took part; each once."""
    gained = [(RECOMMENDED, answer.recommended)] if is_gain(answer) else []
    first = [(BASELINE, answer.baseline), *gained, *_at_other_batch(answer)]
    near = _numbered(NEAR, _but(answer.near_equal, first))
    others = _numbered(OTHER, _but(answer.finalists, [*first, *near]))
    return tuple(
        Placed(label=label, finalist=each, chosen=same_way(each, answer.recommended))
        for label, each in (*first, *near, *others)
    )


def other_batch(answer: FindAnswer) -> Placed | None:
    """Beside what is recommended at the user's batch the best with any, and the other way round."""
    return next((Placed(label=label, finalist=each) for label, each in _at_other_batch(answer)), None)


def same_way(one: Finalist, other: Finalist) -> bool:
    return (one.data, one.settings) == (other.data, other.settings)


def is_gain(answer: FindAnswer) -> bool:
    """Whether anything is recommended but to stay with the baseline."""
    return not same_way(answer.recommended, answer.baseline)


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


def _at_other_batch(answer: FindAnswer) -> list[tuple[str, Finalist]]:
    named = (answer.baseline, answer.recommended)
    ways = [(OWN, answer.at_own_batch), (FREE, answer.with_free_batch)]
    return [(label, way) for label, way in ways if way is not None and not any(same_way(way, each) for each in named)]


def _but(finalists: tuple[Finalist, ...], named: list[tuple[str, Finalist]]) -> list[Finalist]:
    """Those that have no name yet."""
    return [each for each in finalists if all(not same_way(each, other) for _, other in named)]


def _numbered(label: str, finalists: list[Finalist]) -> list[tuple[str, Finalist]]:
    """The label for each, with a number where there are several."""
    if len(finalists) == 1:
        return [(label, finalists[0])]
    return [(f"{label} {place}", each) for place, each in enumerate(finalists, start=1)]
