"""A round's findings in sentences: the answer to its question first, and nothing at all before its checks allow it."""

from collections.abc import Sequence

from traindyno.analysis.rounds.isolation import reference_arm
from traindyno.analysis.rounds.time_ratios import time_ratios
from traindyno.analysis.rounds.words import (
    amount,
    arm_words,
    ends,
    figure,
    gain_ends,
    gain_of,
    is_share,
    listed,
    turned,
    values_words,
)
from traindyno.core.answers.rounds import Importance, IsolationRow, RoundAnswer
from traindyno.core.resuming import adopt_command
from traindyno.core.rounds import Round
from traindyno.core.units import count_of

SLOWER = 0.9


def round_verdicts(round_: Round, answer: RoundAnswer) -> tuple[str, ...]:
    """What the round has shown, or why it has shown nothing yet."""
    if not answer.ready:
        return (_not_ready(answer),)
    return (
        *(_compared(round_, answer) if round_.target is not None else _best(round_, answer)),
        *([] if answer.origin is None else [answer.origin.text]),
        *_paces(round_, answer),
        *_draws(round_, answer),
        *_weights(answer.importance),
        *_left_open(round_),
        *_to_come(answer),
        *_adopted(answer),
    )


def _not_ready(answer: RoundAnswer) -> str:
    failed = [check for check in answer.checks if check.state == "failed"]
    if not failed:
        return "Nothing is concluded yet, for no run of the search has a score."
    others = "" if len(failed) < 2 else f" ({len(failed) - 1} more failed)"
    return f"Nothing is concluded yet, for a check failed{others}: {failed[0].text}"


def _compared(round_: Round, answer: RoundAnswer) -> list[str]:
    """Each arm against the incumbent's, best first; where the question is whether the target helps, the best alone."""
    told = [row for row in answer.isolation if row.difference is not None and row.difference_ci95 is not None]
    if not told:
        return ["Fewer than two arms have a score: there is nothing to compare."]
    ranked = sorted(told, key=lambda row: -gain_of(row.difference or 0.0, round_))
    if round_.goal.kind == "effect":
        return [f"{_difference(round_, row)}." for row in ranked] + [_adopt_hint(round_, ranked[0])]
    return [_helps(round_, ranked[0])]


def _helps(round_: Round, row: IsolationRow) -> str:
    assert row.difference_ci95 is not None
    low, high = gain_ends(row.difference_ci95, round_)
    question = f"{round_.goal.question} " if round_.goal.question else ""
    price = round_.minimum_gain
    if low > 0:
        return f"{question}It looks so: {_difference(round_, row)}; {_not_yet(round_)}."
    if high <= 0 or high < price:
        worth = "" if high <= 0 else f", below the {amount(price, round_.metric)} that a change must be worth"
        return f"{question}It does not look so: {_difference(round_, row)}{worth}."
    return f"{question}The search cannot tell: {_difference(round_, row)}. Fresh seeds can: `{adopt_command(round_)}`."


def _difference(round_: Round, row: IsolationRow) -> str:
    """`mlp:64x64 is expected to gain 1.2 points (0.3 to 2.0) over mlp:64 at 16 draws each`."""
    assert row.difference is not None
    assert row.difference_ci95 is not None
    gain, metric = gain_of(row.difference, round_), round_.metric
    gains = gain_ends(row.difference_ci95, round_)
    interval = ends(gains if gain >= 0 else turned(gains), metric)
    return (
        f"{arm_words(round_, row.arm)} is expected to {_change(round_, gain)} ({interval}) "
        f"{'over' if is_share(metric) and gain >= 0 else 'against'} {arm_words(round_, reference_arm(round_))} "
        f"at {count_of(row.k, 'draw')} each"
    )


def _change(round_: Round, gain: float) -> str:
    metric = round_.metric
    if is_share(metric):
        return f"{'gain' if gain >= 0 else 'lose'} {amount(gain, metric)}"
    goes_up = (gain >= 0) == round_.metric.higher_is_better
    return f"{'raise' if goes_up else 'lower'} {metric.name} by {amount(gain, metric)}"


def _adopt_hint(round_: Round, best: IsolationRow) -> str:
    if gain_of(best.difference or 0.0, round_) <= 0:
        return f"No arm is expected to be better than {arm_words(round_, reference_arm(round_))}."
    return f"The best is {arm_words(round_, best.arm)}; {_not_yet(round_)}."


def _not_yet(round_: Round) -> str:
    return f"not yet evidence: `{adopt_command(round_)}`"


