"""Scaling as people read it: its tables, last lines, sheet and pictures."""

import csv
import io
import math
from typing import Any

import pytest

from report.scale_documents import one_device_document, scale_answer, scale_document, scale_row, weak_document
from traindyno.core.answers import BreakEven, Document, ScalePrediction
from traindyno.report.renderers import rendered
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.reproduce import reproduce_command
from traindyno.report.trials import group_words
from traindyno.report.view import Table
from traindyno.report.views import view_of


def table_of(document: Document, title: str | None) -> Table:
    (found,) = [table for table in view_of(document).tables(document) if table.title == title]
    return found


def titles_of(document: Document) -> list[str]:
    return [table.title or "" for table in view_of(document).tables(document)]


def headings_of(table: Table) -> list[str]:
    return [column.heading for column in table.columns]


def drawn(document: Document, field: str) -> list[Any]:
    chart = view_of(document).chart(document)
    assert chart is not None
    return [row[field] for rows in chart["datasets"].values() for row in rows if field in row]


def test_every_way_has_its_devices_batches_speed_efficiency_and_speed_up() -> None:
    table = table_of(scale_document(), None)
    assert headings_of(table) == [
        "devices", "batch per device", "batch in all", "throughput", "efficiency", "speed-up", "note",
    ]  # fmt: skip
    assert table.rows[4].cells == ("2", "16", "32", "1,079 ± 16", "68 %", "0.71×", "")
    assert table.rows[11].cells[-1] == "fastest, recommended"
    assert table.rows[12].cells[-1] == "buckets of 5 MiB"


def test_columns_that_have_nothing_to_tell_are_left_out() -> None:
    assert "speed-up" not in headings_of(table_of(weak_document(), None))
    alone = one_device_document()
    assert headings_of(table_of(alone, None)) == [
        "devices", "batch per device", "batch in all", "throughput", "note",
    ]  # fmt: skip
    assert titles_of(alone) == [""]


def test_the_step_is_parted_into_communication_shown_and_hidden_waiting_and_loading() -> None:
    parts = table_of(weak_document(), "Where the step goes")
    assert headings_of(parts)[2:] == [
        "time per step", "communication", "hidden", "waiting for the slowest", "loading",
    ]  # fmt: skip
    assert parts.rows[2].cells == ("2", "32", "30.6 ms", "29 %", "6 %", "1.4 %", "5 %")


def test_a_straggler_stands_out_among_its_ranks_with_what_it_loses_time_with() -> None:
    ranks = table_of(scale_document(), "The ranks of 4 devices with the largest batch, without communication")
    assert [row.tone for row in ranks.rows] == ["plain", "plain", "plain", "bad"]
    assert ranks.rows[3].cells == ("3", "cuda:3", "36.6 ± 0.5 ms", "+15.1 %", "straggler: computes more slowly")


def test_what_was_foretold_stands_beside_what_was_measured_and_what_is_only_predicted_says_so() -> None:
    document = scale_document()
    foretold = table_of(document, "Efficiency foretold from fewer devices, and then measured")
    assert foretold.rows[-1].cells == ("4", "64", "73 %", "72 %", "+2.0 %")
    predicted = table_of(document, "Predicted, not measured: more devices with links like these")
    assert [row.cells[0] for row in predicted.rows] == ["8", "16", "32"]


def test_the_break_even_is_told_for_every_count_of_devices() -> None:
    table = table_of(scale_document(), "From which batch in all more devices pay")
    assert [row.cells for row in table.rows] == [("2", "64", "32"), ("4", "128", "64")]


def test_a_batch_above_at_which_it_is_too_close_to_tell_stands_beside_the_break_even() -> None:
    close = BreakEven(devices=2, batch_size=64, slower_at=32, between=(32, 64), undecided_at=(128, 256))
    document = scale_document(answer=scale_answer(break_even=(close,), break_even_batch=64))
    table = table_of(document, "From which batch in all more devices pay")
    assert headings_of(table)[-1] == "too close to tell at batch"
    assert table.rows[0].cells == ("2", "at 64", "32", "128, 256")
    headline = view_of(document).headline(document)
    assert headline is not None
    assert ("more devices pay at", "batch 64 in all") in headline.beside
    assert "pays at 64" in drawn(document, "label")


