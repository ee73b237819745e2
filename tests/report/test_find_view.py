"""A search as people read it: the answer, the finalists, what changes, what was tried, and texts to copy."""

import csv
import io
import math
import tomllib
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len

from report.find_documents import (
    FAST,
    FIND,
    FOLDER,
    OWN,
    attempts,
    baseline,
    cut_short,
    finalist,
    find_answer,
    find_document,
    free_batch,
    free_batch_allowed,
    near_equals,
    nothing_gained,
    only_another_batch,
    recommended,
    simulated_find,
    with_answer,
)
from report.pages import Page
from report.snapshots import assert_snapshot
from traindyno.analysis.find.attempts import NO_TIME, UNPROVED, not_kept
from traindyno.analysis.find.placed import placed_finalists
from traindyno.core.answers import Attempt, Document, Headroom, Remedy
from traindyno.core.errors import UsageError
from traindyno.core.setups import SettingsFile
from traindyno.report.charts.ratios import LETTER_WIDTH, LONGEST_NAME
from traindyno.report.document import typed_answer
from traindyno.report.found_settings import settings_file_of
from traindyno.report.renderers import rendered
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.view import Table
from traindyno.report.views import view_of
from traindyno.report.views.find_attempts import tried_table

HOSTILE = "</pre><script>alert('owned')</script>\x1b[31m"
UNKNOWN = (math.nan, math.nan)


def shown(document: Document, width: int = 100) -> list[str]:
    return render_console(document, width=width).splitlines()


def tables_of(document: Document) -> tuple[Table, ...]:
    return view_of(document).tables(document)


def chapters_of(document: Document) -> dict[str, Any]:
    return {chapter.heading: chapter for chapter in view_of(document).chapters(document)}


