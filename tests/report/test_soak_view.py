"""A long run as people read it: lines, tables, pictures."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from report.narrow import numbers_not_shown
from traindyno.app.context import Context
from traindyno.app.soak import soak
from traindyno.core.answers import Document, Throttle
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, SoakRequest
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.renderers.pictures import render_png
from traindyno.report.reproduce import reproduce_command
from traindyno.report.trials import trial_rows
from traindyno.report.views import view_of

HOT = (
    "simulated:drift_percent=-1.5,hot_after_seconds=120,power_capped=1,pause_seconds=3,examples=60000,decode_seconds=0"
)


def document_of(tmp_path: Path, runner: str = HOT, seconds: float = 300.0) -> Document:
    request = SoakRequest(
        workload=WorkloadSpec(model="torchvision:resnet50", data="folder:/x"),
        bench=Bench(runner=runner),
        settings=Settings(batch_size=256, num_workers=4, persistent_workers=True),
        run_seconds=seconds,
        from_loader=True,
        price_per_kwh=0.3,
    )
    return soak(request, Context(store=str(tmp_path / "studies.db")))


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return document_of(tmp_path_factory.mktemp("soak"))


def rows_of(chart: dict[str, Any], field: str) -> list[Any]:
    return [row for rows in chart["datasets"].values() for row in rows if field in row]


def test_the_last_lines_hold_rate_drift_clocks_and_energy(hot: Document) -> None:
    lines = render_console(msgspec.structs.replace(hot, hint=None), width=100).rstrip().splitlines()[-4:]
    assert [line.partition(":")[0] for line in lines] == ["Throughput", "Drift", "Clocks", "Energy"]
    assert "held by heat and the power limit" in lines[2]


def test_the_page_tells_of_one_long_run_and_not_of_trials_that_come_to_rest(hot: Document) -> None:
    page = render_html(hot)
    assert "One trial trained without a break" in page
    assert "Blocks were discarded until" not in page


def test_the_rate_of_the_trial_is_that_of_the_answer(hot: Document) -> None:
    (trial,) = trial_rows(hot)
    assert trial.examples_per_second == pytest.approx(hot.answer.examples_per_second)
    assert trial.ci95 is None


def test_everything_that_was_read_stands_in_the_table_with_its_unit(hot: Document) -> None:
    text = render_console(hot, width=100)
    for words in ("GPU temperature", "°C", "SM clock", "MHz", "GPU power", "read from disks", "cost per epoch"):
        assert words in text
    assert "thermal software slowdown" in text


def test_what_is_unknown_is_called_so_and_not_shown_as_zero(hot: Document) -> None:
    bare = msgspec.structs.replace(
        hot.answer,
        throttle=Throttle(known=False),
        ranges={},
        drift_percent_per_minute=None,
        ci95=None,
        energy_joules_per_example=None,
        energy_joules_per_epoch=None,
        cost_per_epoch=None,
    )
    text = render_console(msgspec.structs.replace(hot, answer=bare), width=100)
    assert "Clocks: unknown" in text
    assert "Drift: not known" in text
    assert "GPU power" not in text
    assert "0 J" not in text


@pytest.mark.parametrize(
    ("throttle", "words"),
    [
        (Throttle(known=True, thermal=False, power_cap=False, shares={"thermal software slowdown": 0.003}), "not held"),
        (Throttle(known=True, thermal=False, power_cap=False, shares={"sync boost": 0.003}), "not held"),
        (
            Throttle(known=True, thermal=False, power_cap=False, shares={"power cap": 0.001, "sync boost": 0.5}),
            "held by s",
        ),
    ],
)
def test_what_held_the_clocks_for_a_moment_is_in_the_table_and_not_in_the_answer(
    hot: Document, throttle: Throttle, words: str
) -> None:
    document = msgspec.structs.replace(hot, answer=msgspec.structs.replace(hot.answer, throttle=throttle))
    text = render_console(document, width=100)
    assert f"Clocks: {words}" in text
    assert next(iter(throttle.shares)) in text


def test_a_change_along_no_line_is_told_where_the_drift_would_be(hot: Document) -> None:
    bent = msgspec.structs.replace(hot.answer, drift_percent_per_minute=-2.0, ci95=(-9.0, 5.0), ends_ratio=0.887)
    text = render_console(msgspec.structs.replace(hot, answer=bent), width=100)
    assert "Drift: -11.3 % from the first to the last fifth, not along a line" in text


def test_a_change_at_once_is_told_before_the_drift_and_breaks_its_line(hot: Document) -> None:
    change = {"change_ratio": 0.953, "change_seconds": 200.0}
    stepped = msgspec.structs.replace(hot.answer, drift_percent_per_minute=0.004, ci95=(-0.003, 0.011), **change)
    document = msgspec.structs.replace(hot, answer=stepped)
    text = " ".join(render_console(document, width=100).split())
    assert "Drift: -4.7 % all at once after 3 min 20 s; besides +0.004 % per minute (-0.003 to +0.011)" in text
    chart = view_of(document).chart(document)
    assert chart is not None
    assert {row["side"] for row in rows_of(chart, "side")} == {0, 1}


def test_the_chart_has_a_panel_for_each_quantity_over_one_axis_of_time(hot: Document) -> None:
    chart = view_of(hot).chart(hot)
    assert chart is not None
    assert len(chart["vconcat"]) == 5
    assert {row["cause"] for row in rows_of(chart, "cause")} == {"held by heat", "held by the power limit"}
    (label,) = rows_of(chart, "label")
    assert label["label"].startswith("drift -1.")
    assert {row["who"] for row in rows_of(chart, "who")} == {"this training", "everybody else"}


def test_the_shaded_spans_are_those_in_which_the_driver_spoke(hot: Document) -> None:
    chart = view_of(hot).chart(hot)
    assert chart is not None
    heat = [row for row in rows_of(chart, "cause") if row["cause"] == "held by heat"]
    assert {round(row["minutes"]) for row in heat} == {2}
    assert all(row["end"] == pytest.approx(5, abs=0.1) for row in heat)


def test_without_readings_only_the_throughput_is_drawn(hot: Document) -> None:
    (trial,) = hot.trials
    blind = {name: value for name, value in trial.items() if name != "series"}
    chart = view_of(hot).chart(msgspec.structs.replace(hot, trials=(blind,)))
    assert chart is not None
    assert len(chart["vconcat"]) == 1


def test_a_document_without_its_trial_has_no_chart_but_its_words(hot: Document) -> None:
    bare = msgspec.structs.replace(hot, trials=())
    assert view_of(bare).chart(bare) is None
    assert "Throughput:" in render_console(bare, width=100)


def test_a_long_run_is_drawn_with_few_points_and_its_page_stays_small(tmp_path: Path) -> None:
    document = document_of(tmp_path, seconds=3600.0)
    chart = view_of(document).chart(document)
    assert chart is not None
    assert max(len(rows) for rows in chart["datasets"].values()) <= 1200
    page = render_html(document)
    assert len(page.encode()) < 1_500_000
    assert "Left out for size" in page


def test_every_rendering_of_a_run_is_written(hot: Document) -> None:
    assert render_png(hot).startswith(b"\x89PNG")
    assert "GPU temperature" in render_markdown(hot)
    lines = render_csv(hot).splitlines()
    assert lines[0].startswith("model,batch_size,end_seconds")
    assert len(lines) > 250


def test_the_command_can_be_typed_again(hot: Document) -> None:
    command = reproduce_command(hot)
    assert command is not None
    assert "traindyno soak --model torchvision:resnet50 --data folder:/x" in command
    assert "--minutes 5 --batch-size 256 --workers 4 --set persistent_workers=true --price-per-kwh 0.3" in command
    assert "--from-loader" not in command


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_number_of_its_tables_stands_whole_in_a_narrow_terminal(hot: Document, width: int) -> None:
    assert not numbers_not_shown(hot, width)
