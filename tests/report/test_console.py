import shlex
import subprocess

import msgspec
import pytest
from rich.cells import cell_len

from report.accuracy_documents import accuracy_document
from report.documents import ALL, HOSTILE, compare_document, throughput_answer, throughput_document
from report.find_documents import find_document, verify_document
from report.narrow import numbers_not_shown
from report.noise_documents import noise_document
from report.snapshots import assert_snapshot
from traindyno.report.renderers.console import render_console, render_console_notes
from traindyno.report.renderers.console_table import bar

TABLES = ALL | {
    "accuracy": accuracy_document,
    "find": find_document,
    "noise": noise_document,
    "verify": verify_document,
}


@pytest.mark.parametrize("name", ALL)
def test_every_answer_reads_as_it_did(name: str) -> None:
    assert_snapshot(f"{name}.txt", render_console(ALL[name](), width=80))


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("name", ALL)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = render_console(ALL[name](), width=width).splitlines()
    assert max(cell_len(line) for line in lines) <= width


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_command_to_type_next_can_be_pasted_as_it_stands(width: int) -> None:
    command = (
        "traindyno target --model torchvision:resnet18 --value 0.9 --contender 'two: batch=64,devices=2' --epochs 3 -q"
    )
    printed = render_console_notes(msgspec.structs.replace(throughput_document(), hint=command), width)
    pasted = printed[printed.index("hint: ") + len("hint: ") : printed.index("report: ")]
    shell = subprocess.run(
        ["sh", "-c", pasted.replace("traindyno", "printf '%s\\n'", 1)], capture_output=True, text=True
    )
    assert shell.stdout.splitlines() == shlex.split(command)[1:]


def test_a_hint_that_is_no_command_is_wrapped_as_any_sentence() -> None:
    sentence = "traindyno isn't the only one that knows this " * 3
    assert "\\" not in render_console_notes(msgspec.structs.replace(throughput_document(), hint=sentence), 60)


@pytest.mark.parametrize("name", ALL)
def test_no_terminal_escape_gets_through_without_color(name: str) -> None:
    assert "\x1b" not in render_console(ALL[name](), width=80)


def test_color_is_there_when_asked_for() -> None:
    colored = render_console(throughput_document(), width=80, color=True)
    assert "\x1b[" in colored
    assert "\x1b[31m<img" not in render_console(throughput_document(warnings=(HOSTILE,)), width=80, color=True)


def test_no_cell_is_cut_at_eighty_columns() -> None:
    for name in ("throughput", "max_batch", "plan", "compare"):
        assert "…" not in render_console(ALL[name](), width=80)


def test_the_legend_stands_only_where_points_are_marked() -> None:
    steady = tuple(msgspec.structs.replace(point, steady=True, marks=()) for point in throughput_answer().curve)
    clean = throughput_document(answer=throughput_answer(curve=steady))
    assert "(!)" not in render_console(clean, width=80)
    assert "(!) take with care: 16 noisy; 1024 not steady" in render_console(throughput_document(), width=80)


def test_the_sweep_ends_in_a_row_out_of_memory() -> None:
    lines = render_console(throughput_document(), width=80).splitlines()
    row = next(line for line in lines if "out of memory" in line)
    assert row.split() == ["2048", "out", "of", "memory"]


def test_best_and_recommended_are_marked_in_their_rows() -> None:
    lines = render_console(throughput_document(), width=80).splitlines()
    assert [line.split()[0] for line in lines if line.endswith("recommended")] == ["256"]
    assert [line.split()[0] for line in lines if line.endswith("best")] == ["512"]


def test_the_chosen_batch_is_named_when_another_than_the_recommended_was_asked_for() -> None:
    answer = throughput_answer(chosen_batch=1024, choose="largest")
    text = render_console(throughput_document(answer=answer), width=80)
    assert "Largest: batch 1024" in text
    assert any(line.endswith("chosen") and line.split()[0] == "1024" for line in text.splitlines())
    assert "Near-equal and cheaper: batch 256, 98 % of the speed" in text


def test_warnings_hint_and_report_can_go_elsewhere() -> None:
    document = throughput_document()
    answer, notes = render_console(document, notes=False), render_console_notes(document)
    assert answer + notes == render_console(document)
    assert notes.startswith("warning: ")
    assert "report: traindyno-brisk-otter.html" in notes
    assert render_console_notes(throughput_document(warnings=(), hint=None, report=None)) == ""


def test_unlike_machines_are_named_before_anything_else() -> None:
    text = render_console(compare_document(), width=80)
    assert text.index("UNLIKE") < text.index("NVIDIA H200") < text.index("batch 1")


def test_a_compared_plan_is_written_in_times_and_compared_sizes_in_counts() -> None:
    document = compare_document()
    row = msgspec.structs.replace(document.answer.rows[0], a=3720.0, b=1860.0)
    times = msgspec.structs.replace(document.answer, rows=(row,), quantity="training_seconds")
    assert "1 h 02 min" in render_console(msgspec.structs.replace(document, answer=times))
    row = msgspec.structs.replace(row, key="safe batch", a=1616, b=None)
    sizes = msgspec.structs.replace(document.answer, rows=(row,), quantity="batch_size")
    assert "1616" in render_console(msgspec.structs.replace(document, answer=sizes))


@pytest.mark.parametrize(("share", "drawn"), [(0.0, ""), (0.5, "██"), (0.53, "██▏"), (1.0, "████"), (2.0, "████")])
def test_a_bar_is_exact_to_an_eighth_of_a_cell(share: float, drawn: str) -> None:
    assert bar(share, 4) == drawn


def test_tables_are_one_blank_line_apart() -> None:
    for name, document in ALL.items():
        assert "\n\n\n" not in render_console(document(), width=80), name


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("name", TABLES)
def test_every_number_of_a_table_stands_whole_in_a_narrow_terminal(name: str, width: int) -> None:
    assert not numbers_not_shown(TABLES[name](), width)


def test_a_table_that_does_not_fit_becomes_a_list_of_its_rows() -> None:
    lines = render_console(throughput_document(), width=30).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("batch size"))
    assert lines[first].split() == ["batch", "size", "1"]
    assert lines[first + 1].split() == ["throughput", "59.2", "±", "0.3"]