def _best(round_: Round, answer: RoundAnswer) -> list[str]:
    if answer.best is None:
        return []
    metric, row = round_.metric, answer.arms[0]
    beside = ""
    if answer.incumbent_scores:
        mean = sum(answer.incumbent_scores) / len(answer.incumbent_scores)
        seeds = count_of(len(answer.incumbent_scores), "seed")
        beside = f", the incumbent {figure(mean, metric)} over {seeds}"
    found = (
        f"The best of {count_of(row.trials, 'run')} has {metric.name} {figure(answer.best.score, metric)} with "
        f"{values_words(row.best_values)}{beside}."
    )
    if round_.goal.kind == "initial":
        return [f"{found} That is something to begin with: `traindyno round next {round_.name}`."]
    return [f"{found} The best of many flatters itself, and is {_not_yet(round_)}."]


def _paces(round_: Round, answer: RoundAnswer) -> list[str]:
    """Accuracy has its price in time: arms that train clearly slower or faster than the incumbent's, beyond chance."""
    reference = reference_arm(round_)
    others = [row.arm for row in answer.arms if row.arm != reference]
    ratios = time_ratios(_rates(answer, reference), [_rates(answer, arm) for arm in others])
    words = [
        f"{arm_words(round_, arm)} {ratio.words}"
        for arm, ratio in zip(others, ratios, strict=True)
        if ratio is not None and ratio.shown and not SLOWER < ratio.value < 1 / SLOWER
    ]
    if not words:
        return []
    return [f"Examples a second, as a multiple of those of {arm_words(round_, reference)}: {listed(words)}."]


def _rates(answer: RoundAnswer, arm: str) -> list[float]:
    """Of the arm's runs that had their machine to themselves."""
    runs = [each for each in answer.runs if each.draw.phase != "gate" and each.draw.arm == arm]
    return [each.examples_per_second for each in runs if each.inside and each.feasible and each.examples_per_second]


def _draws(round_: Round, answer: RoundAnswer) -> list[str]:
    """Whether more draws would find better ones."""
    growing = [each for each in answer.best_of_k if each.saturated is False]
    if growing:
        added = [
            f"{amount(each.expected[-1] - each.expected[(len(each.expected) + 1) // 2 - 1], round_.metric)}"
            + (f" in {arm_words(round_, each.arm)}" if round_.target is not None else "")
            for each in growing
        ]
        return [f"The last doubling of draws still added {listed(added)}: more trials may find better values."]
    if answer.best_of_k and all(each.saturated for each in answer.best_of_k):
        return ["More draws from the same ranges would add little: the search is saturated."]
    return []


def _weights(importance: Sequence[Importance]) -> list[str]:
    """Which nuisances must be tuned each time, and which are no more than chance.

    The share of one alone would only tell how well a simple curve fits, so it is left away.
    """
    names = list(dict.fromkeys(each.parameter for each in importance))
    found = {name: [each for each in importance if each.parameter == name] for name in names}
    matter = [name for name, rows in found.items() if any(row.is_important for row in rows)]
    idle = [name for name, rows in found.items() if all(row.is_important is False for row in rows)]
    sentences = []
    if matter:
        shares = {name: max(row.importance for row in found[name] if row.is_important) for name in matter}
        ranked = sorted(matter, key=lambda name: -shares[name])
        told = [f"{name} ({shares[name]:.0%})".replace("%", " %") if len(names) > 1 else name for name in ranked]
        sentences.append(f"Scores depend on {listed(told)}: tune again with every change.")
    if idle:
        sentences.append(f"No more than chance in these ranges: {listed(idle)}.")
    if open_ := [name for name in names if name not in (*matter, *idle)]:
        sentences.append(f"Whether {listed(open_)} matter{'s' if len(open_) == 1 else ''}, so few runs do not tell.")
    return sentences


def _left_open(round_: Round) -> list[str]:
    caveats = [each.caveat for each in round_.parameters if each.role == "fixed" and each.said and each.caveat]
    return [f"Left open by what is fixed: {'; '.join(caveats)}."] if caveats else []


def _to_come(answer: RoundAnswer) -> list[str]:
    left = answer.planned_trials - len(answer.runs)
    if left <= 0:
        return []
    verb = "is" if left == 1 else "are"
    return [f"{left} of {answer.planned_trials} planned runs {verb} still to come: all this may change."]


def _adopted(answer: RoundAnswer) -> list[str]:
    words = {
        "adopt": "adopted a new configuration",
        "keep": "kept the incumbent",
        "undecided": "not decided it yet",
        "equivalent": "shown no difference worth having",
    }
    return [] if answer.adopted is None else [f"Fresh seeds have {words[answer.adopted]} since: that is the evidence."]
