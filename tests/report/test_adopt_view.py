"""Adoptions and the ledger as people read them: the verdict with its evidence, and what was decided when."""

import csv
import importlib
import io
import json
import math
import shlex
from typing import Any

import click
import msgspec
import pytest

from report.adopt_documents import CANDIDATES, ENTRIES, adopt_document, entry, ledger_document
from report.documents import HOSTILE
from report.narrow import numbers_not_shown
from report.pages import Page
from report.round_documents import round_document
from report.snapshots import assert_snapshot
from traindyno.core.answers import AdoptAnswer, LedgerAnswer
from traindyno.report.document import typed_answer
from traindyno.report.renderers import rendered
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.reproduce import reproduce_command
from traindyno.report.views import view_of


def rows_of(chart: dict[str, Any] | None, field: str) -> list[dict[str, Any]]:
    assert chart is not None
    return [row for rows in chart["datasets"].values() for row in rows if field in row]


def test_an_adoption_reads_as_it_did() -> None:
    assert_snapshot("round_adopt.txt", render_console(adopt_document(), width=80))
    assert_snapshot("round_adopt.md", render_markdown(adopt_document()))


def test_a_ledger_reads_as_it_did() -> None:
    assert_snapshot("round_ledger.txt", render_console(ledger_document(), width=80))


def test_the_page_leads_with_the_verdict_its_gain_and_its_evidence() -> None:
    headline = view_of(adopt_document()).headline(adopt_document())
    assert headline is not None
    beside = dict(headline.beside)
    assert headline.value == "adopt"
    assert (beside["gain"], beside["95 % interval"], beside["p"]) == ("+1.25 points", "+0.91 to +1.59", "0.0043")
    assert beside["seeds"] == "6 of each"


def test_an_undecided_one_says_how_many_seeds_would_decide_it() -> None:
    document = adopt_document(verdict="undecided", needed_seeds=14)
    headline = view_of(document).headline(document)
    assert headline is not None
    assert ("needed", "about 14 seeds of each") in headline.beside


def test_the_picture_has_every_fresh_seed_and_the_gains_beside_the_minimum() -> None:
    chart = view_of(adopt_document()).chart(adopt_document())
    assert len(rows_of(chart, "beside")) == sum(len(row.scores) for row in CANDIDATES)
    gains = {row["name"]: row["gain"] for row in rows_of(chart, "gain") if "name" in row}
    assert gains == {"mlp:64x64": 0.002, "mlp:64x64x64": 0.0125}
    assert {row["gain"] for row in rows_of(chart, "gain") if "name" not in row} == {0.0, 0.002}
    assert [row["words"] for row in rows_of(chart, "words") if "gain" not in row] == ["1 failed"]


def test_a_failed_run_does_not_squeeze_the_others() -> None:
    seeds = rows_of(view_of(adopt_document()).chart(adopt_document()), "beside")
    assert min(row["score"] for row in seeds) > 0.9


AWKWARD = {
    "one candidate": {"rows": CANDIDATES[:1], "winner": None, "gain": None, "ci95": None, "p_value": None},
    "no scores": {"rows": (msgspec.structs.replace(CANDIDATES[0], scores=(), mean=None, sd=None),), "verdicts": ()},
    "lost numbers": {"rows": (msgspec.structs.replace(CANDIDATES[1], scores=(math.nan, 0.9), sd=math.nan),)},
    "loss": {"metric": "loss", "higher_is_better": False},
    "free metric": {"metric": "f1 of mine", "minimum_gain": 0.0},
    "endless interval": {"rows": (CANDIDATES[0], msgspec.structs.replace(CANDIDATES[2], ci95=(-math.inf, math.inf)))},
    "long name": {"rows": (CANDIDATES[0], msgspec.structs.replace(CANDIDATES[2], label="x" * 60)), "winner": "x" * 60},
    "hostile": {"question": HOSTILE, "verdicts": (HOSTILE,), "commit": HOSTILE, "configuration": {"a": HOSTILE}},
}


@pytest.mark.parametrize("name", AWKWARD)
def test_no_adoption_is_too_awkward_to_be_told(name: str) -> None:
    document = adopt_document(**AWKWARD[name])
    for form in ("console", "markdown", "csv", "json", "html"):
        assert rendered(document, form), form
    chart = view_of(document).chart(document)
    assert (chart is None) == (name == "no scores")
    json.dumps(chart, allow_nan=False)


