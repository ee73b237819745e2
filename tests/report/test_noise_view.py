"""What people read of a noise scale, in every form."""

import csv
import io
import json

import msgspec
import pytest

from report.noise_documents import noise_document, noise_history, noise_request, told, untold_document
from traindyno.core.records import TrialRecord
from traindyno.report.document import typed_answer
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.reproduce import reproduce_command
from traindyno.report.views import view_of
from traindyno.runner.profile import Profile


def test_the_table_has_steps_examples_and_both_times_by_batch() -> None:
    document = noise_document()
    times, windows = view_of(document).tables(document)
    assert [row.cells[0] for row in times.rows] == [str(row.batch_size) for row in document.answer.rows]
    best = next(row for row in times.rows if row.tone == "chosen")
    assert best.cells[0] == str(document.answer.best_batch)
    assert best.cells[4] == "1"
    assert len(windows.rows) == 4
    assert windows.rows[0].cells[0].startswith("0 to ")


def test_the_last_lines_hold_the_scale_and_the_best_batch() -> None:
    document = noise_document()
    scale, best = view_of(document).conclusion(document)
    assert scale.startswith("Noise scale: ")
    assert " to " in scale
    assert best.startswith(f"Best batch: {document.answer.best_batch}; within 5 % of its time: ")


def test_a_larger_batch_than_the_range_is_said_to_cost_more_than_it_saves() -> None:
    document = noise_document()
    top = document.answer.batch_range[1]
    assert any(f"A batch larger than {top} costs more examples" in each for each in document.answer.verdicts)


def test_a_batch_whose_step_was_not_steady_is_said_to_be_unsure_and_marked() -> None:
    request = noise_request()
    history = noise_history(request)
    best = noise_document().answer.best_batch
    document = told(request, [unsteady(record) if record.batch_size == 4 * best else record for record in history])
    assert document.answer.best_batch == best
    assert f"Batch {4 * best} may be faster, but the step there is noisy or not steady" in " ".join(
        document.answer.verdicts
    )
    row = next(row for row in view_of(document).tables(document)[0].rows if row.cells[0] == str(4 * best))
    assert "not steady" in row.cells[-1]


def unsteady(record: TrialRecord) -> TrialRecord:
    """The same with a step that seems to take less time, in the first process far less."""
    if record.spec.kind != "speed" or record.measurement is None:
        return record
    seconds = record.measurement.step_seconds / (3 if record.spec.repeat else 100)
    measured = msgspec.structs.replace(record.measurement, step_seconds=seconds, steady=False)
    return msgspec.structs.replace(record, measurement=measured)


def test_where_memory_ends_the_curve_it_is_said_to() -> None:
    document = noise_document(Profile(noise_scale=3000.0, limit=64, floor_seconds=0.5))
    ends = next(verdict for verdict in document.answer.verdicts if "Memory is what ends the range at 64" in verdict)
    assert "whether a larger batch would be as good is not known" in ends


def test_where_the_data_ends_the_curve_it_is_said_to() -> None:
    document = noise_document(Profile(noise_scale=3000.0, examples=100, floor_seconds=0.5))
    assert any("The data is what ends the range at 64" in verdict for verdict in document.answer.verdicts)


def test_one_run_is_said_to_be_one() -> None:
    assert any("One run does not tell" in verdict for verdict in noise_document(seeds=1).answer.verdicts)
    assert not any("One run" in verdict for verdict in noise_document(seeds=2).answer.verdicts)


def test_the_one_run_of_a_study_that_was_cut_is_said_to_be_one() -> None:
    request = noise_request(seeds=3)
    history = noise_history(request)
    first = next(number for number, record in enumerate(history) if record.spec.kind == "noise")
    cut = [record for number, record in enumerate(history) if record.spec.kind != "noise" or number == first]
    assert any("One run does not tell" in verdict for verdict in told(request, cut).answer.verdicts)


def test_without_a_noise_scale_more_readings_are_asked_for() -> None:
    document = untold_document()
    assert document.answer.noise_scale is None
    assert document.answer.best_batch is None
    text = render_console(document, width=100)
    assert "n/a: the gradient could not be told from its noise" in text
    assert "--readings" in text
    assert view_of(document).chart(document) is None


def test_the_chart_shows_batches_and_training() -> None:
    document = noise_document()
    chart = view_of(document).chart(document)
    assert chart is not None
    assert len(chart["vconcat"]) == 2
    drawn = json.dumps(chart)
    assert "time to the same loss" in drawn
    assert f"best: {document.answer.best_batch}" in drawn


def test_no_value_leaves_the_frame() -> None:
    document = noise_document()
    chart = view_of(document).chart(document)
    assert chart is not None
    times = [row["times"] for rows in chart["datasets"].values() for row in rows if "times" in row]
    low, high = chart["vconcat"][0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert max(times) > 20
    assert low < min(times)
    assert max(times) < high


def test_the_sheet_has_a_line_for_each_batch() -> None:
    document = noise_document()
    rows = list(csv.DictReader(io.StringIO(render_csv(document))))
    assert [int(row["batch_size"]) for row in rows] == [row.batch_size for row in document.answer.rows]
    assert float(rows[0]["noise_scale"]) == pytest.approx(document.answer.noise_scale)


def test_every_form_can_be_written_and_the_exported_one_read_back() -> None:
    for document in (noise_document(), untold_document()):
        assert "Gradient noise of torchvision:resnet50" in render_markdown(document)
        assert "Gradient noise" in render_html(document)
        assert typed_answer(json.loads(render_json(document))).answer == document.answer


def test_no_line_is_wider_than_the_terminal() -> None:
    assert max(len(line) for line in render_console(noise_document(), width=100).splitlines()) <= 100


def test_the_study_can_be_asked_again_as_it_was() -> None:
    document = noise_document(sizes=(16, 64), seeds=4)
    command = reproduce_command(document)
    assert command is not None
    for words in ("traindyno noise-scale --model torchvision:resnet50", "--curve-sizes 16,64", "--seeds 4"):
        assert words in command
    for words in ("--batch-size 32", "--lr 0.001", "--epochs 3", "--schedule constant", "--readings 40"):
        assert words in command
    assert "--micro-batch" not in command


def test_a_simulated_answer_says_so() -> None:
    document = noise_document()
    simulated = msgspec.structs.replace(document, answer=msgspec.structs.replace(document.answer, simulated=True))
    assert "SIMULATED" in render_console(simulated, width=100)
