"""What a search that was cut short says of switches, and of gains that its rounds leave open."""

import re

from search.simulated_find import BASELINE, COMPUTE_BOUND, answer_of, goal_of, search
from search.test_find_disturbed import slowed
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.core.answers.find import FindAnswer
from traindyno.core.records import TrialRecord


def left_out(found: FindAnswer) -> str:
    """The sentence on switches that had not run end to end; empty where there is none."""
    return next((verdict for verdict in found.verdicts if "had not run end to end yet" in verdict), "")


def test_no_switch_that_is_recommended_is_told_as_left_out() -> None:
    goal = goal_of(cpus=24)
    whole = search(goal)
    cuts = [answer_of(goal, whole[:cut]) for cut in range(1, len(whole))]
    for found in cuts:
        named = re.findall(r"(\w+)=\w+", left_out(found))
        assert not set(named) & set(found.recommended.changes)
    first_round = next(place for place, record in enumerate(whole) if record.spec.repeat == FIRST_ROUND)
    assert "precision" in cuts[first_round].recommended.changes
    assert not left_out(cuts[first_round])


def test_switches_that_are_left_out_are_named_with_what_they_gained_in_pairs() -> None:
    goal = goal_of()
    whole = search(goal, COMPUTE_BOUND)
    last_pair = max(place for place, record in enumerate(whole) if record.spec.kind == "pair")
    told = left_out(answer_of(goal, whole[: last_pair + 1]))
    assert "precision=bf16" in told
    assert re.search(r"made the step \d\.\d\d times as fast in pairs", told)


def unlike_rounds(record: TrialRecord, by: float = 40.0) -> TrialRecord:
    """What is not the baseline breaks down in the second of the last rounds."""
    changed = record.spec.settings != BASELINE and record.spec.repeat == FIRST_ROUND + 1
    return slowed(record, by) if changed else record


def test_a_large_gain_that_the_rounds_leave_open_is_not_settled_and_nothing_is_recommended() -> None:
    goal = goal_of(keep=("batch_size",))
    found = answer_of(goal, search(goal, tamper=unlike_rounds))
    best = max(found.finalists, key=lambda each: each.speedup)
    assert best.speedup > 1.05
    assert best.speedup_ci95[0] <= 1.0
    assert (found.speedup, found.recommended.changes) == (1.0, {})
    assert found.verdicts[0].startswith("Not settled: ")
    assert all(name in found.verdicts[0] for name in best.changes)
    assert f"may be {best.speedup:.2f} times as fast as the baseline (± over 100 %)" in found.verdicts[0]
    assert "--repeats) or a quieter machine would settle it" in found.verdicts[0]
    assert not any("nothing to change" in verdict for verdict in found.verdicts)
    assert sum("would tell" in verdict or "would settle" in verdict for verdict in found.verdicts) == 1


def test_an_interval_that_means_something_is_told_with_its_ends() -> None:
    goal = goal_of(keep=("batch_size",))
    found = answer_of(goal, search(goal, tamper=lambda record: unlike_rounds(record, by=6.0)))
    best = max(found.finalists, key=lambda each: each.speedup)
    low, high = best.speedup_ci95
    assert low <= 1.0
    assert f"({low:.2f} to {high:.2f}). More rounds" in found.verdicts[0]


def test_a_search_cut_among_rounds_that_differ_is_not_settled_either() -> None:
    goal = goal_of(keep=("batch_size",))
    whole = search(goal, tamper=unlike_rounds)
    third = next(place for place, record in enumerate(whole) if record.spec.repeat == FIRST_ROUND + 2)
    found = answer_of(goal, whole[:third])
    assert found.recommended.changes == {}
    assert found.verdicts[0].startswith("Not settled before the search was cut short: ")
