"""How many runs gave no score and in which ways, and which parameter parts them from the others."""

from collections import Counter
from collections.abc import Sequence

from traindyno.analysis.rounds.arms import runs_by_arm
from traindyno.analysis.rounds.borders import Border, border_of
from traindyno.analysis.rounds.next_steps import ENDING_WORDS, REMEDIES, set_ends
from traindyno.analysis.rounds.widening import number_at
from traindyno.analysis.rounds.words import arm_words
from traindyno.analysis.training import NEVER_FINITE
from traindyno.core.answers.rounds import Check, CheckState
from traindyno.core.rounds import ALONE, Ending, Parameter, Round, RoundTrial

NAME = "feasible"
WARNING_SHARE = 1 / 3
FAILED_SHARE = 1 / 2


def feasibility_checks(round: Round, trials: Sequence[RoundTrial]) -> tuple[Check, ...]:
    """One check for each arm that was searched."""
    return tuple(_check(round, arm, runs) for arm, runs in runs_by_arm(round, trials).items() if runs)


def _check(round: Round, arm: str, runs: Sequence[RoundTrial]) -> Check:
    lost = Counter(each.ending for each in runs if not each.feasible)
    sharpest = min(_borders(round, runs), key=lambda pair: pair[1].chance, default=None)
    state = _state(lost.total() / len(runs))
    return Check(
        name=NAME,
        state=state,
        text=_text(round, arm, runs, lost, sharpest),
        next_step=None if state == "passed" else _next_step(round, runs, lost, sharpest),
        subject=arm or None,
    )


def _state(share: float) -> CheckState:
    return "failed" if share > FAILED_SHARE else "warning" if share > WARNING_SHARE else "passed"


def _borders(round: Round, runs: Sequence[RoundTrial]) -> list[tuple[Parameter, Border]]:
    ranged = [each for each in round.searched if each.range is not None]
    found = [(parameter, border_of(parameter, runs)) for parameter in ranged]
    return [(parameter, border) for parameter, border in found if border is not None]


def _text(
    round: Round,
    arm: str,
    runs: Sequence[RoundTrial],
    lost: Counter[Ending],
    sharpest: tuple[Parameter, Border] | None,
) -> str:
    where = f" of {arm_words(round, arm)}" if arm != ALONE else ""
    if not lost:
        return f"{'The only run' if len(runs) == 1 else f'All {len(runs)} runs'}{where} gave a score."
    ways = ", ".join(f"{count} {ENDING_WORDS[ending]}" for ending, count in lost.most_common())
    those = "The only run" if len(runs) == 1 else f"{lost.total()} of {len(runs)} runs"
    told = f"{those}{where} gave no score: {ways}."
    if sharpest is None:
        return told
    parameter, border = sharpest
    side = "above" if border.above else "below"
    most = lost.most_common(1)[0][0] if len(lost) == 1 else None
    how = ENDING_WORDS[most] if most is not None else "gave none"
    number = number_at(parameter, border.place)
    return f"{told} {border.failed} of {border.runs} runs with {parameter.name} {side} {number:.2g} {how}."


def _next_step(
    round: Round, runs: Sequence[RoundTrial], lost: Counter[Ending], sharpest: tuple[Parameter, Border] | None
) -> str:
    if sharpest is not None:
        parameter, border = sharpest
        end = float(f"{number_at(parameter, border.place):.2g}")
        return set_ends(round, parameter, None if border.above else end, end if border.above else None)
    most = lost.most_common(1)[0][0]
    if most == "diverged" and all(each.never_finite for each in runs if each.ending == most):
        return f"No loss was a number, from the first step on, so that no rate is at fault. {NEVER_FINITE}"
    messages = Counter(each.message for each in runs if each.ending == most and each.message)
    why = f" Most often: {messages.most_common(1)[0][0]}" if messages else ""
    return f"{REMEDIES[most]}{why}"
