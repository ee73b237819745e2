"""Loader and stalls studies as people read them: tables, lines to copy, pictures."""

import tomllib
from typing import Any

import msgspec
import pytest

from report.loader_documents import (
    ADOPTED,
    grid_document,
    loader_answer,
    loader_document,
    point,
    run,
    stalls_answer,
    stalls_document,
)
from traindyno.analysis.stall_causes import SLOWER, UNEXPLAINED
from traindyno.core.answers import Document, StallCause
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.settings_text import loader_line, toml
from traindyno.report.view import Table
from traindyno.report.views import view_of
from traindyno.report.views.loader_tables import ONE_PROCESS


def chart_of(document: Document) -> dict[str, Any]:
    chart = view_of(document).chart(document)
    assert chart is not None
    return chart


def values(chart: dict[str, Any], field: str) -> list[Any]:
    return [row[field] for rows in chart["datasets"].values() for row in rows if field in row]


def lines_of(document: Document, width: int = 100) -> list[str]:
    return render_console(document, width=width).splitlines()


def test_the_recommended_loader_can_be_copied_as_code_and_as_toml() -> None:
    adoption = view_of(loader_document()).adoptions(loader_document())[0]
    assert loader_line(adoption) == (
        "loader = DataLoader(dataset, batch_size=64, shuffle=True, drop_last=True, num_workers=12, prefetch_factor=2, "
        "pin_memory=True, persistent_workers=True)"
    )
    assert tomllib.loads(toml(adoption))["settings"] == {
        "batch_size": 64, "precision": "fp32", "device": "cuda:0", "num_workers": 12, "prefetch_factor": 2,
        "pin_memory": True, "persistent_workers": True, "decoder": "simplejpeg",
    }  # fmt: skip


def test_a_loader_without_workers_names_no_knob_that_torch_would_refuse() -> None:
    alone = msgspec.structs.replace(ADOPTED, num_workers=0, prefetch_factor=None, persistent_workers=False)
    document = loader_document(answer=loader_answer(recommended=alone))
    line = loader_line(view_of(document).adoptions(document)[0])
    assert "num_workers=0, pin_memory=True)" in line


def test_own_data_are_told_to_need_what_their_loader_has() -> None:
    document = loader_document()
    assert "collate_fn" not in render_console(document, width=120)
    workload = {"model": "job.py:make", "data": "synthetic:"}
    own = loader_document(request={**(document.request or {}), "workload": workload})
    told = "# Give it the collate_fn, sampler and worker_init_fn of your own DataLoader too."
    for text in (render_console(own, width=120), render_markdown(own)):
        before = text.split("loader = DataLoader(")[0]
        assert told in before
        assert "takes no shuffle" in before


def test_the_line_to_copy_stands_whole_in_every_text() -> None:
    console = " ".join(render_console(loader_document(), width=80).split())
    assert "num_workers=12, prefetch_factor=2, pin_memory=True, persistent_workers=True)" in console


def test_the_recommended_count_is_marked_and_an_unsteady_one_too() -> None:
    lines = lines_of(loader_document())
    assert [line.split()[0] for line in lines if line.endswith("recommended")] == ["12", "12"]
    assert [line.split()[0] for line in lines if line.endswith("not steady")] == ["15"]


def test_a_recommendation_that_was_not_steady_is_marked_in_its_row_and_where_it_is_told() -> None:
    text = render_console(loader_document(answer=loader_answer(steady=False)), width=120)
    recommended = [line.split("recommended")[1] for line in text.splitlines() if "  recommended" in line]
    assert recommended == ["", ", (!) not steady"]
    (told,) = [line for line in text.splitlines() if line.startswith("Recommended: ")]
    assert "(!) not steady" in " ".join(text[text.index(told) :].split())
    assert "(!)" not in render_console(loader_document()).split("Recommended: ")[1]


def test_two_intervals_of_the_recommended_rate_are_explained() -> None:
    def shown(document: Document) -> tuple[Table, ...]:
        return view_of(document).tables(document)

    legends = {table.title: table.legend for table in shown(loader_document())}
    assert legends["Feeding the model"] == (ONE_PROCESS,)
    assert legends["The loader alone"] == ()
    same = loader_answer(examples_per_second=2010.0, ci95=(2010 * 0.985, 2010 * 1.02))
    assert not any(ONE_PROCESS in table.legend for table in shown(loader_document(answer=same)))


def test_what_nobody_measured_has_no_column() -> None:
    bare = point(2, 400.0, start_up_seconds=None, p95_batch_seconds=None, longest_batch_seconds=None)
    text = render_console(loader_document(answer=loader_answer(points=(bare,), stages=(), effects=(), cpu_scaling=())))
    assert "start-up" not in text.split("Recommended")[0]
    assert "predicted" not in text


def test_the_grid_is_printed_as_a_table_of_rates_and_in_the_form_of_the_notes() -> None:
    lines = lines_of(grid_document())
    assert any(line.split() == ["15", "2,800", "2,719", "2,393"] for line in lines)
    note = next(line.split() for line in lines if line.startswith("places365") and " 8     64 " in line)
    assert note[:3] == ["places365", "8", "64"]
    assert note[3:5] == ["42.7", "ms"]
    assert sum(line.startswith("places365") for line in lines) == 18


