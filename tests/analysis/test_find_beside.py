"""The two rates that an answer names give the ratio that it names, also where rounds differ much."""

import re

import pytest

from search.simulated_find import BASELINE, answer_of, goal_of, search
from search.test_find_disturbed import slowed
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.core.answers.find import FindAnswer
from traindyno.core.records import TrialRecord
from traindyno.report.views.find_tables import finalists_table
from traindyno.report.views.find_words import answer_line

DISTURBED = 1.6


def disturbed(record: TrialRecord) -> TrialRecord:
    """The baseline is slower in the last two rounds, all others in the last: the middle rates are of unlike rounds."""
    is_baseline, number = record.spec.settings == BASELINE, record.spec.repeat - FIRST_ROUND
    return slowed(record, DISTURBED) if number == 2 or (number == 1 and is_baseline) else record


def answer(*, calm: bool = False) -> FindAnswer:
    goal = goal_of(keep=("batch_size",))
    history = search(goal) if calm else search(goal, tamper=disturbed)
    return answer_of(goal, history, epochs=90.0, epoch_examples=50_000)


def named_ratio(sentence: str) -> tuple[float, float]:
    """How many times as fast a sentence says it is, and what the rates in it give."""
    ratio = re.search(r"([\d.]+) times", sentence)
    rates = re.search(r"([\d.,]+) → ([\d.,]+) examples/s", sentence)
    assert ratio is not None
    assert rates is not None
    before, after = (float(each.replace(",", "")) for each in rates.groups())
    return float(ratio[1]), after / before


def test_rates_in_the_answer_give_its_ratio_although_the_middle_rates_do_not() -> None:
    found = answer()
    assert found.recommended.changes
    apart = found.recommended.examples_per_second / found.baseline.examples_per_second
    assert apart == pytest.approx(DISTURBED * found.speedup, rel=0.02)
    for sentence in (answer_line(found), found.verdicts[0]):
        told, given = named_ratio(sentence)
        assert told == pytest.approx(found.speedup, abs=0.005)
        assert given == pytest.approx(told, rel=0.02)


def test_training_times_follow_the_same_rates() -> None:
    found = answer()
    time = found.training_time
    assert time is not None
    assert time.baseline_seconds / time.seconds == pytest.approx(found.speedup, rel=0.05)
    assert time.baseline_ci95[0] <= time.baseline_seconds <= time.baseline_ci95[1]


def test_what_is_recommended_keeps_its_measured_rate_and_the_table_explains_the_baseline_s() -> None:
    found = answer()
    assert f"→ {found.recommended.examples_per_second:,.0f} examples/s" in answer_line(found)
    (table,) = finalists_table(found)
    beside = found.recommended.examples_per_second / found.speedup
    assert f"beside it the baseline counts as {beside:,.3g} examples/s" in " ".join(table.legend)


def test_rates_that_give_the_ratio_are_told_as_they_were_measured() -> None:
    found = answer(calm=True)
    assert f": {found.baseline.examples_per_second:,.3g} → " in answer_line(found)
    (table,) = finalists_table(found)
    assert "counts as" not in " ".join(table.legend)