def test_loading_beside_communication_is_neither_of_the_two_nor_computing() -> None:
    both = scale_row(2, 64, communication_share=0.0, waiting_share=0.0, load_share=0.0, load_hidden_share=0.4)
    document = scale_document(answer=scale_answer(rows=(scale_row(1, 32), both), fastest=0, recommended=0))
    parts = table_of(document, "Where the step goes")
    assert headings_of(parts)[-1] == "loading beside communication"
    assert parts.rows[0].cells[-1] == "40 %"
    assert len(parts.legend) == 3
    chart = view_of(document).chart(document)
    assert chart is not None
    pieces = {
        row["part"]: row["end"] - row["start"] for rows in chart["datasets"].values() for row in rows if "part" in row
    }
    assert pieces == pytest.approx({"computing": 0.6, "loading beside communication": 0.4})


def test_without_one_device_all_is_told_against_the_fewest_that_were_measured() -> None:
    rows = (scale_row(2, 64, efficiency=1.0, speedup=1.0), scale_row(4, 64), scale_row(4, 128))
    break_even = (BreakEven(devices=4, batch_size=64),)
    document = scale_document(answer=scale_answer(rows=rows, fastest=2, recommended=1, break_even=break_even))
    table = table_of(document, None)
    assert table.legend[1] == "speed-up: against 2 devices, the fewest measured, with the same batch in all"
    assert headings_of(table_of(document, "From which batch in all more devices pay"))[1:] == [
        "faster than 2 from batch"
    ]
    assert "× 2 devices at batch 64" in view_of(document).conclusion(document)[0]
    assert "one device" not in render_console(document, width=140, notes=False)
    alone = scale_document(answer=scale_answer(rows=rows[:1], fastest=0, recommended=0, break_even=()))
    assert "of linear" not in view_of(alone).conclusion(alone)[0]
    assert "efficiency" not in headings_of(table_of(alone, None))


def test_the_headline_predicts_for_the_batch_that_is_recommended() -> None:
    other = ScalePrediction(
        devices=8, batch_per_device=32, efficiency=0.4, efficiency_range=(0.3, 0.5), examples_per_second=1.0,
        exchange_seconds=0.01,
    )  # fmt: skip
    document = scale_document(answer=scale_answer(predicted=(other, *scale_answer().predicted)))
    headline = view_of(document).headline(document)
    assert headline is not None
    assert ("predicted with 8 devices", "69 % of linear") in headline.beside


def test_a_figure_that_is_not_shown_is_not_explained() -> None:
    rows = tuple(scale_row(devices, 32 * devices, hidden_share=None) for devices in (1, 2))
    document = scale_document(answer=scale_answer(rows=rows, fastest=1, recommended=1))
    assert table_of(document, "Where the step goes").legend == ("shares of the step",)
    assert len(table_of(scale_document(), "Where the step goes").legend) == 2


def test_a_training_has_its_time_cost_and_rate_at_every_way() -> None:
    table = table_of(weak_document(), "A whole training")
    assert headings_of(table)[3:] == ["learning rate", "training time", "cost"]
    assert table.rows[5].cells[3:] == ("0.4", "5 h 33 min ± 7 min", "55.65")


def test_a_way_that_failed_says_why() -> None:
    failed = scale_row(
        2, 64, examples_per_second=None, ci95=None, efficiency=None, speedup=None, communication_share=None,
        failure="rank 1 ran out of memory",
    )  # fmt: skip
    document = scale_document(answer=scale_answer(rows=(scale_row(1, 32), failed), fastest=0, recommended=0))
    row = table_of(document, None).rows[1]
    assert row.tone == "bad"
    assert row.cells == ("2", "32", "64", "", "rank 1 ran out of memory")


def test_the_last_line_is_the_answer() -> None:
    lines = render_console(scale_document(), width=140, notes=False).splitlines()
    assert lines[-1] == (
        "Recommended: 4 devices, batch 64 each and 256 in all, 5,756 ± 86 examples/s, 72 % of linear, "
        "2.58× one device at batch 256"
    )


def test_the_fastest_is_told_where_fewer_devices_are_recommended() -> None:
    first, second = view_of(weak_document()).conclusion(weak_document())
    assert first.startswith("Recommended: 2 devices")
    assert second.startswith("Fastest: 4 devices")


