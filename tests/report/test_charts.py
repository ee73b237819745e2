import json
import math
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.documents import (
    ALL,
    compare_document,
    curve,
    failed_document,
    max_batch_answer,
    max_batch_document,
    plan_document,
    simulated_document,
    throughput_answer,
    throughput_document,
    unanswered_document,
)
from traindyno.report.charts.plan import time_unit
from traindyno.report.charts.style import TICK_PIXELS, WIDTH, tick_sizes
from traindyno.report.views import view_of


def chart_of(document: Any) -> dict[str, Any]:
    chart = view_of(document).chart(document)
    assert chart is not None
    return chart


def values(chart: dict[str, Any], field: str) -> list[Any]:
    """Every value of a field in any of the chart's data."""
    return [row[field] for rows in chart["datasets"].values() for row in rows if field in row]


@pytest.mark.parametrize("name", [name for name in ALL if name != "unanswered"])
def test_every_chart_is_strict_json_and_the_same_each_time(name: str) -> None:
    chart = chart_of(ALL[name]())
    assert json.dumps(chart, allow_nan=False) == json.dumps(chart_of(ALL[name]()), allow_nan=False)


def test_a_study_without_an_answer_has_no_chart() -> None:
    assert view_of(unanswered_document()).chart(unanswered_document()) is None


def test_throughput_and_memory_share_a_logarithmic_axis_ticked_at_the_sizes() -> None:
    chart = chart_of(throughput_document())
    assert len(chart["vconcat"]) == 2
    axes = [
        layer["encoding"]["x"] for panel in chart["vconcat"] for layer in panel["layer"] if "x" in layer["encoding"]
    ]
    logarithmic = [axis for axis in axes if "scale" in axis]
    assert {(axis["scale"]["type"], axis["scale"]["base"]) for axis in logarithmic} == {("log", 2)}
    assert logarithmic[0]["axis"]["values"] == [*(2**power for power in range(12))]
    assert chart["resolve"] == {"scale": {"x": "shared"}}


def test_the_marked_points_are_named() -> None:
    chart = chart_of(throughput_document())
    assert set(values(chart, "name")) == {
        "recommended: batch 256, 2,214 examples/s",
        "best: batch 512, 2,257 examples/s",
    }
    assert {"saturated from 128", "out of memory", "memory limit 139 GiB"} <= set(values(chart, "label"))


def test_one_point_can_be_both_best_and_recommended() -> None:
    chart = chart_of(throughput_document(answer=throughput_answer(best_batch=256)))
    assert set(values(chart, "name")) == {"best and recommended: batch 256, 2,214 examples/s"}


def test_what_is_unknown_is_left_out_of_the_picture() -> None:
    bare = tuple(msgspec.structs.replace(point, ci95=(math.nan, math.inf)) for point in curve()[:1])
    answer = throughput_answer(
        curve=bare, saturated_from=None, out_of_memory_from=None, memory_limit_bytes=None, memory_model=None
    )
    chart = chart_of(throughput_document(answer=answer))
    assert values(chart, "label") == []
    assert set(values(chart, "batch_size")) == {1}


def test_signs_of_doubt_stay_in_the_picture_however_wide_the_interval() -> None:
    points = curve()[:3]
    wide = [msgspec.structs.replace(each, steady=False, ci95=(1.0, 50 * each.examples_per_second)) for each in points]
    chart = chart_of(throughput_document(answer=throughput_answer(curve=tuple(wide))))
    layers = [layer for layer in chart["vconcat"][0]["layer"] if "y" in layer["encoding"]]
    axis = next(layer["encoding"]["y"] for layer in layers if layer["encoding"]["y"].get("field") == "rate")
    signs = next(layer for layer in layers if layer["mark"].get("text") == "(!)")
    places = [row[signs["encoding"]["y"]["field"]] for row in chart["datasets"][signs["data"]["name"]]]
    assert max(places) < axis["scale"]["domain"][1]


def test_a_saturation_outside_the_measured_sizes_does_not_stretch_the_chart() -> None:
    assert "saturated from 128" not in values(chart_of(failed_document()), "label")


def test_a_probe_out_of_memory_stands_where_the_model_expected_it() -> None:
    chart = chart_of(max_batch_document())
    assert values(chart, "probe").count("out of memory") == 1
    assert values(chart, "probe").count("ran") == 6
    assert {"safe: 1616", "largest that runs: 1704"} <= set(values(chart, "label"))


def test_a_search_in_which_nothing_ran_has_nothing_to_place() -> None:
    answer = max_batch_answer(safe_batch=None, max_batch=None, memory_model=None, memory_limit_bytes=None)
    document = max_batch_document(answer=answer, trials=())
    assert view_of(document).chart(document) is None


def test_the_fastest_plan_is_picked_out() -> None:
    chart = chart_of(plan_document())
    fastest = zip(values(chart, "batch_size"), values(chart, "fastest"), strict=True)
    assert {size for size, picked in fastest if picked} == {512}
    assert "training time (hours)" in json.dumps(chart)


def test_sizes_that_would_dwarf_the_others_are_named_instead_of_drawn() -> None:
    answer = plan_document().answer
    slow = msgspec.structs.replace(answer.rows[0], batch_size=1, training_seconds=2e6, ci95=(2e6, 2e6))
    chart = chart_of(plan_document(answer=msgspec.structs.replace(answer, rows=(slow, *answer.rows))))
    assert 1 not in values(chart, "batch_size")
    assert chart["title"]["subtitle"].endswith("not drawn, over 3 times as slow: batch 1")


def test_compared_curves_are_drawn_over_the_same_sizes() -> None:
    chart = chart_of(compare_document())
    assert set(values(chart, "study")) == {"A: ir50-224-rtx3090.json", "B: brisk-otter"}
    assert set(values(chart, "batch_size")) == {2**power for power in range(9)}
    assert "UNLIKE" in chart["title"]["subtitle"]


def test_compared_training_times_are_drawn_as_times() -> None:
    document = compare_document()
    answer = msgspec.structs.replace(document.answer, quantity="training_seconds")
    assert "training time (minutes)" in json.dumps(chart_of(msgspec.structs.replace(document, answer=answer)))


def test_simulated_figures_say_so_in_the_picture() -> None:
    assert "SIMULATED" in chart_of(simulated_document())["title"]["subtitle"]


@pytest.mark.parametrize(("seconds", "unit"), [(90, "seconds"), (121, "minutes"), (9000, "hours"), (200000, "days")])
def test_times_are_drawn_in_a_handy_unit(seconds: float, unit: str) -> None:
    assert time_unit(seconds)[0] == unit


@given(st.lists(st.integers(min_value=1, max_value=10**6), min_size=1, max_size=60), st.data())
def test_tick_labels_never_touch_and_the_first_important_one_is_there(sizes: list[int], data: st.DataObject) -> None:
    important = data.draw(st.sampled_from(sizes))
    ticks = tick_sizes(sizes, (None, important))
    assert important in ticks
    assert set(ticks) <= set(sizes)
    gap = math.log2(max(sizes) / min(sizes)) * TICK_PIXELS / WIDTH
    assert all(math.log2(after / before) >= gap * 0.999 for before, after in pairwise(ticks))
