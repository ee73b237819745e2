"""An anatomy as people read it: its tables, last lines, sheet and pictures."""

import csv
import io
from typing import Any

import msgspec
import pytest

from report.anatomy_documents import anatomy_answer, anatomy_cpu_document, anatomy_document, anatomy_size, phases
from traindyno.core.answers import Document
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.reproduce import reproduce_command
from traindyno.report.view import Table
from traindyno.report.views import view_of


def tables_of(document: Document) -> tuple[Table, ...]:
    return view_of(document).tables(document)


def chart_of(document: Document) -> dict[str, Any]:
    chart = view_of(document).chart(document)
    assert chart is not None
    return chart


def drawn(document: Document, field: str) -> list[Any]:
    return [row[field] for rows in chart_of(document)["datasets"].values() for row in rows if field in row]


def test_every_phase_has_its_time_share_cost_per_example_and_the_host_s_time() -> None:
    rows = tables_of(anatomy_document())[0].rows
    assert [row.cells[0] for row in rows][:2] == ["load (stall)", "transfer to the device"]
    backward = next(row for row in rows if row.cells[0] == "backward")
    assert backward.cells[1:] == ("68.6 ± 0.7 ms", "59 %", "268 µs", "9.44 ms")


def test_phases_that_take_no_time_are_not_shown() -> None:
    alone = phases(0.1, 8, {"forward": 1.0, "communication": 0.0})
    document = anatomy_document(
        answer=anatomy_answer(batch_size=8, phases=alone, sizes=(anatomy_size(8, 0.1, phases=alone),))
    )
    assert [row.cells[0] for row in tables_of(document)[0].rows] == ["forward"]


def test_sizes_stand_beside_each_other_per_example_with_copies_of_both_kinds_of_memory() -> None:
    _, per_example, device, copies, _ = tables_of(anatomy_document())
    assert [row.cells[0] for row in per_example.rows] == ["8", "64", "256"]
    assert per_example.rows[2].tone == "chosen"
    assert device.rows[0].cells[3:] == ("58 %", "98 %", "launch-bound")
    assert copies.rows[0].cells == ("8", "32.3 µs", "18.7 GB/s", "12.2 µs", "49.2 GB/s")


def test_host_wait_and_device_stall_are_both_in_the_last_lines() -> None:
    lines = render_console(anatomy_document(), width=100).splitlines()
    assert "Waiting for data, per step: host 41.2 ms, device 465 µs" in lines
    assert "Instruments cost +0.3 % (-0.1 to +0.8 %); named phases explain 98 % of the step without them" in lines
    assert any(line.startswith("Trace: steps.json") for line in lines)


def test_on_a_cpu_there_is_one_wait_in_the_table_and_in_the_last_lines() -> None:
    made = anatomy_cpu_document()
    load = phases(0.46, 32, {"load": 0.2})
    answer = msgspec.structs.replace(
        made.answer, phases={**made.answer.phases, **load}, stall_seconds=0.092, host_wait_seconds=0.092
    )
    document = msgspec.structs.replace(made, answer=answer)
    lines = render_console(document, width=100).splitlines()
    assert "Waiting for data, per step: 92.0 ms (fed from host memory)" in lines
    headline = view_of(document).headline(document)
    assert headline is not None
    assert ("waiting for data", "92.0 ms per step") in headline.beside
    assert not any("device stands still" in label for label, _ in headline.beside)


def test_wild_instruments_and_phases_longer_than_the_step_are_told_in_words() -> None:
    answer = anatomy_answer(instrument_cost=0.05, instrument_cost_ci95=(-0.816, 10.353), coverage=1.05)
    told = "Instruments cost +5.0 % (± over 100 %); named phases explain all of the step without them"
    assert told in render_console(anatomy_document(answer=answer), width=100).splitlines()


def test_phases_far_longer_than_the_step_without_instruments_do_not_explain_all_of_it() -> None:
    document = anatomy_document(answer=anatomy_answer(coverage=1.51))
    told = "named phases explain nothing of the step without them: they took 151 % of its time"
    assert told in " ".join(view_of(document).conclusion(document))
    headline = view_of(document).headline(document)
    assert headline is not None
    assert ("named phases explain", "nothing of it: they took 151 % of its time") in headline.beside


def test_what_cannot_be_counted_reads_not_available_with_the_reason() -> None:
    text = render_console(anatomy_cpu_document(), width=100)
    assert "N/A: operations fused by a compiler cannot be counted" in text
    memory = next(line for line in text.splitlines() if line.startswith("memory traffic"))
    assert memory.split() == ["memory", "traffic", "N/A", "N/A", "N/A"]
    assert "fed from host memory" in text


def test_the_sheet_has_a_row_for_each_size_with_seconds_of_each_phase() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(anatomy_document()))))
    assert [row["batch_size"] for row in rows] == ["8", "64", "256"]
    assert float(rows[2]["backward_seconds"]) == 0.59 * 0.1163
    assert rows[2]["communication_seconds"] == ""


def test_the_picture_stacks_the_phases_of_every_size_and_draws_both_copies() -> None:
    document = anatomy_document()
    assert set(drawn(document, "step")) == {"batch 8", "batch 64", "batch 256"}
    assert set(drawn(document, "memory")) == {"from pageable memory", "from pinned memory"}


def test_the_bars_of_shares_are_as_long_as_the_table_says() -> None:
    short = anatomy_size(8, 0.1, phases=phases(0.1, 8, {"forward": 0.5, "backward": 0.3, "other": 0.0}))
    document = anatomy_document(answer=anatomy_answer(sizes=(short, anatomy_size(256, 0.1163))))
    (shares,) = [rows for rows in chart_of(document)["datasets"].values() if rows[0].get("end") == pytest.approx(0.5)]
    assert [row["end"] for row in shares if row["step"] == "batch 8"] == pytest.approx([0.5, 0.8])


def test_the_label_of_a_bar_is_its_length_and_a_step_without_instruments_that_differs_stands_beside_it() -> None:
    unlike = anatomy_size(8, 0.406, phases=phases(0.194, 8))
    alike = anatomy_size(64, 0.32, phases=phases(0.322, 64))
    document = anatomy_document(answer=anatomy_answer(sizes=(unlike, alike)))
    assert {"24.2 ms (plain 50.8 ms)", "5.03 ms"} <= set(drawn(document, "label"))
    assert "plain: without instruments" in str(chart_of(document))
    assert "plain" not in str(chart_of(anatomy_document()))


def test_the_picture_of_one_size_on_a_cpu_has_bars_alone() -> None:
    assert not drawn(anatomy_cpu_document(), "memory")
    assert set(drawn(anatomy_cpu_document(), "phase")) == {"forward", "backward", "optimiser"}


def test_the_command_can_be_repeated_with_all_of_its_settings() -> None:
    assert reproduce_command(anatomy_document()) == (
        "traindyno anatomy --model torchvision:resnet50 --data folder:/data/imagenet/train --device cuda:0 "
        "--batch-size 8,64,256 --workers 12 --pin-memory --set memory_format=channels_last --trace steps.json"
    )
    assert reproduce_command(anatomy_cpu_document()) == (
        "traindyno anatomy --model torchvision:squeezenet1_1 --device cpu --batch-size 32 --set compile=default "
        "--set threads=2"
    )