def drawn(chart: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    assert chart is not None
    return [row for rows in chart["datasets"].values() for row in rows if key in row]


@pytest.mark.parametrize("name", FIND)
def test_every_answer_reads_as_it_did(name: str) -> None:
    assert_snapshot(f"{name}.txt", render_console(FIND[name](), width=80))
    # The code below the settings file has tests of its own.
    assert_snapshot(f"{name}.md", render_markdown(FIND[name]()).partition("### PyTorch")[0])


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", FIND)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(cell_len(line) for line in shown(FIND[name](), width)) <= width


@pytest.mark.parametrize("name", FIND)
def test_the_page_is_well_formed_and_runs_nothing(name: str) -> None:
    page = Page(render_html(FIND[name]()))
    assert (page.misnested, page.open) == ([], [])
    assert not page.names() & {"script", "link", "img", "iframe", "form"}


def test_the_answer_stands_above_the_tables() -> None:
    lines = shown(find_document())
    answer = "7.58 times as fast: 858 → 6,500 examples/s (95 % interval 7.48 to 7.66)"
    assert lines.index(answer) == 2
    assert sum(answer in line for line in lines) == 1


def test_every_finalist_has_one_row_and_the_recommended_one_is_marked() -> None:
    rows = tables_of(find_document())[0].rows
    assert [row.cells[0] for row in rows] == [
        "baseline", "recommended", "with any batch", "near-equal 1", "near-equal 2",
    ]  # fmt: skip
    assert [row.cells[0] for row in rows if row.tone == "chosen"] == ["recommended"]
    assert rows[1].cells[1:] == ("256", "6,500 ± 58", "7.58× (7.48 to 7.66)", "12.4 GiB", "15")


def test_a_near_equal_says_what_it_saves_and_how() -> None:
    legend = tables_of(find_document())[0].legend
    assert "near-equal 1: with num_workers=8; saves CPUs" in legend
    assert "near-equal 2: with compile=none, cudnn_benchmark=off; saves memory and changes of code" in legend


def test_who_took_part_and_is_nothing_else_is_a_runner_up_told_by_its_settings() -> None:
    faster = msgspec.structs.replace(OWN, threads=2)
    extra = [finalist("at your batch", "memory:", each, 900.0) for each in (OWN, faster)]
    everyone = (*find_answer().finalists, *extra)
    document = with_answer(finalists=everyone, recommended=baseline(), at_own_batch=baseline(), near_equal=())
    (table, *_) = tables_of(document)
    assert [row.cells[0] for row in table.rows][-2:] == ["runner-up 4", "runner-up 5"]
    assert "runner-up 5: with data=memory:, threads=2" in table.legend
    labels = [placed.label for placed in placed_finalists(document.answer)]
    assert len(set(labels)) == len(labels)


def test_changes_are_told_from_old_to_new_and_the_other_batch_only_where_it_differs() -> None:
    changes = {row.cells[0]: row.cells[1:] for row in tables_of(find_document())[1].rows}
    assert changes["precision"][:2] == ("fp32 → bf16", "")
    assert changes["pin_memory"][:2] == ("off → on", "")
    assert changes["data"][:2] == ("folder:/data/imagenet/train → prepared:/fast/imagenet", "")
    assert changes["batch_size"][:2] == ("256", "512")
    assert "decoder" not in changes


@pytest.mark.parametrize("document", [find_document(), only_another_batch(), free_batch_allowed(), cut_short()])
def test_every_change_says_what_it_rests_on(document: Document) -> None:
    page, text = Page(render_html(document)).text, " ".join(render_console(document, width=160).split())
    changes = tables_of(document)[1]
    assert changes.columns[-1].heading == "rests on"
    for row in changes.rows:
        assert row.cells[-1], row.cells[0]
        assert row.cells[-1] in page
        assert row.cells[-1] in text
    assert ("persistent_workers", "rule: workers do not start anew") in [
        (row.cells[0], row.cells[-1]) for row in changes.rows
    ]


def test_an_answer_from_before_grounds_were_told_has_no_column_for_them() -> None:
    best = recommended(rests_on={})
    (_, changes, *_) = tables_of(with_answer(recommended=best, at_own_batch=best, with_free_batch=None))
    assert [column.heading for column in changes.columns] == ["setting", "baseline → recommended"]
    assert changes.legend == ()


def test_a_setting_left_to_torch_is_said_so() -> None:
    threaded = msgspec.structs.replace(OWN, threads=8)
    best = finalist("at_own_batch", "synthetic:", threaded, 900.0)
    document = with_answer(recommended=best, at_own_batch=best, with_free_batch=None)
    assert ("threads", "torch's own → 8") in [row.cells[:2] for row in tables_of(document)[1].rows]


def test_what_was_adopted_at_first_without_a_trial_is_told_and_what_was_ruled_out_is_counted() -> None:
    answer = find_answer()
    bet = Attempt(side="data", change="num_workers=3", outcome="adopted", adopted=True, ratio=1.3, predicted=True)
    no_time = Attempt(side="step", change="compile=default", outcome=NO_TIME)
    (table,) = tried_table(msgspec.structs.replace(answer, attempts=(not_kept(bet, UNPROVED), no_time)))
    assert [row.cells for row in table.rows] == [
        ("num_workers=3", "1.30× (predicted)", "adopted at first; it was not proved end to end")
    ]
    assert table.legend == ("1 more not tried, or ruled out: the report says why",)


def test_another_batch_is_never_silent() -> None:
    for document, label in ((find_document(), "With any batch"), (free_batch_allowed(), "Take care")):
        told = view_of(document).conclusion(document)
        assert f"{label}: {free_batch().warnings[0]}" in told
        assert "Learning rate at batch 512: 0.2, by that rule" in told


def test_with_the_batch_free_the_own_batch_stands_beside_it() -> None:
    rows = tables_of(free_batch_allowed())[0].rows
    assert [row.cells[:2] for row in rows[:3]] == [
        ("baseline", "256"), ("recommended", "512"), ("at your batch", "256"),
    ]  # fmt: skip
    assert shown(free_batch_allowed())[2].startswith("7.83 times as fast: 858 → 6,718 examples/s")


def test_a_gain_of_one_is_an_answer_and_has_nothing_to_copy() -> None:
    document = nothing_gained()
    assert " ".join(shown(document)[2:4]) == document.answer.verdicts[0]
    table, tried = tables_of(document)
    assert [(row.cells[0], row.tone) for row in table.rows] == [("baseline", "chosen")]
    assert ("optimizer_kernel=fused", "1.004× (0.996 to 1.012)", "not faster") in [row.cells for row in tried.rows]
    assert "more not tried, or ruled out" in tried.legend[-1]
    assert view_of(document).snippets(document) == ()
    assert "settings-to-copy" not in Page(render_html(document)).ids()


def test_where_nothing_was_tried_nobody_says_that_it_is_not_faster() -> None:
    told = "Nothing but the baseline was measured: the time budget did not reach for more."
    document = with_answer(
        recommended=baseline(), at_own_batch=baseline(), with_free_batch=None, near_equal=(), finalists=(),
        speedup=1.0, attempts=(), verdicts=(told, "The baseline is bound by compute."),
    )  # fmt: skip
    page = Page(render_html(document)).text.partition("Raw data")[0]
    for text in (render_console(document, width=120), render_markdown(document), page):
        assert text.count(told) == 1
        assert "is faster" not in text
        assert "1.00 times" not in text


def test_where_only_another_batch_is_faster_the_first_line_says_so() -> None:
    document = only_another_batch()
    told = (
        "Nothing was shown to be faster at your batch of 256; with a batch of 512 it is 7.83 times as fast: "
        "858 → 6,718 examples/s"
    )
    for text in (render_console(document, width=200), render_markdown(document), Page(render_html(document)).text):
        assert told in text


def test_a_slower_or_doubtful_batch_is_not_offered_as_a_gain() -> None:
    for interval in ((0.92, 0.94), (0.99, 1.2), UNKNOWN):
        free = free_batch(speedup_ci95=interval)
        document = with_answer(recommended=baseline(), at_own_batch=baseline(), with_free_batch=free)
        assert shown(document)[2] == document.answer.verdicts[0]
        assert view_of(document).snippets(document) == ()


def test_what_only_another_batch_gains_can_be_copied_and_is_marked() -> None:
    snippets = view_of(only_another_batch()).snippets(only_another_batch())
    assert {snippet.title.partition(",")[2] for snippet in snippets} == {" with another batch (512 instead of 256)"}
    file = tomllib.loads(snippets[0].text)
    assert file["settings"]["batch_size"] == 512
    assert file["gain"]["speedup"] == pytest.approx(free_batch().speedup)
    assert "ANOTHER BATCH: 512 instead of 256" in snippets[0].text
    exported = tomllib.loads(rendered(only_another_batch(), "toml").decode())
    assert exported["settings"]["batch_size"] == 256


def test_where_only_another_batch_is_faster_it_is_shown_beside_the_baseline() -> None:
    document = only_another_batch()
    finalists, changes, _ = tables_of(document)
    assert [(row.cells[0], row.tone) for row in finalists.rows] == [("baseline", "chosen"), ("with any batch", "plain")]
    assert changes.columns[1].heading == "baseline"
    assert ("precision", "fp32", "bf16") in [row.cells[:3] for row in changes.rows]


def test_where_the_own_batch_gains_nothing_the_baseline_is_not_told_twice() -> None:
    document = with_answer(recommended=free_batch(), at_own_batch=baseline(), near_equal=(), finalists=())
    finalists, changes, _ = tables_of(document)
    assert [row.cells[0] for row in finalists.rows] == ["baseline", "recommended"]
    assert [column.heading for column in changes.columns] == ["setting", "baseline → recommended", "rests on"]


def test_a_search_that_was_cut_says_that_nothing_is_confirmed() -> None:
    document = cut_short()
    text = " ".join(render_console(document, width=200).split())
    assert "(95 % interval within one process 7.48 to 7.66), not confirmed by repeated rounds that agree" in text
    assert "recommended: not confirmed, from a single process, its interval within one process" in text
    assert "not confirmed" in Page(render_html(document)).text.split("Settings to copy")[0]
    assert {row["state"] for row in drawn(chapters_of(document)["Finalists"].chart, "state")} == {
        "baseline", "from single processes, not confirmed",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("document", "told", "untold"),
    [
        (find_document(), "cover the variation between processes", "within one process"),
        (only_another_batch(), "cover the variation between processes", "within one process"),
        (cut_short(), "covers the variation within one process only", "ran end to end, loader and all"),
        (nothing_gained(), "no other way to train had a speed", "loader and all"),
    ],
)
def test_the_method_tells_how_this_answer_came_about(document: Document, told: str, untold: str) -> None:
    method = Page(render_html(document)).text.partition("Every trial ran in a fresh process")[2]
    assert told in method
    assert untold not in method


def test_who_failed_in_the_last_rounds_is_told_once() -> None:
    sentence = "at_own_batch failed in the last rounds: out of memory"
    answer = find_answer(failed=(sentence,))
    told_already = msgspec.structs.replace(answer, verdicts=(*answer.verdicts, sentence))
    for each in (answer, told_already):
        document = find_document(answer=each)
        assert render_console(document, width=120).count(sentence) == 1
        assert Page(render_html(document)).text.partition("Raw data")[0].count(sentence) == 1


def test_a_long_path_that_changes_only_at_its_end_is_a_change() -> None:
    path = "folder:/" + "a" * 90
    best = msgspec.structs.replace(recommended(), data=f"{path}/two", changes={"data": f"{path}/two"})
    other = msgspec.structs.replace(best, data=f"{path}/three")
    document = with_answer(
        baseline=msgspec.structs.replace(baseline(), data=f"{path}/one"), recommended=best, at_own_batch=best,
        with_free_batch=None, near_equal=(other,), finalists=(),
    )  # fmt: skip
    finalists, changes, _ = tables_of(document)
    (cell,) = [row.cells[1] for row in changes.rows if row.cells[0] == "data"]
    before, _, after = cell.partition(" → ")
    assert (before[-4:], after[-4:]) == ("/one", "/two")
    assert max(len(before), len(after)) <= 80
    (note,) = [line for line in finalists.legend if line.startswith("near-equal")]
    assert "with data=folder:/aaa" in note
    assert "/three" in note


@pytest.mark.parametrize("form", ["console", "markdown", "html", "csv"])
def test_a_folder_whose_name_is_no_text_costs_the_settings_file_alone(form: str) -> None:
    best = msgspec.structs.replace(recommended(), data="prepared:/fast/\udcff")
    text = rendered(with_answer(recommended=best, at_own_batch=best), form).decode()
    assert "6500" in text.replace(",", "")
    if form in ("markdown", "html"):
        assert "There is no settings file" in text
        assert "torch.autocast" in text


def test_a_folder_whose_name_is_no_text_is_refused_by_the_settings_file_itself() -> None:
    best = msgspec.structs.replace(recommended(), data="prepared:/fast/\udcff")
    with pytest.raises(UsageError, match="bytes that are no text"):
        rendered(with_answer(recommended=best), "toml")


def test_a_simulated_answer_says_so_in_every_rendering() -> None:
    document = simulated_find()
    for form in ("console", "markdown", "html", "svg", "toml"):
        assert "SIMULATED" in rendered(document, form).decode(), form
    assert all(row["simulated"] == "true" for row in csv.DictReader(io.StringIO(render_csv(document))))
    for chapter in chapters_of(document).values():
        assert chapter.chart is None or "SIMULATED" in chapter.chart["title"]["subtitle"]


def test_a_page_tells_answer_settings_pictures_attempts_constraints_and_then_the_rest() -> None:
    assert Page(render_html(find_document())).ids() == [
        "answer", "settings-to-copy", "before-and-after", "finalists", "how-the-time-was-spent", "what-was-tried",
        "constraints", "conditions", "every-trial", "method", "run-it-again", "raw-data",
    ]  # fmt: skip


def test_the_page_has_every_text_to_copy() -> None:
    text = Page(render_html(find_document())).text
    for title in ("Settings file", "PyTorch", "Lightning", "accelerate"):
        assert title in text
    assert 'precision = "bf16"' in text
    assert "dtype=torch.bfloat16" in text


def test_the_settings_file_holds_what_is_recommended_and_the_baseline() -> None:
    file: SettingsFile = settings_file_of(find_document())
    assert (file.data, file.study, file.speedup) == ("prepared:/fast/imagenet", "keen-heron", recommended().speedup)
    assert (file.confirmed, file.simulated) == (True, False)
    assert settings_file_of(cut_short()).confirmed is False
    assert settings_file_of(simulated_find()).simulated is True
    assert file.baseline is not None
    assert file.baseline.settings == OWN
    snippet = view_of(find_document()).snippets(find_document())[0]
    assert tomllib.loads(snippet.text)["settings"]["num_workers"] == 15


def test_a_document_without_its_request_still_names_model_and_data() -> None:
    workload = settings_file_of(find_document(request=None)).workload
    assert workload is not None
    assert (workload.model, workload.data) == ("torchvision:resnet50", "folder:/data/imagenet/train")


def test_the_step_is_drawn_before_and_after_with_what_binds_it() -> None:
    chart = chapters_of(find_document())["Before and after"].chart
    rows = drawn(chart, "phase")
    assert {row["step"] for row in rows} == {"baseline", "recommended"}
    labels = {row["label"] for row in drawn(chart, "label")}
    assert {"data-bound (decode)", "compute-bound", "1.17 ms"} <= labels


@pytest.mark.parametrize(
    ("missing", "title"),
    [
        ({}, "The step before and after"),
        ({"step_after": ()}, "The baseline's step; that of what was found is not known"),
        ({"step_before": ()}, "The step of what was found; the baseline's is not known"),
    ],
)
def test_the_picture_of_the_step_is_called_what_it_shows(missing: dict[str, Any], title: str) -> None:
    chart = chapters_of(with_answer(**missing))["Before and after"].chart
    assert chart is not None
    assert chart["title"]["text"] == title


def test_every_attempt_with_a_ratio_is_drawn_and_those_adopted_are_marked() -> None:
    chapter = chapters_of(find_document())["What was tried"]
    states = {row["name"]: row["state"] for row in drawn(chapter.chart, "state")}
    assert len(states) == sum(attempt.ratio is not None for attempt in attempts())
    assert states["8. compile=default"] == "adopted"
    assert states["7. precision=fp16"] == "not adopted"
    assert states["4. data=prepared:/fast/imagenet, num_workers=4"] == "predicted, not measured"
    (table,) = chapter.tables
    assert len(table.rows) == len(attempts())
    assert table.rows[3].cells[3] == "0.71× (predicted)"
    assert table.rows[2].cells[4] == "adopted: nothing is decoded any more"
    assert table.rows[7].cells[4] == "adopted"


def test_an_interval_that_does_not_cover_how_processes_differ_is_marked_and_others_are_not() -> None:
    one = Attempt(side="step", change="tf32=all", outcome="adopted", adopted=True, ratio=1.3, ci95=(1.27, 1.33))
    marked = msgspec.structs.replace(one, within_process=True)
    (table,) = chapters_of(with_answer(attempts=(one, marked)))["What was tried"].tables
    assert [row.cells[3] for row in table.rows] == ["1.30× (1.27 to 1.33)", "1.30× (1.27 to 1.33) *"]
    assert table.legend == ("* of one pair or one run: the interval does not cover how far processes differ",)
    chart = chapters_of(with_answer(attempts=(one, marked)))["What was tried"].chart
    assert {row["name"] for row in drawn(chart, "state")} == {"1. tf32=all", "2. tf32=all *"}
    assert chapters_of(with_answer(attempts=(one,)))["What was tried"].tables[0].legend == ()


def test_a_long_change_keeps_its_mark_where_the_chart_cuts_names_off() -> None:
    change = "num_workers=2, pin_memory=on, persistent_workers=on, decoder=simplejpeg"
    attempt = Attempt(side="data", change=change, outcome="adopted", adopted=True, ratio=1.3, within_process=True)
    chart = chapters_of(with_answer(attempts=(attempt,)))["What was tried"].chart
    (name,) = {row["name"] for row in drawn(chart, "state")}
    assert name.endswith("… *")
    assert LETTER_WIDTH * len(name) < LONGEST_NAME


def test_the_same_change_tried_twice_is_drawn_twice() -> None:
    twice = (Attempt(side="step", change="compile=default", outcome="not faster", ratio=1.0, ci95=(0.9, 1.1)),) * 2
    chart = chapters_of(with_answer(attempts=twice))["What was tried"].chart
    assert {row["name"] for row in drawn(chart, "state")} == {"1. compile=default", "2. compile=default"}


def test_the_parts_of_the_search_add_up_to_its_time() -> None:
    (table,) = chapters_of(find_document())["How the time was spent"].tables
    assert sum(row.bar or 0.0 for row in table.rows) == pytest.approx(1.0)
    assert table.legend == ("9 min 23 s in 41 trials; the whole search took 9 min 23 s",)
    (made_up,) = chapters_of(with_answer(simulated=True, seconds=0.9))["How the time was spent"].tables
    assert made_up.legend == ("9 min 23 s in 41 simulated trials; the whole search took 900 ms",)


def test_offers_and_constraints_stand_in_every_text() -> None:
    for text in (render_console(find_document(), width=200), render_markdown(find_document()), _page_text()):
        assert "5 % of the memory stays free" in text
        assert "put the prepared data into RAM" in text
        assert "--also memory:/fast/imagenet" in text


def _page_text() -> str:
    return Page(render_html(find_document())).text


def test_training_time_is_told_before_and_after() -> None:
    assert (
        "• Training for 90 epochs of 1,281,167 examples: 1 d 13 h → 4 h 57 min ± 3 min (3 min 18 s per epoch)"
        in shown(find_document(), 120)
    )


def test_a_sheet_has_a_row_for_every_finalist_and_attempt_and_says_which() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(find_document()))))
    finalists = [row for row in rows if row["row"] == "finalist"]
    tried = [row for row in rows if row["row"] == "attempt"]
    assert (len(finalists), len(tried)) == (5, len(attempts()))
    assert [row["name"] for row in finalists if row["chosen"] == "true"] == ["recommended"]
    assert float(finalists[1]["examples_per_second"]) == 6500.0
    assert finalists[1]["ratio"] == ""
    fp16 = next(row for row in tried if row["name"] == "precision=fp16")
    assert (fp16["chosen"], float(fp16["ratio"]), fp16["batch_size"]) == ("false", 1.79, "")