def test_predictions_stand_beside_what_was_measured() -> None:
    warm = next(line for line in lines_of(stalls_document()) if line.startswith("warm"))
    assert "80.4 ± 1.0 ms" in warm
    assert warm.split()[-4:] == ["83.1", "ms", "+3.4", "%"]


def test_a_run_from_another_source_names_it_and_notes_are_told() -> None:
    text = render_console(stalls_document(), width=120)
    assert "prepared (prepared:/data/imagenet-256)" in text
    assert "cold: the page cache was dropped: 2 % of the pages were left" in text


def test_the_verdict_comes_before_the_cheapest_remedy() -> None:
    text = render_console(stalls_document(), width=100)
    assert text.index("Data-bound (decode): 52 % of each step is waiting (51 to 54 %)") < text.index("Cheapest remedy")


def test_waiting_that_may_be_chance_is_not_claimed() -> None:
    answer = stalls_answer(bound="launch", stall_share=0.4, stall_share_ci95=(0.0, 0.9))
    text = render_console(stalls_document(answer=answer), width=100)
    assert "Launch-bound: no waiting is shown (0 to 90 % of each step)" in text


def test_a_verdict_that_is_not_settled_claims_no_bound() -> None:
    answer = stalls_answer(bound="not settled", stall_share=0.25, stall_share_ci95=(-0.1, 0.6))
    text = render_console(stalls_document(answer=answer), width=100)
    assert "Not settled: 25 % of each step may be waiting" in text
    assert "settled-bound" not in text


def slowed_document(
    bound: str = "compute, shared with the loader", why: str = SLOWER, slower: float = 0.02
) -> Document:
    """On a CPU: of 63 ms a step waits 1 ms and loses 20 beside its loader; a cold one waits 10 ms and loses 5 more."""
    runs = (
        run("resident", 0.041),
        run("host_cached", 0.042, wait_seconds=0.0),
        run("warm", 0.063, wait_seconds=0.001),
        run("cold", 0.078, wait_seconds=0.011),
        run("memory", 0.062, source="memory:/data", wait_seconds=0.0005),
    )
    causes = (
        StallCause(cause=why, exposed_seconds=slower, exposed_share=slower / 0.063, ci95=(0.31, 0.33)),
        StallCause(cause="example", exposed_seconds=0.001, exposed_share=0.016, ci95=(0.01, 0.02)),
        StallCause(cause="transfer", exposed_seconds=0.001, exposed_share=0.016, ci95=(0.01, 0.02)),
        StallCause(cause="page cache", exposed_seconds=0.01, exposed_share=0.128, ci95=(0.12, 0.13)),
    )
    answer = stalls_answer(
        runs={each.name: each for each in runs},
        causes=causes,
        bound=bound,
        stall_share=0.032,
        stall_share_ci95=(0.02, 0.04),
        slowed_share=slower / 0.063,
        slowed_share_ci95=(0.31, 0.33),
    )
    return stalls_document(answer=answer)


def test_what_a_step_loses_without_waiting_is_not_called_waiting() -> None:
    text = render_console(slowed_document(), width=100)
    assert "Compute-bound (shared with the loader): 3 % of each step is waiting (2 to 4 %)" in text
    assert "slower without waiting: 32 % (31 to 33 %)" in " ".join(text.split())
    assert "What a step loses its time to" in text
    assert "slower beside the loader: lost without waiting" in text
    assert "waited per step" not in text


def test_a_slow_down_that_nobody_can_be_blamed_for_is_told_as_such() -> None:
    text = render_console(slowed_document(bound="not settled", why=UNEXPLAINED), width=100)
    assert "Not settled: 3 % of each step is waiting (2 to 4 %); slower without waiting" in text
    assert "slower, not settled why: lost without waiting" in text


@pytest.mark.parametrize("slower", [0.0, 0.001])
def test_a_slow_down_that_is_hardly_one_needs_no_word(slower: float) -> None:
    text = render_console(slowed_document(bound="compute", slower=slower), width=100)
    assert "slower without waiting" not in text


def test_the_cpus_of_one_of_several_ranks_are_said_to_be_its_own() -> None:
    request = {**(loader_document().request or {}), "local_ranks": 4}
    document = loader_document(request=request)
    headline = view_of(document).headline(document)
    assert headline is not None
    assert dict(headline.beside)["usable CPUs"].endswith(" for each of 4 local ranks")


def test_of_a_fed_grid_the_waits_are_told_as_such() -> None:
    alone = grid_document()
    fed = msgspec.structs.replace(alone, answer=msgspec.structs.replace(alone.answer, end_to_end=True))
    assert "95 % of waits within" in render_markdown(fed)
    assert "95 % of waits within" not in render_markdown(alone)


def test_skipped_examples_are_said() -> None:
    assert "Skipped: 3 examples" in render_console(stalls_document(), width=100)
    assert "Skipped" not in render_console(loader_document(), width=100)


