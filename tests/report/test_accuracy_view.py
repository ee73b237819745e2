"""What a larger batch costs, as people read it."""

import csv
import io
import json

import msgspec
import pytest

from report.accuracy_documents import accuracy_document, partly_failed_document
from report.pages import Page
from search.fake_learner import FakeLearner
from traindyno.core.answers import AccuracyAnswer
from traindyno.core.learning import Recipe
from traindyno.report.charts.accuracy import counted_runs
from traindyno.report.document import typed_answer
from traindyno.report.renderers import rendered
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.reproduce import reproduce_command
from traindyno.report.views import view_of


def answer_line(document: object) -> str:
    return view_of(document).conclusion(document)[0]  # type: ignore[arg-type]


def test_the_table_has_the_columns_of_the_notes_and_says_what_is_equal() -> None:
    (table,) = view_of(accuracy_document()).tables(accuracy_document())
    assert table.title == "Accuracy at the end of the run, equal epochs (50 each), 4 emulated devices"
    headings = [column.heading for column in table.columns]
    assert headings[:5] == ["batch size", "learning rate", "accuracy", "seeds", "steps"]
    batch, learning_rate, accuracy, seeds, steps, *_, normalised = table.rows[0].cells
    assert (batch, learning_rate, seeds, steps, normalised) == ("32", "0.32", "3", "1,562", "8")
    assert accuracy.startswith("75.")
    assert accuracy.endswith("%")


@pytest.mark.parametrize(("epochs", "words"), [(0.12, "(0.1 each)"), (2.5, "(2.5 each)"), (200.0, "(200 each)")])
def test_epochs_need_not_be_whole(epochs: float, words: str) -> None:
    document = accuracy_document(sizes=(8, 16), recipe=Recipe(learning_rate=0.32, epochs=epochs), learner=FakeLearner())
    (table,) = view_of(document).tables(document)
    assert words in (table.title or "")


def test_equal_steps_are_labelled_as_such() -> None:
    document = accuracy_document(equal="steps")
    (table,) = view_of(document).tables(document)
    assert "equal steps (1,562 each)" in (table.title or "")
    assert "equal steps" in view_of(document).title(document)


def test_emulated_devices_are_called_so_wherever_the_answer_is_told() -> None:
    document = accuracy_document()
    for form in ("console", "markdown", "html", "svg"):
        assert "emulated" in rendered(document, form).decode(), form
    assert "4 emulated devices" in answer_line(document)
    assert "emulated_devices" in render_csv(document)


def test_the_answer_is_the_largest_batch_that_nothing_speaks_against() -> None:
    document = accuracy_document()
    assert answer_line(document).startswith("Largest batch without a shown loss against batch 32: 128 (")
    tones = [row.tone for row in view_of(document).tables(document)[0].rows]
    assert tones == ["plain", "plain", "chosen", "bad"]


def test_the_highest_mean_is_told_beside_it_where_it_is_another_s() -> None:
    document = accuracy_document()
    means = {row.batch_size: row.accuracy_mean for row in document.answer.rows}
    best = max(means, key=lambda size: means[size])
    assert best != 128
    assert view_of(document).conclusion(document)[1] == f"Highest mean: {100 * means[best]:.1f} ± 0.3 % at batch {best}"


def test_what_was_not_shown_is_not_called_equal() -> None:
    assert "may go unseen" in answer_line(accuracy_document())


def test_where_all_larger_batches_lose_the_smallest_is_the_answer() -> None:
    document = accuracy_document(FakeLearner(best_rate=lambda size: 0.32, seed_spread=0.002))
    assert answer_line(document).startswith("No larger batch that ran keeps the accuracy of batch 32, ")


def test_one_seed_gives_accuracies_and_no_choice() -> None:
    document = accuracy_document(seeds=1)
    assert "too few seeds to tell them apart" in answer_line(document)
    assert {row.tone for row in view_of(document).tables(document)[0].rows} == {"plain"}