def test_a_sheet_has_a_row_for_each_candidate_and_a_column_for_each_seed() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(adopt_document()))))
    assert [row["candidate"] for row in rows] == ["incumbent", "mlp:64x64", "mlp:64x64x64"]
    assert [row["winner"] for row in rows] == ["false", "false", "true"]
    assert float(rows[2]["score_6"]) == 0.9806
    assert rows[0]["gain"] == ""


def test_what_holds_now_can_be_copied_into_the_next_round() -> None:
    (snippet,) = view_of(adopt_document()).snippets(adopt_document())
    assert snippet.text.splitlines()[:3] == ["[incumbent]", 'model = "mlp:64x64x64"', "learning_rate = 0.1834"]


def test_the_command_asks_for_the_same_look_again() -> None:
    assert reproduce_command(adopt_document()) == "traindyno round adopt depth --seeds 6"


@pytest.mark.parametrize(("document", "kind"), [(adopt_document(), AdoptAnswer), (ledger_document(), LedgerAnswer)])
def test_an_exported_answer_can_be_read_back(document: Any, kind: type) -> None:
    again = typed_answer(json.loads(render_json(document)))
    assert isinstance(again.answer, kind)
    assert render_console(again, width=100) == render_console(document, width=100)


@pytest.mark.parametrize("form", ["console", "markdown", "html", "svg"])
@pytest.mark.parametrize("make", [adopt_document, ledger_document])
def test_a_simulated_one_says_so(make: Any, form: str) -> None:
    assert "SIMULATED" in rendered(make(simulated=True), form).decode()
    assert "SIMULATED" not in rendered(make(), form).decode()


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("make", [adopt_document, ledger_document])
def test_every_number_of_the_tables_stands_whole_in_a_narrow_terminal(make: Any, width: int) -> None:
    assert not numbers_not_shown(make(), width)


def test_the_ledger_says_what_is_stale_what_holds_and_how_to_repeat_it() -> None:
    text = Page(render_html(ledger_document())).text
    for words in (
        "adopt, stale",
        "the batch size changed from 64 to 128",
        "traindyno round adopt depth --seeds 6",
        "what holds now: model=mlp:64x64x64",
    ):
        assert words in text or words in render_console(ledger_document(), width=200)


def test_stale_decisions_are_hollow_and_adopted_ones_joined() -> None:
    chart = view_of(ledger_document()).chart(ledger_document())
    assert chart is not None
    layers = chart["vconcat"][0]["layer"]
    joined = next(layer for layer in layers if layer["mark"]["type"] == "line")
    names = [row["name"] for row in chart["datasets"][joined["data"]["name"]]]
    assert names == ["1. initial", "2. depth"]
    hollow = next(layer for layer in layers if layer["mark"].get("fill") == "white")
    assert [row["name"] for row in chart["datasets"][hollow["data"]["name"]]] == ["1. initial"]


def begun_document(*others: Any) -> Any:
    """A campaign that began with the best of eight rates, each on one seed."""
    beginning = entry("first", "adopt", 0.961, None, p_value=None, sd=None, seeds=1, best_of=8, study="first")
    return ledger_document(entries=(beginning, *others), verdicts=())


def test_what_a_campaign_began_with_is_not_called_evidence() -> None:
    document = begun_document(ENTRIES[1])
    row = view_of(document).tables(document)[0].rows[0]
    assert row.cells[2] == "begun: best of 8, one seed"
    assert row.cells[-1] == "none"
    (line,) = view_of(document).conclusion(document)
    assert line.startswith("Begun with first; 1 decision from fresh seeds, 1 adopted; what holds now:")
    assert "but for what a campaign began with" in Page(render_html(document)).text


def test_what_a_campaign_began_with_is_drawn_hollow_and_off_the_line() -> None:
    document = begun_document(ENTRIES[1])
    chart = view_of(document).chart(document)
    assert chart is not None
    layers = chart["vconcat"][0]["layer"]
    line, *hollow = (
        [row["name"] for row in chart["datasets"][layer["data"]["name"]]]
        for layer in layers
        if layer["mark"]["type"] == "line" or layer["mark"].get("fill") == "white"
    )
    assert (line, hollow) == (["2. depth"], [["1. first"]])
    assert {"begun with: the best of a search, one seed", "adopt"} == {row["state"] for row in rows_of(chart, "state")}
    alone = view_of(begun_document()).headline(begun_document())
    assert alone is not None
    assert "one seed" in alone.label


