"""What each change of an answer rests on: a trial, the simulation or a rule."""

import msgspec

from search.simulated_find import BASELINE, COMPUTE_BOUND, answer_of, goal_of, search
from traindyno.core.answers.find import Finalist


def grounds(found: Finalist) -> dict[str, str]:
    assert found.rests_on.keys() == found.changes.keys()
    return found.rests_on


def test_workers_that_stay_rest_on_a_rule_and_all_else_on_what_was_tried() -> None:
    goal = goal_of(cpus=8)
    found = answer_of(goal, search(goal))
    told = grounds(found.recommended)
    assert told["persistent_workers"] == "rule: workers do not start anew"
    for name in told.keys() - {"persistent_workers"}:
        (how, _, gain) = told[name].partition(", ")
        assert how in ("run", "pairs"), name
        ratio, _, others = gain.partition("×")
        tried = [each for each in found.attempts if each.adopted and f"{name}=" in each.change]
        assert f"{tried[-1].ratio:.2f}" == ratio
        assert all(other in tried[-1].change for other in others.replace(" with ", "").split(" and ") if other)


def test_what_came_in_together_is_named_beside_the_gain_of_both() -> None:
    goal = goal_of(cpus=24)
    told = grounds(answer_of(goal, search(goal, COMPUTE_BOUND)).recommended)
    assert told["precision"].startswith("pairs, ")
    assert told["precision"].endswith("× with memory_format")
    assert told["memory_format"].endswith("× with precision")


def test_another_batch_rests_on_a_run_of_its_own_and_the_simulation() -> None:
    goal = goal_of(cpus=64, batch_range=(1, 4096))
    found = answer_of(goal, search(goal, COMPUTE_BOUND + ",alpha_seconds=0.2"))
    free = found.with_free_batch
    assert free is not None
    assert grounds(free)["batch_size"] == "resident run, simulation"


def test_fewer_workers_that_were_only_foretold_rest_on_the_last_rounds() -> None:
    own = msgspec.structs.replace(BASELINE, num_workers=1)
    goal = goal_of(own, cpus=64)
    found = answer_of(goal, search(goal))
    fewer = [each for each in found.finalists if each.name.endswith((" workers", " worker"))]
    assert fewer
    assert all(grounds(each)["num_workers"] == "last rounds" for each in fewer)


def test_without_workers_there_are_none_to_stay() -> None:
    own = msgspec.structs.replace(BASELINE, num_workers=16)
    goal = goal_of(own, cpus=16)
    found = answer_of(goal, search(goal, COMPUTE_BOUND))
    without = [each for each in found.finalists if each.settings["num_workers"] == 0]
    assert without
    assert all("persistent_workers" not in each.changes for each in without)
