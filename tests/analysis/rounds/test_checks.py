"""All checks of a round together, as `round analyse` tells them first."""

import msgspec

from analysis.rounds.conclude_cases import DEPTH, RATE, a_round, searched
from analysis.rounds.test_gate import a_gate_run
from traindyno.analysis.rounds.checks import check_round
from traindyno.core.rounds import Goal, RoundTrial

ROUND = a_round(DEPTH, RATE)


def gate(*scores: float) -> list[RoundTrial]:
    return [a_gate_run(score, index) for index, score in enumerate(scores)]


def a_search() -> list[RoundTrial]:
    """Two arms with their optimum in the middle, of which the second is better."""
    first, second = (
        searched(ROUND, 16, lambda at: -((at["learning_rate"] - 0.5) ** 2), arm=arm, settled={"model": arm})
        for arm in ("mlp:64", "mlp:64x64")
    )
    lifted = [(run, lift) for runs, lift in ((first, 0.9), (second, 0.95)) for run in runs]
    return [msgspec.structs.replace(run, score=lift + (run.score or 0.0)) for run, lift in lifted]


def test_nothing_but_the_gate_is_checked_before_the_search() -> None:
    assert [check.name for check in check_round(ROUND, gate(0.8, 0.81, 0.82))] == ["gate"]


def test_a_sound_round_passes_all_that_can_be_told() -> None:
    checks = check_round(ROUND, [*gate(0.79, 0.8, 0.81), *a_search()])
    names = [check.name for check in checks]
    assert names[0] == "gate"
    assert names[-1] == "seeds"
    assert {"feasible", "enough points", "search space", "curves"} <= set(names)
    assert not [check for check in checks if check.state in ("failed", "warning")]


def test_whatever_does_not_hold_comes_with_a_next_step() -> None:
    worse = [a_gate_run(0.1, 0), *a_search()[:5]]
    broken = [check for check in check_round(ROUND, worse) if check.state in ("failed", "warning")]
    assert broken
    assert all(check.next_step for check in broken)


def test_the_order_of_runs_changes_nothing() -> None:
    runs = [*gate(0.8, 0.805, 0.81), *a_search()]
    assert check_round(ROUND, runs) == check_round(ROUND, runs[::-1])


def test_a_first_configuration_is_judged_by_the_best_of_its_search() -> None:
    round_ = a_round(RATE, goal=Goal(kind="initial"), incumbent={})
    runs = [a_gate_run(0.6 + index / 50, index, phase="search") for index in range(8)]
    checks = check_round(round_, runs)
    assert (checks[0].name, checks[0].state) == ("gate", "passed")
    assert "seeds" not in [check.name for check in checks]
