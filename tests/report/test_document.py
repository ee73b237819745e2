import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.documents import (
    compare_document,
    loader_document,
    max_batch_document,
    plan_document,
    several_models_document,
    stalls_document,
    throughput_answer,
    throughput_document,
    trial,
    unanswered_document,
)
from traindyno.core.answers import Document, ThroughputAnswer
from traindyno.core.errors import TraindynoError
from traindyno.core.outcomes import Outcome
from traindyno.report.document import trial_entry, typed_answer
from traindyno.report.renderers.json_text import render_json

ANSWERED = [throughput_document, max_batch_document, several_models_document, plan_document, compare_document]
ANSWERED += [loader_document, stalls_document]


def exported(document: Document) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(render_json(document))
    return fields


@pytest.mark.parametrize("make", [*ANSWERED, unanswered_document])
def test_an_exported_document_reads_back_as_it_was(make: Any) -> None:
    again = typed_answer(exported(make()))
    assert again.answer == make().answer
    assert exported(again) == exported(make())


@given(st.lists(st.floats(), min_size=4, max_size=4))
def test_any_figures_survive_the_way_out_and_back(figures: list[float]) -> None:
    rate, low, high, share = figures
    point = msgspec.structs.replace(
        throughput_answer().curve[0], examples_per_second=rate, ci95=(low, high), memory_share=share
    )
    document = throughput_document(answer=throughput_answer(curve=(point,)), trials=())
    assert render_json(typed_answer(exported(document))) == render_json(document)


def test_a_null_where_a_number_must_stand_is_not_a_number_again() -> None:
    fields = exported(throughput_document())
    fields["answer"]["curve"][0]["ci95"] = [None, None]
    answer: ThroughputAnswer = typed_answer(fields).answer
    assert all(math.isnan(end) for end in answer.curve[0].ci95)


def test_fields_of_a_later_version_are_left_out() -> None:
    fields = exported(plan_document())
    fields["answer"]["rows"][0]["carbon_grams"] = 12
    fields["invented_later"] = True
    assert exported(typed_answer(fields)) == exported(plan_document())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "traindyno/9"}, "traindyno/9"),
        ({"command": "studies"}, "studies"),
        ({"command": None}, "None"),
        ({"error": {"message": "no"}}, "error"),
        ({"answer": {"fastest": 3}}, "damaged"),
        ({"answer": 3}, "damaged"),
        ({"trials": 7}, "damaged"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_hint(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TraindynoError, match=message) as refused:
        typed_answer(exported(plan_document()) | change)
    assert refused.value.hint


@pytest.mark.parametrize("content", [{}, [], "text", {"curve": []}])
def test_a_file_of_something_else_is_refused(content: Any) -> None:
    with pytest.raises(TraindynoError, match="not a traindyno document"):
        typed_answer(content)


def test_an_entry_holds_a_measurement_or_a_failure() -> None:
    good, bad = trial_entry(trial(8)), trial_entry(trial(9, Outcome.OUT_OF_DEVICE_MEMORY))
    assert good["measurement"]["batch_size"] == 8
    assert "failure" not in good
    assert bad["failure"]["remedy"]
    assert "measurement" not in bad
    assert (bad["outcome"], bad["settings"]["batch_size"]) == ("out_of_device_memory", 9)