def test_one_seed_has_no_interval_in_the_picture_and_no_figure_as_if_it_were_the_answer() -> None:
    document = accuracy_document(seeds=1)
    assert "interval" not in json.dumps(view_of(document).chart(document))
    assert view_of(document).headline(document) is None
    page = render_html(document)
    assert '<div class="figure">' not in page
    assert "too few seeds to tell them apart" in page
    assert "mean, its 95 % interval, and every seed" in json.dumps(view_of(document).chart(accuracy_document()))


def test_one_size_alone_is_told_without_comparison() -> None:
    document = accuracy_document(sizes=(32,))
    assert answer_line(document).startswith("Accuracy: 75.")
    assert "over 3 seeds" in answer_line(document)


def test_rows_that_failed_stay_in_every_rendering() -> None:
    document = partly_failed_document()
    for form in ("console", "markdown", "html"):
        text = rendered(document, form).decode()
        assert "2 of 3" in text, form
        assert "out of memory" in text, form
    rows = list(csv.DictReader(io.StringIO(render_csv(document))))
    assert [row["missing"] for row in rows] == ["0", "1", "0", "3"]


def test_the_picture_has_a_dot_for_each_seed_and_a_line_for_each_counted_run() -> None:
    document = accuracy_document(rule="tune")
    chart = view_of(document).chart(document)
    assert chart is not None
    dots = [row for rows in chart["datasets"].values() for row in rows if set(row) == {"batch_size", "accuracy"}]
    assert len(dots) == 12
    runs = counted_runs(document)
    assert [label for label, _ in runs] == [f"batch {size}" for size in (32, 64, 128, 256) for _ in range(3)]


def test_a_picture_is_drawn_from_the_answer_alone() -> None:
    assert view_of(accuracy_document()).chart(msgspec.structs.replace(accuracy_document(), trials=())) is not None


def test_a_sheet_has_a_row_for_each_size() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(accuracy_document()))))
    assert [row["batch_size"] for row in rows] == ["32", "64", "128", "256"]
    assert rows[0]["verdict"] == ""
    assert rows[3]["verdict"].startswith("lower by")
    assert float(rows[3]["p_value"]) < 0.05


def test_an_exported_answer_can_be_read_back() -> None:
    document = partly_failed_document()
    answer = typed_answer(json.loads(render_json(document))).answer
    assert isinstance(answer, AccuracyAnswer)
    assert [row.missing for row in answer.rows] == [row.missing for row in document.answer.rows]


def test_the_command_that_asks_again_names_everything() -> None:
    recipe = Recipe(learning_rate=3e-4, epochs=50.0, emulated_devices=4, weight_decay=1e-4)
    command = reproduce_command(accuracy_document(recipe=recipe, rule="sqrt", equal="steps", seeds=2))
    assert command == (
        "traindyno accuracy --model torchvision:mobilenet_v2 --data cifar10:/data/cifar10 --device cuda:0 "
        "--batch-size 32,64,128,256 --lr-rule sqrt --equal steps --seeds 2 --lr 0.0003@32 --epochs 50 "
        "--weight-decay 0.0001 --emulate-devices 4"
    )


def test_a_default_rule_is_not_repeated() -> None:
    assert "--lr-rule" not in (reproduce_command(accuracy_document(rule="gain")) or "")


def test_the_page_tells_how_rows_were_compared() -> None:
    text = Page(render_html(accuracy_document())).text
    assert "Welch" in text
    assert "largest batch without a shown loss against batch 32" in text


@pytest.mark.parametrize("form", ["console", "markdown", "html", "svg"])
def test_a_simulated_one_says_so(form: str) -> None:
    document = accuracy_document()
    document = msgspec.structs.replace(document, answer=msgspec.structs.replace(document.answer, simulated=True))
    assert "SIMULATED" in rendered(document, form).decode()


def test_the_console_fits_a_usual_terminal() -> None:
    assert max(len(line) for line in render_console(accuracy_document(), width=100).splitlines()) <= 100
