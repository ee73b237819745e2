import csv
import io
import math

import msgspec
import pytest

from report.documents import (
    ALL,
    compare_document,
    max_batch_document,
    plan_document,
    several_models_document,
    throughput_answer,
    throughput_document,
)
from traindyno.core.answers import Document
from traindyno.report.renderers.csv_rows import render_csv


def read(document: Document) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(document))))


@pytest.mark.parametrize("name", ALL)
def test_every_row_fills_exactly_the_columns(name: str) -> None:
    rows = list(csv.reader(io.StringIO(render_csv(ALL[name]()))))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(set(rows[0])) == len(rows[0])


def test_a_curve_gives_a_row_per_point_and_one_for_the_memory_edge() -> None:
    rows = read(throughput_document())
    assert [int(row["batch_size"]) for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
    assert rows[8]["examples_per_second"] == "2214.0"
    assert (rows[8]["recommended"], rows[9]["best"]) == ("true", "true")
    assert (rows[-1]["outcome"], rows[-1]["examples_per_second"]) == ("out_of_device_memory", "")


def test_what_is_not_finite_is_empty() -> None:
    point = msgspec.structs.replace(throughput_answer().curve[0], ci95=(math.nan, math.inf))
    row = read(throughput_document(answer=throughput_answer(curve=(point,))))[0]
    assert row["examples_per_second_ci95_low"] == row["examples_per_second_ci95_high"] == ""


def test_a_search_gives_a_row_per_probe() -> None:
    rows = read(max_batch_document())
    assert [row["probe_batch_size"] for row in rows] == ["32", "128", "1697", "1712", "1704", "1680", "1616"]
    assert {row["safe_batch"] for row in rows} == {"1616"}


def test_a_search_without_trials_still_gives_its_answer() -> None:
    rows = read(max_batch_document(trials=()))
    assert [(row["safe_batch"], row["probe_batch_size"]) for row in rows] == [("1616", "")]


def test_probes_stand_beside_the_model_they_belong_to() -> None:
    rows = read(several_models_document())
    assert [(row["model"], row["probe_batch_size"]) for row in rows][-1] == (
        "jobs/detector.py:build_model",
        "1",
    )
    assert len(rows) == 4


def test_plans_and_comparisons_give_a_row_each() -> None:
    assert [row["fastest"] for row in read(plan_document())].count("true") == 1
    assert len(read(compare_document())) == 10
