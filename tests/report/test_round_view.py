"""Tuning rounds as people read them: what forbids an answer first, then the answer, and every run."""

import csv
import io
import json
from functools import cache
from typing import Any

import msgspec
import pytest

from report.documents import HOSTILE
from report.narrow import numbers_not_shown
from report.pages import Page
from report.round_documents import VERDICTS, request_of, round_answer, round_document, undecided_round_document
from report.round_runs import parameter, runs_of, the_round
from report.snapshots import assert_snapshot
from traindyno.core.answers import Check, Document, RoundAnswer
from traindyno.core.round_file import parse_round
from traindyno.core.rounds import Goal, Parameter, Round, RoundMetric, Seeds
from traindyno.report.charts.rounds_axes import axes_chart
from traindyno.report.charts.rounds_best_of_k import best_of_k_chart
from traindyno.report.charts.rounds_parallel import parallel_chart
from traindyno.report.document import typed_answer
from traindyno.report.renderers import rendered
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.reproduce import reproduce_command, request_command
from traindyno.report.trials import trial_rows
from traindyno.report.view import Chapter, Table
from traindyno.report.views import view_of

CHAPTERS = ["checks", "isolation", "axis-plots", "parallel-view", "curves", "best-of-k", "importance", "proposals"]


@pytest.fixture(scope="module")
def page() -> str:
    return render_html(round_document())


@cache
def chart_of(heading: str) -> dict[str, Any]:
    """A chapter's picture of the usual round."""
    chart = next(each.chart for each in _chapters() if each.heading == heading)
    assert chart is not None
    return chart


@cache
def _chapters() -> tuple[Chapter, ...]:
    return view_of(round_document()).chapters(round_document())


def loss_round() -> Round:
    return the_round(metric=RoundMetric(name="loss", higher_is_better=False))


def long_names() -> Round:
    values = tuple(f"my_networks/deep_and_narrow_and_very_long_indeed.py:number_{at}" for at in range(3))
    target = Parameter(name="model", role="target", values=values)
    return the_round(name="n" * 60, parameters=(target, *the_round().parameters[1:]))


def only_choices() -> Round:
    kinds = Parameter(name="schedule", role="nuisance", values=("cosine", "constant", "step"))
    return the_round(
        parameters=(the_round().parameters[0], kinds, Parameter(name="clip", role="nuisance", values=(True, False)))
    )


def all_failed() -> Document:
    endings = ("diverged", "crashed", "timed_out", "failed", "out_of_memory")
    runs = tuple(
        msgspec.structs.replace(run, ending=endings[at % 5], score=None, curve=())
        for at, run in enumerate(runs_of(the_round(), 4))
    )
    nothing: dict[str, Any] = {"isolation": (), "best_of_k": (), "importance": (), "incumbent_scores": (), "best": None}
    return round_document(answer=round_answer(runs=runs, ready=False, **nothing))


def twelve_parameters(trials: int = 4) -> Document:
    many = [parameter(f"knob_{at}", 1e-5, 1.0) for at in range(12)]
    return round_document(the_round(parameters=(the_round().parameters[0], *many)), trials)


def one_run() -> Document:
    told = the_round(parameters=the_round().parameters[1:3], goal=Goal(kind="maximise"), seeds=Seeds(gate=0))
    return round_document(told, 1)


def hostile_round() -> Document:
    told = the_round(goal=Goal(kind="helps", question=HOSTILE))
    answer = round_answer(told, 2)
    checks = tuple(msgspec.structs.replace(each, text=HOSTILE, subject=HOSTILE) for each in answer.checks)
    return round_document(told, answer=msgspec.structs.replace(answer, checks=checks, verdicts=(HOSTILE,)))


AWKWARD = {
    "one run": one_run,
    "no feasible run": all_failed,
    "no target": lambda: round_document(the_round(parameters=the_round().parameters[1:])),
    "nothing searched": lambda: round_document(the_round(parameters=the_round().parameters[:1])),
    "only choices": lambda: round_document(only_choices(), 4),
    "twelve parameters": twelve_parameters,
    "loss": lambda: round_document(loss_round(), 4),
    "long names": lambda: round_document(long_names(), 4),
    "no request": lambda: msgspec.structs.replace(round_document(trials=4), request=None),
    "no runs": lambda: round_document(answer=round_answer(runs=(), best=None, verdicts=())),
    "hostile": hostile_round,
}


