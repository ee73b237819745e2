"""A run that learnt as people read it: lines, table, curves."""

import csv
import io
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from report.narrow import numbers_not_shown
from traindyno.app.context import Context
from traindyno.app.train import train
from traindyno.core.answers import Document
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, TrainRequest
from traindyno.report.charts.learning import learning_curves, learnings
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.renderers.pictures import render_png
from traindyno.report.reproduce import reproduce_command
from traindyno.report.trials import trial_rows
from traindyno.report.views import view_of
from traindyno.report.views.train import MOST_ROWS


def document_of(folder: Path, **recipe: Any) -> Document:
    request = TrainRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=Bench(runner="simulated:"),
        settings=Settings(batch_size=32),
        recipe=Recipe(**({"learning_rate": 0.05, "epochs": 40.0} | recipe)),
    )
    return train(request, Context(store=str(folder / "studies.db")))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return document_of(tmp_path_factory.mktemp("train"))


def rows_of(chart: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in chart["datasets"].values() for row in rows]


def test_the_last_lines_hold_accuracy_and_time(run: Document) -> None:
    text = render_console(msgspec.structs.replace(run, hint=None), width=120)
    lines = text.rstrip().splitlines()[-2:]
    assert [line.partition(":")[0] for line in lines] == ["Accuracy", "Training"]
    assert "on 10,000 examples" in lines[0]
    assert "examples/s" in lines[1]
    assert "62,500 steps of batch 32" in lines[1]


def test_a_long_table_is_thinned_but_keeps_first_best_and_last(run: Document) -> None:
    (table,) = view_of(run).tables(run)
    answer = run.answer
    steps = [row.cells[1] for row in table.rows]
    best = next(each for each in answer.evaluations if each.accuracy == answer.best_accuracy)
    assert MOST_ROWS <= len(table.rows) <= MOST_ROWS + 1
    assert (steps[0], steps[-1]) == ("1,563", "62,500")
    assert f"{best.step:,}" in steps
    assert f"{40 - len(table.rows)} evaluations between these" in table.legend[0]


def test_a_short_table_is_whole(tmp_path: Path) -> None:
    (table,) = view_of(short := document_of(tmp_path, epochs=3.0)).tables(short)
    assert len(table.rows) == 3
    assert table.legend == ()


def test_the_spreadsheet_has_every_evaluation(run: Document) -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(run))))
    assert len(rows) == 40
    assert float(rows[-1]["accuracy"]) == pytest.approx(run.answer.accuracy)
    assert rows[0]["model"] == "mlp:64"


def test_curves_show_accuracy_and_both_losses_over_examples(run: Document) -> None:
    chart = view_of(run).chart(run)
    assert chart is not None
    assert len(chart["vconcat"]) == 2
    rows = rows_of(chart)
    assert {row["what"] for row in rows} == {"accuracy", "loss", "training_loss"}
    assert max(row["at"] for row in rows) == 40 * 50_000


def test_one_epoch_and_one_step_are_no_plural(tmp_path: Path) -> None:
    text = render_console(document_of(tmp_path, steps=1), width=200)
    assert "1 step of batch 32" in text


def test_several_runs_are_told_apart_by_label_and_seeds_share_a_colour(run: Document) -> None:
    ((_, learning),) = learnings(run)
    curves = learning_curves([("batch 32", learning), ("batch 32", learning), ("batch 64", learning)], x="seconds")
    assert curves is not None
    chart = curves.to_dict()
    rows = rows_of(chart)
    assert {row["label"] for row in rows} == {"batch 32", "batch 64"}
    assert {row["run"] for row in rows} == {0, 1, 2}
    assert {row["what"] for row in rows} == {"accuracy", "loss"}
    assert max(row["at"] for row in rows) == pytest.approx(run.answer.training_seconds)
    labels = {panel["layer"][0]["encoding"]["x"]["axis"]["labelExpr"] for panel in chart["vconcat"]}
    assert labels == {"format(datum.value, ',~r')"}, "seconds are written as people write them, without an exponent"


def test_a_diverged_run_is_drawn_as_far_as_it_has_numbers_and_told_without_nan(tmp_path: Path) -> None:
    lost = document_of(tmp_path, learning_rate=5.0)
    text = render_console(lost, width=100)
    assert "Diverged" in text
    assert "nan" not in text.lower().replace("n/a", "")
    chart = view_of(lost).chart(lost)
    assert chart is not None
    assert all(row["value"] == row["value"] for row in rows_of(chart))


def test_outputs_without_classes_are_told_by_their_loss(run: Document) -> None:
    evaluations = tuple(msgspec.structs.replace(each, accuracy=None) for each in run.answer.evaluations)
    answer = msgspec.structs.replace(
        run.answer, accuracy=None, best_accuracy=None, accuracy_ci95=None, evaluations=evaluations
    )
    text = render_console(msgspec.structs.replace(run, answer=answer), width=100)
    assert "Loss: " in text
    assert "Accuracy:" not in text


def test_all_renderings_say_that_it_was_simulated(run: Document) -> None:
    for text in (render_console(run, width=100), render_markdown(run), render_html(run)):
        assert "simulated" in text.lower()
    assert render_png(run).startswith(b"\x89PNG")


def test_the_trial_is_known_by_rate_and_seed(run: Document) -> None:
    (trial,) = trial_rows(run)
    assert trial.fed == "lr 0.05, seed 0"


def test_the_command_that_asks_again_has_the_whole_recipe(tmp_path: Path) -> None:
    document = document_of(tmp_path, epochs=3.0, weight_decay=0.01, schedule="constant")
    words = shlex.split(reproduce_command(document) or "")
    assert words[:2] == ["traindyno", "train"]
    for pair in (("--lr", "0.05"), ("--epochs", "3"), ("--weight-decay", "0.01"), ("--schedule", "constant")):
        assert words[words.index(pair[0]) + 1] == pair[1]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_number_of_its_tables_stands_whole_in_a_narrow_terminal(run: Document, width: int) -> None:
    assert not numbers_not_shown(run, width)


@pytest.mark.parametrize("kind", ["learn", "noise", "fit"])
def test_a_trial_that_does_not_wait_for_steps_to_be_alike_is_not_marked_for_that(run: Document, kind: str) -> None:
    entry = run.trials[0] | {"kind": kind, "measurement": run.trials[0]["measurement"] | {"steady": False}}
    marked = msgspec.structs.replace(run, trials=(entry, entry | {"kind": "speed"}))
    assert [row.steady for row in trial_rows(marked)] == [None, False]