def test_simulated_decisions_are_told_from_real_ones() -> None:
    document = ledger_document(entries=(entry("toy", "adopt", 0.9, 0.01, simulated=True), ENTRIES[1]), simulated=True)
    verdicts = [row.cells[2] for row in view_of(document).tables(document)[0].rows]
    assert verdicts == ["adopt, simulated", "adopt"]
    assert [row["decision_simulated"] for row in csv.DictReader(io.StringIO(render_csv(document)))] == ["true", "false"]


def test_a_decision_despite_failed_checks_is_marked() -> None:
    document = ledger_document(entries=(entry("depth", "adopt", 0.98, 0.01, failed_checks=("boundary of momentum",)),))
    table, _ = view_of(document).tables(document)
    assert table.rows[0].cells[2] == "adopt, despite checks"


def test_the_ledger_says_whose_score_and_whose_gain_it_shows() -> None:
    first, _ = view_of(ledger_document()).tables(ledger_document())
    assert [column.heading for column in first.columns[3:5]] == ["score of what holds", "gain of the candidate"]


def test_which_figures_are_corrected_for_several_candidates_is_said_below_the_table() -> None:
    assert "Holm" in view_of(adopt_document()).tables(adopt_document())[0].legend[0]
    alone = adopt_document(rows=(CANDIDATES[0], CANDIDATES[2]))
    assert not view_of(alone).tables(alone)[0].legend


def test_an_undecided_adoption_does_not_look_like_a_result() -> None:
    assert 'class="figure plain">undecided' in render_html(adopt_document(verdict="undecided"))


def test_words_in_the_picture_have_light_around_them_where_lines_cross() -> None:
    chart = view_of(adopt_document()).chart(adopt_document())
    assert chart is not None
    texts = [layer["mark"] for layer in chart["hconcat"][1]["layer"] if layer["mark"]["type"] == "text"]
    assert [mark.get("stroke") for mark in texts] == ["white", None]


def test_decisions_by_several_metrics_have_a_panel_each() -> None:
    entries = (*ENTRIES, entry("size", "adopt", 0.31, 0.02, metric="loss", sd=None))
    document = ledger_document(entries=entries)
    chart = view_of(document).chart(document)
    assert chart is not None
    assert len(chart["vconcat"]) == 2


def test_an_empty_ledger_is_told_without_a_picture() -> None:
    document = ledger_document(entries=(), configuration={}, verdicts=())
    assert view_of(document).chart(document) is None
    assert "Nothing has been decided in campaign digits yet" in render_console(document)
    assert rendered(document, "html")


def test_code_of_the_user_s_own_is_named_again() -> None:
    document = adopt_document()
    assert document.request is not None
    own = document.request | {"workload": document.request["workload"] | {"model": "mine.py:net"}}
    command = reproduce_command(msgspec.structs.replace(document, request=own))
    assert command == "traindyno round adopt depth --seeds 6 --model mine.py:net"


@pytest.mark.parametrize(("module", "make"), [("run", round_document), ("adopt", adopt_document)])
def test_the_command_line_knows_every_option(module: str, make: Any) -> None:
    bench = {"device": "cpu", "precision": "bf16", "seed": 3, "runner": "simulated", "time_budget_seconds": 60.0}
    document = make()
    asked = msgspec.structs.replace(document, request=document.request | {"bench": bench})
    words = shlex.split(reproduce_command(asked) or "")
    command: click.Command = importlib.import_module(f"traindyno.cli.rounds.{module}").command
    assert words[:3] == ["traindyno", "round", command.name]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_simpler_of_two_equals_that_took_the_place_counts_as_adopted() -> None:
    simpler = entry("decay", "equivalent", 0.95, 0.0, changes={"weight_decay": 0.0})
    text = render_console(ledger_document(entries=(simpler,)), width=200)
    assert "1 decision from fresh seeds, 1 adopted" in text
