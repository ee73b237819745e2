"""Gains that look real and were not shown: what would tell is said, and a large one is never passed over."""

from collections.abc import Iterator

from traindyno.analysis.find.choice import Choice
from traindyno.analysis.find.words import between, changes_in_words, times, within
from traindyno.analysis.intervals import tells_nothing
from traindyno.core.answers.find import Finalist

LOOKS_FASTER = 1.03
FAR_FASTER = 1.05
"""A gain of this size that is left open is not settled: it would be false to say that there is nothing to change."""
LARGEST_END = 100.0
"""An interval that reaches beyond is told as `± over 100 %`: its end means nothing."""


def is_open(found: Finalist) -> bool:
    """Whether it looks faster, and the rounds did not show it."""
    return found.speedup > LOOKS_FASTER and found.speedup_ci95[0] <= 1.0


def measured_alone(choice: Choice) -> list[Finalist]:
    """All whose gain rests on no prediction."""
    own = choice.baseline.batch_size
    return [each for each in choice.everyone if each.learning_gain is None or each.batch_size == own]


def unsettled(choice: Choice) -> Finalist | None:
    """What looks far faster where nothing is recommended; null where the answer is that another batch is faster."""
    best, free = _best_open(choice), choice.free
    elsewhere = free is not None and free.learning_gain is None and free.speedup_ci95[0] > 1.0
    return best if best is not None and best.speedup >= FAR_FASTER and not elsewhere else None


def unsettled_words(best: Finalist, when: str) -> str:
    """The answer in place of a gain of 1.00."""
    interval = best.speedup_ci95
    ends = between(interval) if interval[1] <= LARGEST_END else within(best.speedup, interval)
    gain = f"{times(best.speedup)} as fast as the baseline ({ends})"
    return (
        f"Not settled{when}: {changes_in_words(best.changes)} may be {gain}. More rounds (a longer --time-budget, "
        "--repeats) or a quieter machine would settle it; until then there is nothing to recommend."
    )


def open_verdicts(choice: Choice) -> Iterator[str]:
    """What looks faster, unless the answer has said so already."""
    best = _best_open(choice)
    if best is None or unsettled(choice) is not None:
        return
    what, remedy = changes_in_words(best.changes), "more rounds would tell, with a longer budget or --repeats"
    if tells_nothing(best.speedup, best.speedup_ci95):
        yield f"What {what} gains is unknown: its rounds differ too much (± over 100 %); {remedy}."
    else:
        yield f"{what} may be {times(best.speedup)} as fast ({between(best.speedup_ci95)}): {remedy}."


def _best_open(choice: Choice) -> Finalist | None:
    best = max(measured_alone(choice), key=lambda each: each.speedup)
    return None if choice.recommended.changes or not is_open(best) else best
