"""Which nuisances matter: a dominant one is found, an irrelevant one is seldom taken for important."""

from collections.abc import Mapping

import msgspec
import pytest

from analysis.rounds.conclude_cases import DECAY, LOSS, MOMENTUM, RATE, a_round, searched
from traindyno.analysis.rounds.importance import importance_in
from traindyno.core.rounds import ALONE, Parameter, Range

ROUND = a_round(RATE, MOMENTUM, DECAY)
ROUNDS = 60


def by_rate(places: Mapping[str, float]) -> float:
    return 0.97 - 0.5 * (places["learning_rate"] - 0.6) ** 2


def falling_off(places: Mapping[str, float]) -> float:
    return 0.3 if places["learning_rate"] > 0.8 else 0.97 - 0.2 * abs(places["learning_rate"] - 0.7)


def by_nothing(places: Mapping[str, float]) -> float:
    return 0.9


def test_a_dominant_parameter_is_found_in_twenty_runs() -> None:
    for shape in (by_rate, falling_off):
        found = [importance_in(ROUND, ALONE, searched(ROUND, 20, shape, seed=seed)) for seed in range(ROUNDS)]
        assert sum(bool(rows[0].is_important) for rows in found) >= 0.9 * ROUNDS
        assert sum(bool(row.is_important) for rows in found for row in rows[1:]) <= 0.1 * 2 * ROUNDS


def test_where_nothing_matters_little_is_called_important() -> None:
    found = [importance_in(ROUND, ALONE, searched(ROUND, 20, by_nothing, seed=seed)) for seed in range(ROUNDS)]
    assert sum(bool(row.is_important) for rows in found for row in rows) <= 0.1 * 3 * ROUNDS


def test_shares_are_those_of_what_varies() -> None:
    rate, momentum, decay = importance_in(ROUND, ALONE, searched(ROUND, 40, by_rate))
    assert rate.importance > 0.6
    assert max(momentum.importance, decay.importance) < 0.1
    assert (rate.is_important, momentum.is_important, decay.is_important) == (True, False, False)
    assert rate.ci95[0] <= rate.importance <= rate.ci95[1] <= 1.0
    assert rate.stable > 0.9


def test_the_same_runs_always_say_the_same() -> None:
    runs = searched(ROUND, 16, by_rate)
    assert importance_in(ROUND, ALONE, runs) == importance_in(ROUND, ALONE, runs)


def test_too_few_runs_say_nothing() -> None:
    rows = importance_in(ROUND, ALONE, searched(ROUND, 8, by_rate))
    assert [row.is_important for row in rows] == [None, None, None]
    assert importance_in(ROUND, ALONE, []) == ()


def test_a_loss_depends_on_the_same_as_an_accuracy() -> None:
    runs = searched(ROUND, 20, by_rate)
    losses = [msgspec.structs.replace(run, score=1 - (run.score or 0.0)) for run in runs]
    shares = [row.importance for row in importance_in(ROUND, ALONE, runs)]
    turned = [row.importance for row in importance_in(a_round(RATE, MOMENTUM, DECAY, metric=LOSS), ALONE, losses)]
    assert [f"{share:.6f}" for share in shares] == [f"{share:.6f}" for share in turned]


def test_a_conditional_parameter_is_judged_by_the_runs_that_have_it() -> None:
    """The rates of two optimisers, of which only one matters, and the optimiser itself, which lifts all scores."""
    optimizer = Parameter(name="optimizer", role="nuisance", values=("sgd", "adam"))
    one, two = (
        Parameter(
            name=f"{name}_rate",
            role="nuisance",
            range=Range(low=1e-4, high=1.0, scale="log"),
            sets="learning_rate",
            under=("optimizer", name),
        )
        for name in ("sgd", "adam")
    )
    round_ = a_round(optimizer, one, two)
    sgd = searched(
        round_, 14, lambda places: 0.8 - 0.4 * (places["sgd_rate"] - 0.6) ** 2,
        branch="optimizer=sgd", settled={"optimizer": "sgd"},
    )  # fmt: skip
    adam = searched(
        round_, 14, lambda places: 0.95, branch="optimizer=adam", settled={"optimizer": "adam"}, seed=1
    )  # fmt: skip
    found = {row.parameter: row for row in importance_in(round_, ALONE, [*sgd, *adam])}
    assert found["optimizer"].is_important
    assert found["sgd_rate"].is_important
    assert not found["adam_rate"].is_important


def test_a_rate_that_only_decides_whether_runs_diverge_matters() -> None:
    runs = [
        msgspec.structs.replace(run, score=None, ending="diverged") if run.draw.values["learning_rate"] > 0.1 else run
        for run in searched(ROUND, 20, by_nothing)
    ]
    found = {row.parameter: row.is_important for row in importance_in(ROUND, ALONE, runs)}
    assert found["learning_rate"]
    assert not found["momentum"]
    lost = [msgspec.structs.replace(run, ending="crashed") if run.score is None else run for run in runs]
    assert not {row.parameter: row.is_important for row in importance_in(ROUND, ALONE, lost)}["learning_rate"]


def test_what_so_few_runs_say_lies_anywhere() -> None:
    round_ = a_round(RATE)
    (row,) = importance_in(round_, "", searched(round_, 8, lambda at: -((at["learning_rate"] - 0.5) ** 2)))
    assert (row.ci95, row.is_important) == ((0.0, 1.0), None)


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_a_share_of_nearly_all_ends_at_all(seed: int) -> None:
    round_ = a_round(RATE)
    runs = searched(round_, 12, lambda at: -((at["learning_rate"] - 1.2) ** 2), seed=seed)
    (row,) = importance_in(round_, "", runs)
    assert row.is_important
    assert 0.4 < row.ci95[0] <= row.importance <= row.ci95[1] == 1