def values(chart: dict[str, Any] | None, field: str) -> list[Any]:
    assert chart is not None
    return [row[field] for rows in chart["datasets"].values() for row in rows if field in row]


def arms_of(document: Document) -> Table:
    return next(table for table in view_of(document).tables(document) if (table.title or "").startswith("Arms"))


def test_a_round_reads_as_it_did() -> None:
    assert_snapshot("round.txt", render_console(round_document(), width=80))
    assert_snapshot("round.md", render_markdown(round_document()))


def test_a_round_whose_checks_forbid_an_answer_reads_as_it_did() -> None:
    assert_snapshot("round_undecided.txt", render_console(undecided_round_document(), width=80))


def test_the_answer_is_the_last_line() -> None:
    document = msgspec.structs.replace(round_document(), hint=None)
    assert render_console(document, width=400).rstrip().splitlines()[-1] == VERDICTS[0]


def test_a_failed_check_stands_first_and_no_gain_is_claimed() -> None:
    document = undecided_round_document()
    first, *_ = view_of(document).tables(document)
    assert first.title == "Checks"
    assert first.rows[0].cells[0] == "failed"
    headline = view_of(document).headline(document)
    assert headline is not None
    assert headline.value == "not yet"
    assert "upper edge of learning_rate" in headline.label
    assert "points" not in headline.value


def test_many_passed_checks_of_a_kind_share_a_row() -> None:
    check = round_answer().checks[-1]
    many = tuple(
        msgspec.structs.replace(check, name="boundary", state="passed", subject=f"knob_{at}") for at in range(30)
    )
    document = round_document(answer=round_answer(trials=2, checks=many))
    (row,) = view_of(document).tables(document)[0].rows
    assert row.cells[2].startswith("30 passed: knob_0, knob_1")


def test_what_passed_checks_found_is_told_also_where_they_share_a_row() -> None:
    lost = "2 of 16 runs of mlp:64x64 gave no score: 2 diverged."
    texts = ("All 16 runs of mlp:64 gave a score.", lost)
    arms = tuple(
        Check(name="feasible", state="passed", text=text, subject=f"arm {at}") for at, text in enumerate(texts)
    )
    others = tuple(Check(name=f"other {at}", state="passed", text="fine") for at in range(10))
    document = round_document(answer=round_answer(trials=2, checks=(*arms, *others)))
    assert lost in view_of(document).tables(document)[0].rows[0].cells[2]
    assert texts[0] in view_of(document).tables(document)[0].rows[0].cells[2]


def test_of_many_checks_that_could_not_be_told_the_first_speaks_for_all_and_failed_ones_for_themselves() -> None:
    unknown, failed = (
        tuple(Check(name="space", state=state, text=f"about knob {at}", subject=f"knob_{at}") for at in range(8))
        for state in ("unknown", "failed")
    )
    document = round_document(answer=round_answer(trials=2, checks=(*unknown, *failed)))
    rows = [row.cells for row in view_of(document).tables(document)[0].rows]
    assert [cells[0] for cells in rows] == ["failed"] * 8 + ["unknown"]
    assert rows[-1][2].startswith("8 cannot be told: knob_0, knob_1")
    assert rows[-1][2].endswith("Of the first: about knob 0")


def test_runs_whose_values_are_not_searched_any_more_are_none_of_the_best() -> None:
    document = round_document()
    best = max((run for run in document.answer.runs if run.feasible), key=lambda run: run.score or 0.0)
    runs = tuple(msgspec.structs.replace(run, inside=run != best) for run in document.answer.runs)
    moved = msgspec.structs.replace(document, answer=msgspec.structs.replace(document.answer, runs=runs))
    place = f"{best.draw.phase} {best.draw.index}"
    first, now = (_best_rows(each)[0] for each in (document, moved))
    assert first[-1] == place
    assert now != first


def test_what_is_begun_with_needs_no_proof_by_fresh_seeds() -> None:
    document = round_document()
    first = msgspec.structs.replace(document, answer=msgspec.structs.replace(document.answer, goal="initial"))
    table = next(each for each in view_of(first).tables(first) if each.title == "The best runs")
    assert table.legend == ("One seed each; the gate of the next round shows how far seeds differ",)


