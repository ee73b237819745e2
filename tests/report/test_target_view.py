"""Times to a target as people read them: lines, tables, pictures."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from report.narrow import numbers_not_shown
from traindyno.app.context import Context
from traindyno.app.target import contenders_of, target
from traindyno.core.answers import Document
from traindyno.core.learning import Recipe, Target
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, TargetRequest
from traindyno.report.document import typed_answer
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import ordered
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.renderers.pictures import render_png
from traindyno.report.reproduce import reproduce_command
from traindyno.report.views import view_of

SETTINGS = Settings(batch_size=32, num_workers=2)
WAYS = ("large: batch_size=256", "hasty: batch_size=64,lr=0.9", "half: batch_size=64,precision=bf16,lr=0.08")


def document_of(folder: Path, ways: tuple[str, ...] = WAYS, sizes: tuple[int, ...] = (), **changes: Any) -> Document:
    request = TargetRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=Bench(runner="simulated"),
        recipe=Recipe(learning_rate=0.05, epochs=30.0),
        target=Target(metric="accuracy", value=0.9),
        contenders=contenders_of(sizes, ways, SETTINGS),
        rule="linear",
        reference_batch=32,
        price_per_hour=2.0,
        settings=SETTINGS,
    )
    request = msgspec.structs.replace(request, **changes)
    return target(request, Context(store=str(folder / "studies.db")))


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return document_of(tmp_path_factory.mktemp("race"))


def rows_of(chart: dict[str, Any], field: str) -> list[Any]:
    return [row for rows in chart["datasets"].values() for row in rows if field in row]


def test_the_table_has_settings_rate_reached_time_examples_and_cost(race: Document) -> None:
    text = render_console(race, width=140)
    for words in ("way to train", "batch_size=256", "precision=bf16", "6 of 6", "0 of 6", "never", "95 %", "cost"):
        assert words in text
    assert "num_workers" not in text


def test_what_the_names_tell_is_not_told_again(tmp_path: Path) -> None:
    text = render_console(document_of(tmp_path, ways=(), sizes=(16, 64), seeds=2), width=100)
    assert "batch_size=" not in text
    assert "batch 16" in text


def test_the_answer_is_the_last_line(race: Document) -> None:
    last = render_console(msgspec.structs.replace(race, hint=None, warnings=()), width=400).rstrip().splitlines()[-1]
    assert last == race.answer.verdicts[0]


def test_the_chart_shows_the_share_of_runs_that_arrived_and_no_miss_is_left_out(race: Document) -> None:
    chart = view_of(race).chart(race)
    assert chart is not None
    ends = {
        label: max(row["share"] for row in rows_of(chart, "share") if row.get("label") == label)
        for label in ("large", "hasty", "half")
    }
    assert ends == {"large": 1.0, "hasty": 0.0, "half": 1.0}
    steps = [row for row in rows_of(chart, "share") if row.get("label") == "large"]
    assert len(steps) == 2 * (6 + 2)


def test_a_line_lies_across_the_curves_at_the_target(race: Document, tmp_path: Path) -> None:
    chart = view_of(race).chart(race)
    assert chart is not None
    assert [row for row in rows_of(chart, "value") if "run" not in row] == [{"value": 0.9}]
    lost = document_of(tmp_path, ways=(), sizes=(16, 64), seeds=2, target=Target(metric="loss", value=0.4))
    loss_chart = view_of(lost).chart(lost)
    assert loss_chart is not None
    assert [row for row in rows_of(loss_chart, "value") if "run" not in row] == [{"value": 0.4}]


def test_the_first_run_is_in_no_picture(race: Document) -> None:
    chart = view_of(race).chart(race)
    assert chart is not None
    assert len({row["run"] for row in rows_of(chart, "run")}) == 3 * 6


def test_without_its_trials_there_are_words_and_no_chart(race: Document) -> None:
    bare = msgspec.structs.replace(race, trials=())
    assert view_of(bare).chart(bare) is None
    assert "half" in render_console(bare, width=100)


def test_an_exported_document_tells_the_same_when_it_is_read_back(race: Document) -> None:
    again = typed_answer(ordered(race))
    assert render_console(again, width=120) == render_console(race, width=120)


def test_every_rendering_is_written(race: Document) -> None:
    assert render_png(race).startswith(b"\x89PNG")
    page = render_html(race)
    assert "log-rank test" in page
    assert len(page.encode()) < 1_500_000
    assert "| large " in render_markdown(race)
    lines = render_csv(race).splitlines()
    assert lines[0].startswith("model,data,metric,value,label,batch_size,learning_rate,seeds,reached")
    assert len(lines) == 4


def test_the_command_can_be_typed_again(race: Document) -> None:
    command = reproduce_command(race)
    assert command is not None
    for words in (
        "traindyno target --model mlp:64 --data digits:",
        "--value 0.9",
        "--contender 'large: batch_size=256' --contender 'hasty: batch_size=64,lr=0.9'",
        "--contender 'half: batch_size=64,precision=bf16,lr=0.08'",
        "--lr 0.05@32 --epochs 30",
        "--lr-rule linear --price-per-hour 2 ",
        "--workers 2",
    ):
        assert words in command


def test_sizes_are_typed_as_sizes(tmp_path: Path) -> None:
    document = document_of(tmp_path, ways=WAYS[1:2], sizes=(16, 64), target=Target(metric="loss", value=0.4), seeds=2)
    command = reproduce_command(document)
    assert command is not None
    assert "--metric loss --value 0.4 --batch-size 16,64 --contender 'hasty: batch_size=64,lr=0.9'" in command
    assert "--seeds 2" in command


def test_the_page_says_who_is_first_or_that_nobody_is(race: Document) -> None:
    assert race.answer.verdicts[0].replace("'", "&#x27;") in render_html(race)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_number_of_its_tables_stands_whole_in_a_narrow_terminal(race: Document, width: int) -> None:
    assert not numbers_not_shown(race, width)
