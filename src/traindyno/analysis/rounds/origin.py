"""Where the search's gain over the incumbent comes from: from tuning again what it has already, or from the target.

The incumbent carries all that earlier rounds changed, so what it scores now is no work of this round.
"""

import statistics
from collections.abc import Sequence

from traindyno.analysis.rounds.isolation import incumbent_arm
from traindyno.analysis.rounds.words import amount, arm_words, figure, gain_of
from traindyno.core.answers.rounds import ArmRow, BestFound, Origin
from traindyno.core.rounds import Round

LUCKY_DEVIATIONS = 2.0


def find_origin(
    round_: Round, arms: Sequence[ArmRow], best: BestFound | None, incumbent_scores: Sequence[float]
) -> Origin | None:
    """Null without a run of the incumbent or without any score of the search."""
    if best is None or not incumbent_scores:
        return None
    incumbent = sum(incumbent_scores) / len(incumbent_scores)
    retuned = _retuned(round_, arms)
    text = _luck(round_, best, incumbent, incumbent_scores) or _text(round_, incumbent, retuned, best)
    return Origin(incumbent=incumbent, retuned=retuned, best=best.score, text=text)


def _retuned(round_: Round, arms: Sequence[ArmRow]) -> float | None:
    """The best score with the incumbent's own value of the target."""
    return next((row.best_score for row in arms if row.arm == incumbent_arm(round_)), None)


def _luck(round_: Round, best: BestFound, incumbent: float, scores: Sequence[float]) -> str | None:
    """The best of many runs is as far above the mean by seeds alone as two of their standard deviations."""
    gain = gain_of(best.score - incumbent, round_)
    if len(scores) < 2 or not 0 < gain < LUCKY_DEVIATIONS * statistics.stdev(scores):
        return None
    return (
        f"The search's best run is only {amount(gain, round_.metric)} better than the incumbent, which seeds "
        "alone can do: there is no gain yet to explain."
    )


def _text(round_: Round, incumbent: float, retuned: float | None, best: BestFound) -> str:
    metric, own = round_.metric, incumbent_arm(round_)
    total = gain_of(best.score - incumbent, round_)
    if total <= 0:
        return (
            f"No run of the search is better than the incumbent's mean of {figure(incumbent, metric)}: what is good "
            "about it came from earlier rounds."
        )
    above = f"{amount(total, metric)} by which the search's best run is better than the incumbent"
    if round_.target is None:
        return f"The {above} came from tuning alone."
    if own is None or retuned is None:
        return (
            f"The {above} came from {round_.target.name} or from tuning the nuisances again: the incumbent's own "
            "value has no score here, so the two cannot be told apart."
        )
    return _parted(round_, above, gain_of(retuned - incumbent, round_), total, best, own)


def _parted(round_: Round, above: str, again: float, total: float, best: BestFound, own: str) -> str:
    metric, kept = round_.metric, arm_words(round_, own)
    if best.arm == own:
        return f"The {above} came from tuning the nuisances of {kept} again, none from {_target(round_)}."
    if again <= 0:
        return f"Of the {above}, none came from tuning the nuisances of {kept} again: it came with {best.arm}."
    return (
        f"Of the {above}, {amount(again, metric)} came from tuning the nuisances of {kept} again, and "
        f"{amount(total - again, metric)} with {arm_words(round_, best.arm)}."
    )


def _target(round_: Round) -> str:
    return "the target" if round_.target is None else round_.target.name