def _best_rows(document: Document) -> list[tuple[str, ...]]:
    table = next(each for each in view_of(document).tables(document) if each.title == "The best runs")
    return [row.cells for row in table.rows]


def test_an_arm_shows_its_runs_without_a_score_by_how_they_ended() -> None:
    document = round_document()
    arms = arms_of(document)
    assert [row.cells[0] for row in arms.rows] == ["mlp:64", "mlp:64x64", "mlp:64x64x64"]
    assert [row.cells[2] for row in arms.rows] == ["1 diverged", "2 diverged", "1 out of memory"]
    assert arms.rows[2].tone == "chosen"
    assert arms.rows[2].cells[5].startswith("+1.08 ± ")


def test_arms_without_a_rate_have_no_column_for_it() -> None:
    arms = tuple(msgspec.structs.replace(row, examples_per_second=None) for row in round_answer().arms)
    without = arms_of(round_document(answer=round_answer(arms=arms)))
    assert "examples/s" not in [column.heading for column in without.columns]
    assert "examples/s" in [column.heading for column in arms_of(round_document()).columns]


def test_a_rate_that_only_some_arms_have_is_left_out() -> None:
    arms = tuple(
        msgspec.structs.replace(row, examples_per_second=None if at else 9000.0)
        for at, row in enumerate(round_answer().arms)
    )
    partly = arms_of(round_document(answer=round_answer(arms=arms)))
    assert "examples/s" not in [column.heading for column in partly.columns]


def test_times_of_runs_beside_others_say_so() -> None:
    document = round_document()
    beside = tuple(entry | {"conditions": entry["conditions"] | {"runs_beside": 1}} for entry in document.trials)
    headings = [column.heading for column in arms_of(msgspec.structs.replace(document, trials=beside)).columns]
    assert "time per run, others beside it" in headings
    assert "time per run" in [column.heading for column in arms_of(document).columns]


def test_an_uneven_interval_is_told_by_its_ends_so_that_no_accuracy_exceeds_the_whole() -> None:
    isolation = tuple(
        msgspec.structs.replace(row, expected_best=0.9551, ci95=(0.7508, 1.0)) for row in round_answer().isolation
    )
    rows = arms_of(round_document(answer=round_answer(isolation=isolation))).rows
    assert {row.cells[4] for row in rows} == {"95.51 (75.08 to 100.00)"}


def test_an_arm_that_is_a_bare_value_has_its_parameter_s_name_in_tables_and_pictures() -> None:
    target = Parameter(name="dropout", role="target", values=(0.0, 0.2))
    document = round_document(the_round(parameters=(target, *the_round().parameters[1:])), 8)
    assert [row.cells[0] for row in arms_of(document).rows] == ["dropout = 0.0", "dropout = 0.2"]
    chart = next(each.chart for each in view_of(document).chapters(document) if each.heading == "Isolation")
    assert {"dropout = 0.0", "dropout = 0.2"} <= set(values(chart, "arm"))
    headline = view_of(document).headline(document)
    assert headline is not None
    assert dict(headline.beside)["with"] == "dropout = 0.2"


def test_what_stable_means_is_said_below_the_table() -> None:
    assert "resamples" in render_console(round_document(), width=200)


def test_a_round_that_is_not_ready_leads_with_no_result_and_no_verdict_of_fresh_seeds() -> None:
    document = round_document(ready=False, adopted="adopt")
    parsed = render_html(document)
    assert '<div class="figure plain">not yet</div>' in parsed
    headline = view_of(document).headline(document)
    assert headline is not None
    assert "adopt" not in dict(headline.beside).values()
    assert any("Fresh seeds" in line for line in view_of(document).verdicts(document))
    assert '<div class="figure">' in render_html(round_document())


def test_the_best_runs_have_the_best_of_every_arm_among_them() -> None:
    document = round_document()
    best = view_of(document).tables(document)[-1]
    assert {row.cells[2] for row in best.rows} == {"mlp:64", "mlp:64x64", "mlp:64x64x64"}
    assert best.rows[0].cells[0] == "1"


def test_every_run_is_in_every_axis_plot_and_those_without_a_score_have_their_own_shapes() -> None:
    chart = chart_of("Axis plots")
    endings = values(chart, "ending")
    assert len(endings) == 3 * len(round_answer().runs)
    assert endings.count("diverged") == 3 * 3
    assert endings.count("out of memory") == 3
    assert len(chart["concat"]) == 3


