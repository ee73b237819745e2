"""Which of a round's arms are worth fresh seeds."""

from collections.abc import Mapping

import pytest

from traindyno.analysis.rounds.candidates import candidates_of
from traindyno.core.answers.rounds import ArmRow, RoundAnswer
from traindyno.core.round_file import round_of
from traindyno.core.rounds import Round

MODELS = ["mlp:64", "mlp:64x64", "mlp:64x64x64", "mlp:32", "mlp:16"]
GATE = (0.940, 0.942, 0.938, 0.941, 0.939)


def round_with(target: bool = True) -> Round:
    content = {
        "name": "depth",
        "goal": {"kind": "helps" if target else "maximise"},
        "job": {"model": "mlp:64", "data": "digits:", "batch_size": 64},
        "budget": {"trials": 8},
        "incumbent": {"learning_rate": 0.1},
    }
    return round_of({**content, "target": {"model": {"values": MODELS}}} if target else content, "depth.toml")


def answer(round_: Round, best: Mapping[str, float], *, gate: tuple[float, ...] = GATE) -> RoundAnswer:
    incumbent = {"model": "mlp:64", "data": "digits:", "batch_size": 64, "learning_rate": 0.1}
    rows = tuple(
        ArmRow(
            arm=arm,
            trials=8,
            feasible=8,
            infeasible={},
            best_score=score,
            best_values={"learning_rate": 0.2, **({"model": arm} if arm else {})},
            best_index=0,
            best_branch="",
        )
        for arm, score in best.items()
    )
    return RoundAnswer(
        round="depth",
        campaign="default",
        goal="helps",
        question=None,
        metric="accuracy",
        higher_is_better=True,
        target="model",
        ready=True,
        checks=(),
        arms=rows,
        isolation=(),
        best_of_k=(),
        importance=(),
        proposals=(),
        incumbent=incumbent,
        incumbent_scores=gate,
        best=None,
    )


def test_the_incumbent_comes_first_and_the_best_arm_next() -> None:
    round_ = round_with()
    candidates, left_out = candidates_of(round_, answer(round_, {"mlp:64": 0.95, "mlp:64x64": 0.955}))
    assert [each.label for each in candidates] == ["incumbent", "mlp:64x64", "mlp:64"]
    assert candidates[1].changes["model"] == "mlp:64x64"
    assert "model" not in candidates[2].changes
    assert candidates[2].changes["learning_rate"] == 0.2
    assert (candidates[1].search_score, left_out) == (0.955, ())


def test_at_most_three_are_proved_and_the_others_are_told() -> None:
    round_ = round_with()
    scores = dict(zip(MODELS, (0.951, 0.952, 0.953, 0.954, 0.950), strict=True))
    candidates, left_out = candidates_of(round_, answer(round_, scores))
    assert [each.label for each in candidates[1:]] == ["mlp:32", "mlp:64x64x64", "mlp:64x64"]
    assert left_out == ("mlp:64", "mlp:16")


def test_an_arm_that_is_clearly_behind_needs_no_fresh_seeds() -> None:
    round_ = round_with()
    scores = {"mlp:64": 0.95, "mlp:16": 0.80}
    assert candidates_of(round_, answer(round_, scores))[1] == ("mlp:16",)
    of_two_seeds = answer(round_, {"mlp:64": 0.95, "mlp:16": 0.94}, gate=(0.940, 0.941))
    assert candidates_of(round_, of_two_seeds)[1] == (), "two seeds say too little about the spread"


def test_arms_that_are_named_are_proved_however_far_behind_they_are() -> None:
    round_ = round_with()
    candidates, _ = candidates_of(round_, answer(round_, {"mlp:64": 0.95, "mlp:16": 0.50}), ["mlp:16"])
    assert [each.label for each in candidates] == ["incumbent", "mlp:16"]


@pytest.mark.parametrize("score", [0.9, 0.99])
def test_a_round_without_a_target_has_one_candidate(score: float) -> None:
    round_ = round_with(target=False)
    candidates, _ = candidates_of(round_, answer(round_, {"": score}))
    assert [each.label for each in candidates] == ["incumbent", "tuned"]
