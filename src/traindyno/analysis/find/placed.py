"""The ways to train that a `find` ends with, each under the name by which a reader knows it."""

from traindyno.core.answers.find import Finalist, FindAnswer
from traindyno.core.base import Record

BASELINE, RECOMMENDED, OWN, FREE = "baseline", "recommended", "at your batch", "with any batch"
NEAR, OTHER = "near-equal", "runner-up"


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