def test_a_logarithmic_range_has_a_logarithmic_axis_and_the_incumbent_a_line() -> None:
    chart = chart_of("Axis plots")
    kinds = [
        {layer["encoding"]["x"]["scale"].get("type") for layer in panel["layer"] if "x" in layer["encoding"]}
        for panel in chart["concat"]
    ]
    assert kinds == [{"log"}, {"linear"}, {None}]
    lines = [row for rows in chart["datasets"].values() for row in rows if set(row) == {"at"}]
    assert {"at": 0.1} in lines
    assert {"at": 0.003} in lines


def test_where_less_is_better_better_still_lies_above() -> None:
    document = round_document(loss_round())
    chart = axes_chart(document)
    assert chart is not None
    scales = [layer["encoding"]["y"]["scale"] for layer in chart["concat"][0]["layer"] if "y" in layer["encoding"]]
    assert all(scale["reverse"] for scale in scales)
    scored = [run.score for run in document.answer.runs if run.score is not None]
    strip = max(values(chart, "score"))
    assert strip > sorted(scored)[len(scored) // 2]


def test_a_run_far_worse_than_the_others_does_not_squeeze_them() -> None:
    answer = round_answer()
    ruined = msgspec.structs.replace(answer.runs[-1], score=0.1, ending="ok")
    document = round_document(answer=msgspec.structs.replace(answer, runs=(*answer.runs[:-1], ruined)))
    chart = axes_chart(document)
    assert min(values(chart, "score")) > 0.8
    assert "worse than the axis shows" in values(chart, "ending")


def test_the_isolation_plot_has_the_runs_behind_what_is_expected() -> None:
    chart = chart_of("Isolation")
    assert "97.70 % (97.30 to 98.10 %)" in values(chart, "words")
    behind = [row for rows in chart["datasets"].values() for row in rows if set(row) == {"arm", "score"}]
    assert len(behind) == sum(row.feasible for row in round_answer().arms)


def test_the_best_runs_stand_out_of_all_curves() -> None:
    chart = chart_of("Curves")
    thin, bold = chart["vconcat"][0]["layer"]
    sizes = [len({row["run"] for row in chart["datasets"][layer["data"]["name"]]}) for layer in (thin, bold)]
    assert sizes == [47, 3]


def test_the_best_of_k_says_where_more_draws_would_still_help() -> None:
    labels = set(values(chart_of("Best of k"), "arm"))
    assert labels == {"mlp:64: saturated", "mlp:64x64: still gaining", "mlp:64x64x64: saturated"}


@pytest.mark.parametrize(("draws", "ticks"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3])])
def test_few_draws_are_ticked_once_each(draws: int, ticks: list[int]) -> None:
    rows = tuple(
        msgspec.structs.replace(row, expected=row.expected[:draws], low=row.low[:draws], high=row.high[:draws])
        for row in round_answer().best_of_k
    )
    chart = best_of_k_chart(round_document(answer=round_answer(best_of_k=rows)))
    assert chart is not None
    assert chart["layer"][0]["encoding"]["x"]["axis"]["values"] == ticks


def test_each_value_of_the_target_has_one_place_on_its_axis() -> None:
    told = the_round(
        parameters=(
            Parameter(name="weight_decay", role="target", values=(0.0, 0.1)),
            parameter("learning_rate", 0.003, 1.0),
        )
    )
    runs = tuple(
        msgspec.structs.replace(
            run, draw=msgspec.structs.replace(run.draw, values=run.draw.values | {"weight_decay": value})
        )
        for run in runs_of(told, 4)
        for value in [float(run.draw.arm)]
    )
    chart = parallel_chart(round_document(told, answer=round_answer(told, runs=runs)))
    assert chart is not None
    rows = [row for each in chart["datasets"].values() for row in each if row.get("axis") == "weight_decay"]
    assert [(row["words"], row["unit"]) for row in rows if "words" in row] == [("0", 0.0), ("0.1", 1.0)]
    assert {row["unit"] for row in rows if "run" in row} == {0.0, 1.0}


def test_a_legend_in_a_subtitle_goes_on_below_instead_of_being_cut() -> None:
    lines = chart_of("Isolation")["title"]["subtitle"]
    assert " ".join(lines).endswith("dashed, shaded: the incumbent's mean and seeds")
    assert max(map(len, lines)) <= 110