@pytest.mark.parametrize("name", FIND)
def test_json_is_read_back(name: str) -> None:
    document = FIND[name]()
    assert typed_answer(msgspec.json.decode(render_json(document))).answer == document.answer


def test_an_answer_with_almost_nothing_known_renders_without_a_not_a_number() -> None:
    bare = finalist(
        "at_own_batch", "synthetic:", msgspec.structs.replace(OWN, num_workers=1), math.nan, ci95=UNKNOWN,
        step_seconds=math.nan, speedup=math.nan, speedup_ci95=UNKNOWN, peak_memory_bytes=0,
    )  # fmt: skip
    document = with_answer(
        recommended=bare, at_own_batch=bare, with_free_batch=None, near_equal=(), finalists=(), step_before=(),
        step_after=(), attempts=(), spent=(), constraints=(), offered=(), training_time=None, verdicts=(),
        headroom=Headroom(), speedup_ci95=UNKNOWN,
    )  # fmt: skip
    for form in ("console", "markdown", "html"):
        text = rendered(document, form).decode()
        assert "n/a" in text
        if form != "html":
            assert "None" not in text.partition("### Settings file")[0]
            assert "nan" not in text.partition("### Settings file")[0].lower()


def test_an_interval_with_an_open_end_is_told_and_drawn() -> None:
    best = recommended(speedup_ci95=(7.1, math.inf))
    document = with_answer(recommended=best, at_own_batch=best, speedup_ci95=(7.1, math.inf), finalists=())
    assert "(95 % interval from 7.10)" in shown(document)[2]
    arrows = drawn(chapters_of(document)["Finalists"].chart, "shape")
    assert [row["name"] for row in arrows] == ["recommended (batch 256)"]
    assert rendered(document, "svg").startswith(b"<svg")