def test_every_point_of_the_search_and_the_grid_is_a_row_of_the_sheet() -> None:
    answer = loader_answer(grid=grid_document().answer.grid)
    rows = render_csv(loader_document(answer=answer)).splitlines()
    assert len(rows) == 1 + 5 + 18


def test_the_heat_map_has_a_cell_for_every_pair() -> None:
    chart = chart_of(grid_document())
    cells = set(zip(values(chart, "workers"), values(chart, "batch_size"), strict=True))
    assert cells == {(workers, size) for workers in (0, 1, 2, 4, 8, 15) for size in (16, 64, 256)}


def test_a_resident_rate_far_above_is_told_and_does_not_flatten_the_curve() -> None:
    near = chart_of(loader_document())
    far = chart_of(loader_document(answer=loader_answer(resident_examples_per_second=50_000.0)))
    assert "resident data: 2,214 examples/s" in values(near, "label")
    assert "resident data: 50,000 examples/s (far above)" in values(far, "label")
    assert _ceiling(far) == _ceiling(chart_of(loader_document(answer=loader_answer(resident_examples_per_second=None))))


def _ceiling(chart: dict[str, Any]) -> float:
    domains = [
        layer["encoding"]["y"]["scale"]["domain"][1]
        for layer in chart["vconcat"][0]["layer"]
        if "scale" in layer["encoding"].get("y", {})
    ]
    return max(domains)


def test_the_parts_of_a_fed_step_add_up_to_what_it_took() -> None:
    rows = [row for part in chart_of(stalls_document())["datasets"].values() for row in part if "part" in row]
    warm = [row for row in rows if row["run"] == "warm"]
    assert [row["part"] for row in warm] == ["computing", "decode", "augment", "fetch", "transfer"]
    assert abs(max(row["end"] for row in warm) - 80.4) < 0.1
    cold = [row for row in rows if row["run"] == "cold"]
    assert [row["part"] for row in cold] == [*(row["part"] for row in warm), "page cache"]
    prepared = [row for row in rows if row["run"] == "prepared"]
    assert [row["part"] for row in prepared] == ["computing", "waiting for data"]


def test_the_parts_of_a_step_that_is_slower_beside_its_loader_add_up_to_what_it_took() -> None:
    document = slowed_document()
    rows = [row for part in chart_of(document)["datasets"].values() for row in part if "part" in row]
    parts = {name: [row for row in rows if row["run"] == name.replace("_", " ")] for name in document.answer.runs}
    for name, found in document.answer.runs.items():
        assert max(row["end"] for row in parts[name]) == pytest.approx(found.step_seconds * 1000)
    lengths = {name: {row["part"]: row["end"] - row["start"] for row in found} for name, found in parts.items()}
    assert lengths["warm"] == pytest.approx({"computing": 41, SLOWER: 20, "example": 1, "transfer": 1})
    assert lengths["cold"] == pytest.approx(
        {"computing": 41, SLOWER: 25, "example": 1, "transfer": 1, "page cache": 10}
    )
    assert lengths["memory"] == pytest.approx({"computing": 41, SLOWER: 20.5, "waiting for data": 0.5})
    assert lengths["host_cached"] == pytest.approx({"computing": 41, "transfer": 1})


def test_a_loader_that_keeps_up_shows_no_waiting() -> None:
    answer = stalls_answer(runs={"resident": run("resident", 0.04), "warm": run("warm", 0.0399)}, causes=())
    rows = values(chart_of(stalls_document(answer=answer)), "part")
    assert set(rows) == {"computing"}


def test_waiting_that_adds_up_to_more_than_the_step_is_drawn_within_it() -> None:
    runs = {"resident": run("resident", 0.305), "warm": run("warm", 0.104)}
    causes = (StallCause(cause="example", exposed_seconds=0.087, exposed_share=0.84, ci95=(-6.2, 5.2)),)
    document = stalls_document(answer=stalls_answer(runs=runs, causes=causes))
    rows = [row for part in chart_of(document)["datasets"].values() for row in part if row.get("run") == "warm"]
    assert max(row["end"] for row in rows if "part" in row) == pytest.approx(104)
    assert "84 % (± over 100 %)" in render_console(document, width=100)


@pytest.mark.parametrize(
    ("interval", "shown"),
    [((-1.4, 0.9), "none shown 0 % (± over 100 %)"), ((-0.2, 0.0), "none shown 0 % (-20 to 0 %)")],
)
def test_a_loss_below_nothing_that_may_be_noise_is_none(interval: tuple[float, float], shown: str) -> None:
    causes = (StallCause(cause="transfer", exposed_seconds=-0.05, exposed_share=-0.5, ci95=interval),)
    drawn = render_console(stalls_document(answer=stalls_answer(causes=causes)), width=100)
    assert shown in " ".join(drawn.split())
    assert "-50 %" not in drawn


def test_a_loss_that_is_surely_below_nothing_keeps_its_number() -> None:
    causes = (StallCause(cause="transfer", exposed_seconds=-0.05, exposed_share=-0.5, ci95=(-0.6, -0.4)),)
    drawn = render_console(stalls_document(answer=stalls_answer(causes=causes)), width=100)
    assert "-50.0 ms" in drawn
    assert "-50 %" in drawn
