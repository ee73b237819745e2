"""Whether a gain still holds, as people read it."""

import csv
import io
from typing import Any

import msgspec
import pytest

from report.find_documents import baseline, recommended, verify_answer, verify_document
from report.pages import Page
from traindyno.core.answers import Document
from traindyno.report.renderers import rendered
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.reproduce import reproduce_command
from traindyno.report.views import view_of


def with_answer(**changes: Any) -> Document:
    return verify_document(answer=verify_answer(**changes))


@pytest.mark.parametrize(
    ("holds", "words", "tone"),
    [
        (True, "The gain holds: ", "chosen"),
        (False, "The gain does not hold: ", "bad"),
        (None, "It is open whether the gain holds: ", "plain"),
    ],
)
def test_the_first_line_says_whether_it_holds_and_the_row_is_marked(holds: bool | None, words: str, tone: str) -> None:
    document = with_answer(holds=holds)
    lines = render_console(document, width=120).splitlines()
    assert lines[2] == f"{words}7.52× (7.41 to 7.63) as fast, promised 7.58× (7.49 to 7.66)"
    (table,) = view_of(document).tables(document)
    assert [row.tone for row in table.rows] == ["plain", tone]
    assert words.strip(": ").lower() in Page(render_html(document)).text.lower()


@pytest.mark.parametrize(("holds", "words"), [(False, "0.59× (0.21 to 1.68)"), (None, "0.59× ± over 100 %")])
def test_an_interval_that_decides_is_told_by_its_ends_however_wide_it_is(holds: bool | None, words: str) -> None:
    wide: tuple[float, float] = (0.21, 1.68)
    slow = recommended(speedup=0.59, speedup_ci95=wide)
    document = with_answer(recommended=slow, speedup=0.59, speedup_ci95=wide, holds=holds)
    assert f"{words} as fast, promised " in view_of(document).conclusion(document)[0]
    (table,) = view_of(document).tables(document)
    assert table.rows[1].cells[3] == words
    assert dict(view_of(document).headline(document).beside)["95 % interval"] == "0.21 to 1.68×"


def test_why_it_is_open_is_told_where_a_single_round_is_all_that_counts() -> None:
    single = msgspec.structs.replace(recommended(), confirmed=False)
    why = "its rounds differ, and in the slower one it was 1.29 times as fast."
    document = with_answer(recommended=single, holds=None, open_because=why)
    told = "Not confirmed: its rounds differ, and in the slower one it was 1.29 times as fast."
    assert told in render_console(document, width=120)
    assert told in Page(render_html(document)).text


def test_without_a_promise_there_is_none_in_any_text() -> None:
    document = with_answer(promised_speedup=None, promised_ci95=None)
    assert view_of(document).conclusion(document) == ("The gain holds: 7.52× (7.41 to 7.63) as fast",)
    assert "promised" not in dict(view_of(document).headline(document).beside)
    chart = view_of(document).chart(document)
    assert chart is not None
    (row,) = [row for rows in chart["datasets"].values() for row in rows if "state" in row]
    assert row["name"] == "measured now"


def test_settings_that_are_the_baseline_s_promised_nothing_in_any_rendering() -> None:
    document = with_answer(
        recommended=baseline(), speedup=1.0, speedup_ci95=(1.0, 1.0), promised_speedup=1.0, promised_ci95=(1.0, 1.0),
        holds=None, verdicts=("Nothing was promised and nothing changes.",),
    )  # fmt: skip
    for form in ("console", "markdown", "html"):
        text = rendered(document, form).decode()
        assert "Nothing was promised and nothing changes: the settings are the baseline" in text
        assert "gain holds" not in text.partition("Method")[0]
        assert "open whether" not in text
    chart = view_of(document).chart(document)
    assert chart is not None
    assert "promised" not in [row.get("name") for rows in chart["datasets"].values() for row in rows]


def test_rates_of_rounds_that_differ_are_explained_and_give_the_gain_in_the_headline() -> None:
    unlike = recommended(
        predicted_examples_per_second=None,
        examples_per_second=866.0,
        speedup=5.44,
        speedup_ci95=(4.0, 7.4),
        steady=False,
    )
    document = with_answer(baseline=baseline(examples_per_second=116.0), recommended=unlike, speedup=5.44)
    assert dict(view_of(document).headline(document).beside)["throughput"] == "159 → 866 examples/s"
    (table,) = view_of(document).tables(document)
    assert table.rows[1].cells[2].endswith("(!)")
    speed, mark = table.legend
    assert speed.startswith("recommended: its speed is the middle of its rounds")
    assert speed.endswith("the rates give 7.47×, and beside it the baseline counts as 159 examples/s")
    assert mark.startswith("(!) a trial of it did not become steady")


def test_steady_rates_that_agree_need_no_legend() -> None:
    (table,) = view_of(verify_document()).tables(verify_document())
    assert table.legend == ()


def test_a_doubtful_promise_is_named() -> None:
    doubt = "The promise was not confirmed: no repeated rounds agreed on it."
    document = with_answer(verdicts=("The gain holds.", doubt))
    for form in ("console", "markdown", "html"):
        assert doubt in rendered(document, form).decode()


def test_what_the_file_promised_is_no_option_of_the_command_that_runs_it_again() -> None:
    request = {**(verify_document().request or {}), "promise_confirmed": False, "promise_simulated": True}
    request["promise_others_cpu_share"] = 0.75
    command = reproduce_command(verify_document(request=request))
    assert command is not None
    assert "promise" not in command


def test_the_verdict_is_not_told_twice() -> None:
    assert "The gain holds here" not in render_console(verify_document())


def test_the_picture_has_the_promise_and_what_was_measured() -> None:
    chart = view_of(verify_document()).chart(verify_document())
    assert chart is not None
    rows = {row["name"]: row for rows in chart["datasets"].values() for row in rows if "state" in row}
    assert (rows["promised"]["ratio"], rows["measured now"]["ratio"]) == (7.58, 7.52)


def test_a_sheet_has_both_ways_to_train() -> None:
    first, second = csv.DictReader(io.StringIO(render_csv(verify_document())))
    assert (first["name"], second["name"], second["holds"]) == ("baseline", "recommended", "true")
    assert float(second["promised_ci95_low"]) == 7.49


def test_a_simulated_one_says_so_in_every_rendering() -> None:
    document = with_answer(simulated=True)
    for form in ("console", "markdown", "html", "svg"):
        assert "SIMULATED" in rendered(document, form).decode(), form
