"""The answer of `find` in one line."""

from traindyno.analysis.find.beside import baseline_beside
from traindyno.analysis.find.placed import is_gain
from traindyno.core.answers import Finalist, FindAnswer
from traindyno.report.finalists import faster_elsewhere, is_predicted
from traindyno.report.wording import batch, known, one_line, rate


def interval_words(interval: tuple[float, float]) -> str:
    """`7.49 to 7.66`; an open end is said."""
    low, high = interval
    return f"{low:.2f} to {high:.2f}" if known(low) and known(high) else f"from {low:.2f}" if known(low) else "n/a"


def answer_line(answer: FindAnswer) -> str:
    if not is_gain(answer):
        return no_gain_line(answer)
    return _speed_line(answer, answer.recommended)


def no_gain_line(answer: FindAnswer) -> str:
    """The verdict, which knows whether anything was tried; what another batch gains is never left out of it."""
    elsewhere = faster_elsewhere(answer)
    if elsewhere is not None:
        own, other = batch(answer.batch_size), batch(elsewhere.batch_size)
        at_own = f"Nothing was shown to be faster at your batch of {own}"
        return f"{at_own}; with a batch of {other} it is {_speed_line(answer, elsewhere)}"
    return one_line((answer.verdicts or ("Nothing faster than the baseline was found.",))[0], 400)


def _speed_line(answer: FindAnswer, found: Finalist) -> str:
    interval = f"{interval_name(found)} {interval_words(found.worth_ci95)}"
    speed = f"{found.worth:.2f}" if known(found.worth) else "n/a"
    return f"{speed} times {gain_words(answer, found)} ({interval}){doubt(found)}"


def gain_words(answer: FindAnswer, found: Finalist) -> str:
    """`as fast: 858 → 6,500 examples/s`; a prediction says so, and what it is made of."""
    rates = rates_words(answer.baseline, found)
    if not is_predicted(answer, found):
        return f"as fast: {rates}"
    needed = "n/a" if found.examples_needed is None else f"{found.examples_needed:.2f}"
    return f"as fast to the same loss, predicted: {rates}, {needed} times the examples"


def rates_words(baseline: Finalist, found: Finalist) -> str:
    """`858 → 6,500 examples/s`: two rates that give the speedup told beside them."""
    return f"{rate(baseline_beside(baseline, found))} → {rate(found.examples_per_second)} examples/s"


def interval_name(found: Finalist) -> str:
    return "95 % interval" if found.confirmed else "95 % interval within one process"


def doubt(found: Finalist) -> str:
    return "" if found.confirmed else ", not confirmed by repeated rounds that agree"