def test_tables_fit_a_terminal_of_80_columns() -> None:
    for document in (scale_document(), weak_document(), one_device_document()):
        text = render_console(document, width=80)
        assert "──" in text
        assert max(map(len, text.splitlines())) <= 80
        assert "batch per device      " not in text  # a table too wide would become a list of its rows


def test_the_title_counts_the_devices() -> None:
    assert "1 to 4 GPUs, nccl" in view_of(scale_document()).title(scale_document())
    assert "1 process of 2 threads" in view_of(one_device_document()).title(one_device_document())


def test_the_sheet_has_a_row_for_every_way() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(scale_document()))))
    assert [(row["devices"], row["batch_size"]) for row in rows][:2] == [("1", "32"), ("1", "64")]
    assert float(rows[4]["speedup"]) == pytest.approx(1079 / 1510, rel=1e-3)
    assert rows[12]["bucket_mib"] == "5.0"
    assert rows[12]["speedup"] == ""


def test_the_picture_draws_shared_batches_linear_lines_predictions_and_parts() -> None:
    document = scale_document()
    names = set(drawn(document, "name"))
    assert {"batch 32 in all", "batch 256 in all", "batch 64 each", "2 devices", "4 devices"} <= names
    assert {8, 16, 32} <= set(drawn(document, "devices"))
    assert set(drawn(document, "part")) == {"computing", "waiting for the slowest", "communication"}
    assert set(drawn(document, "label")) >= {"pays from 64", "pays from 128"}


def test_the_parts_of_a_step_fill_its_bar_whatever_noise_says() -> None:
    wild = scale_row(2, 64, communication_share=-0.02, waiting_share=0.7, load_share=0.6)
    document = scale_document(answer=scale_answer(rows=(scale_row(1, 32), wild), fastest=0, recommended=0))
    ends = [end for end in drawn(document, "end") if end is not None]
    assert max(ends) == pytest.approx(1.0)
    assert min(drawn(document, "start")) >= 0


def test_where_every_device_keeps_its_batch_the_picture_follows_that_batch() -> None:
    assert {"batch 32 each", "batch 64 each"} == set(drawn(weak_document(), "name"))


def test_one_device_alone_still_has_a_picture() -> None:
    assert set(drawn(one_device_document(), "way")) == {"1 × 32"}


@pytest.mark.parametrize("format", ["console", "markdown", "csv", "json", "html"])
def test_as_much_may_be_missing_as_the_records_allow(format: str) -> None:
    row = scale_row(
        2, 64, examples_per_second=math.nan, ci95=None, step_seconds=None, efficiency=math.inf, efficiency_ci95=None,
        speedup=None, communication_share=None, communication_share_ci95=None, hidden_share=None, waiting_share=None,
        peak_memory_bytes=None,
    )  # fmt: skip
    answer = scale_answer(
        rows=(row,), ranks=(), break_even=(), break_even_batch=None, predicted=(), link=None, gradient_bytes=None,
        backend=None, fastest=None, recommended=None, ddp_cost=None, ddp_cost_ci95=None,
    )  # fmt: skip
    assert rendered(scale_document(answer=answer, machine=None, request=None), format)


def test_the_command_can_be_repeated() -> None:
    assert reproduce_command(scale_document()) == (
        "traindyno scale --model torchvision:resnet50 --device cuda:0 --devices 1,2,4 --global-batch 32,64,128,256 "
        "--bucket-mb 25,5 --set memory_format=channels_last"
    )
    assert reproduce_command(weak_document()) == (
        "traindyno scale --model torchvision:resnet50 --data folder:/data/imagenet/train --device cuda:0 "
        "--devices 1,2,4 --batch-per-device 32,64 --workers 8 --lr 0.1@32 --examples 1281167 --epochs 90 "
        "--price-per-hour 2.5"
    )


def test_a_trial_is_told_by_its_group() -> None:
    group = {"devices": 4, "nodes": 2, "bucket_mib": 5.0}
    assert group_words(64, group) == "4 devices of 16 each, on 2 nodes, buckets of 5 MiB"
    assert group_words(64, {"devices": 1}) == "1 device"
    assert group_words(64, None) == ""
