"""What binds a step, how long training takes and what was tried, as a reader sees it."""

import math

import msgspec

from report.find_documents import find_answer, nothing_gained, with_answer
from report.test_find_view import chapters_of, drawn
from traindyno.core.answers import Attempt
from traindyno.report.views import view_of
from traindyno.report.views.find_attempts import tried_table


def test_a_step_that_shares_its_cpus_with_the_loader_is_labelled_so() -> None:
    document = with_answer(bound_before="not settled", bound_after="compute, shared with the loader")
    labels = {row["label"] for row in drawn(chapters_of(document)["Before and after"].chart, "label")}
    assert {"bound not settled", "compute-bound (shared with the loader)"} <= labels


def test_training_that_does_not_change_takes_one_time_and_not_two() -> None:
    time = find_answer().training_time
    assert time is not None
    document = nothing_gained()
    alone = msgspec.structs.replace(document, answer=msgspec.structs.replace(document.answer, training_time=time))
    (line,) = [line for line in view_of(alone).conclusion(alone) if line.startswith("Training for")]
    assert "→" not in line


def test_what_was_adopted_by_a_prediction_is_among_what_was_tried() -> None:
    bet = Attempt(side="data", change="num_workers=9", outcome="adopted by it", adopted=True, ratio=2.0, predicted=True)
    (table,) = tried_table(find_answer(attempts=(bet,)))
    assert table.rows[0].cells == ("num_workers=9", "2.00× (predicted)", "adopted by it")
    assert table.legend == ()


def test_a_speed_whose_interval_has_no_end_does_not_look_exact() -> None:
    once = Attempt(side="data", change="num_workers=4", outcome="not told", ratio=0.9, ci95=(0.0, math.inf), trials=1)
    (table,) = tried_table(find_answer(attempts=(once,)))
    assert table.rows[0].cells[1] == "0.90× ± over 100 %"
