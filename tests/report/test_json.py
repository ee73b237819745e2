import json
import math

import msgspec
import pytest

from report.documents import ALL, max_batch_document, throughput_answer, throughput_document
from traindyno.report.renderers.json_text import render_json


def refuse(constant: str) -> float:
    raise ValueError(constant)


@pytest.mark.parametrize("name", ALL)
def test_it_is_strict_json_with_the_promised_fields_first(name: str) -> None:
    fields = json.loads(render_json(ALL[name]()), parse_constant=refuse)
    assert list(fields)[:6] == ["schema", "command", "study", "answer", "trials", "warnings"]
    assert fields["schema"] == "traindyno/1"


def test_not_a_number_becomes_null() -> None:
    point = msgspec.structs.replace(throughput_answer().curve[0], ci95=(math.nan, math.inf))
    document = throughput_document(answer=throughput_answer(curve=(point,)))
    assert json.loads(render_json(document))["answer"]["curve"][0]["ci95"] == [None, None]


def test_it_is_plain_ascii_whatever_a_log_contains() -> None:
    assert render_json(max_batch_document(warnings=("half a character: \udce4, 显存满了",))).isascii()


def test_each_trial_has_settings_outcome_seconds_and_a_measurement_or_a_failure() -> None:
    for entry in json.loads(render_json(throughput_document()))["trials"]:
        assert {"settings", "outcome", "seconds", "kind", "conditions"} <= set(entry)
        assert ("measurement" in entry) != ("failure" in entry)
        assert ("measurement" in entry) == (entry["outcome"] == "ok")