def test_text_from_elsewhere_is_shown_and_never_obeyed() -> None:
    worst = msgspec.structs.replace(near_equals()[0], name=HOSTILE, data=HOSTILE, cheaper_in=(HOSTILE,))
    document = with_answer(
        model=HOSTILE, constraints=(HOSTILE,), verdicts=("", HOSTILE), near_equal=(worst,),
        attempts=(Attempt(side=HOSTILE, change=HOSTILE, outcome=HOSTILE, ratio=1.0),),
    )  # fmt: skip
    page = render_html(document)
    assert "<script" not in page.lower()
    assert "\x1b" not in render_console(document)
    assert "<script>" not in render_markdown(document).partition("### Settings file")[0].replace("\\<", "")


def test_an_answer_from_the_ledger_names_its_changes_in_the_usual_order() -> None:
    best = recommended()
    shuffled = msgspec.structs.replace(
        best, settings=dict(sorted(best.settings.items())), changes=dict(sorted(best.changes.items()))
    )
    names = [[row.cells[0] for row in tables_of(with_answer(recommended=way))[1].rows] for way in (best, shuffled)]
    assert names[0] == names[1]
    assert names[0][:4] == ["data", "batch_size", "precision", "num_workers"]


def test_offers_without_a_command_have_no_empty_column() -> None:
    offered = (Remedy(action="prepare the data", predicted_speedup=1.8, command=None),)
    (table,) = chapters_of(with_answer(offered=offered))["Constraints"].tables
    assert [row.cells for row in table.rows] == [("prepare the data", "1.80×")]
    assert len(table.columns) == 2


def test_a_speed_that_may_be_anything_is_not_told_with_its_interval_and_the_rates_are_explained() -> None:
    rival = finalist("at_own_batch", FOLDER, FAST, 66.5, speedup=5.12, speedup_ci95=(0.00002, 1489862.44), steady=False)
    own = baseline(examples_per_second=32.0)
    document = with_answer(
        baseline=own, recommended=own, at_own_batch=own, with_free_batch=None, near_equal=(), finalists=(own, rival)
    )
    table = tables_of(document)[0]
    assert table.rows[1].cells[2].endswith("(!)")
    assert table.rows[1].cells[3] == "5.12× ± over 100 %"
    legend = " ".join(table.legend)
    assert "the rates give 2.08×" in legend
    assert "did not become steady, or two of them disagree" in legend
    assert "1489862" not in render_console(document, width=120)