def test_a_page_has_its_chapters_in_order_and_every_run(page: str) -> None:
    parsed = Page(page)
    ids = parsed.ids()
    assert [name for name in ids if name in CHAPTERS] == CHAPTERS
    assert not parsed.misnested
    for words in (VERDICTS[0], "search 13 of mlp:64x64, seed 1013", "no memory left", "traindyno round run depth.toml"):
        assert words in parsed.text
    assert "scrambled Halton sequence" in parsed.text


@pytest.mark.parametrize("name", AWKWARD)
def test_no_round_is_too_awkward_to_be_told(name: str) -> None:
    document = AWKWARD[name]()
    for form in ("console", "markdown", "csv"):
        assert rendered(document, form)
    chart = view_of(document).chart(document)
    assert (chart is None) == (name == "no runs")
    charts = [chapter.chart for chapter in view_of(document).chapters(document)]
    json.dumps([chart, *charts], allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", AWKWARD)
def test_no_round_is_too_awkward_to_be_drawn(name: str) -> None:
    assert not Page(render_html(AWKWARD[name]())).misnested


def test_foreign_text_stays_text() -> None:
    parsed = Page(render_html(hostile_round()))
    assert not {"script", "img", "a", "iframe"} & parsed.names()
    assert not parsed.misnested


@pytest.mark.slow
def test_a_page_of_two_hundred_runs_over_twelve_parameters_stays_small() -> None:
    document = twelve_parameters(trials=66)
    assert len(document.answer.runs) == 201
    assert len(render_html(document).encode()) < 1_500_000


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_number_of_its_tables_stands_whole_in_a_narrow_terminal(width: int) -> None:
    assert not numbers_not_shown(round_document(), width)


def test_a_sheet_has_a_row_for_each_run_and_a_column_for_each_parameter() -> None:
    document = round_document()
    rows = list(csv.DictReader(io.StringIO(render_csv(document))))
    assert len(rows) == len(document.answer.runs)
    assert [row["phase"] for row in rows].count("gate") == 3
    lost = [row for row in rows if row["ending"] != "ok"]
    assert {row["score"] for row in lost} == {""}
    assert float(rows[3]["learning_rate"]) == document.answer.runs[3].draw.values["learning_rate"]


def test_a_parameter_called_as_a_column_has_a_column_of_its_own() -> None:
    told = the_round(parameters=(parameter("seconds", 0.1, 1.0),))
    columns = render_csv(round_document(told, 2)).splitlines()[0].split(",")
    assert columns.count("seconds") == 1
    assert "value_seconds" in columns


@pytest.mark.parametrize("command", ["round run", "round analyse"])
def test_an_exported_answer_can_be_read_back(command: str) -> None:
    document = round_document(command=command)
    again = typed_answer(json.loads(render_json(document)))
    assert isinstance(again.answer, RoundAnswer)
    assert again.answer == document.answer
    assert render_console(again, width=100) == render_console(document, width=100)


def test_a_trial_tells_what_it_was_for_and_what_came_of_it() -> None:
    document = round_document()
    entry = document.trials[3]
    assert entry["draw"]["values"]["model"] == "mlp:64"
    row = trial_rows(document)[3]
    assert row.fed.startswith("search 0 of mlp:64, seed 1000: model=mlp:64, learning_rate=")
    assert "; accuracy 9" in row.fed
    diverged = [row.fed for row in trial_rows(document) if row.fed.endswith("diverged")]
    assert len(diverged) == 3


def test_the_round_is_run_again_from_its_file_which_stands_beside_the_command() -> None:
    document = round_document()
    assert reproduce_command(document) == "traindyno round run depth.toml --device cpu"
    (snippet,) = view_of(document).snippets(document)
    assert "depth.toml" in snippet.title
    again = parse_round(snippet.text, "depth.toml")
    assert again.target == the_round().target
    assert request_command(request_of(again)) == reproduce_command(document)


@pytest.mark.parametrize("form", ["console", "markdown", "html", "svg"])
def test_a_simulated_one_says_so(form: str) -> None:
    document = round_document(trials=2, simulated=True)
    text = rendered(document, form).decode()
    assert "SIMULATED" in text
