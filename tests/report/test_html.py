import json
import re

import msgspec
import pytest

from report.documents import (
    ALL,
    HOSTILE,
    compare_document,
    failed_document,
    out_of_memory,
    throughput_document,
    trial,
)
from report.pages import Page
from traindyno.core.outcomes import Outcome
from traindyno.report.document import trial_entry
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.html_raw import compact
from traindyno.report.renderers.json_text import ordered
from traindyno.report.wording import clean

LARGEST_BYTES = 1_500_000
LOADING = {
    "script",
    "link",
    "img",
    "image",
    "iframe",
    "object",
    "embed",
    "video",
    "audio",
    "source",
    "base",
    "form",
}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: render_html(make()) for name, make in ALL.items()}


@pytest.mark.parametrize("name", ALL)
def test_the_page_is_well_formed_and_loads_nothing(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert page.misnested == []
    assert page.open == []
    assert not page.names() & LOADING
    for tag, attributes in page.tags:
        assert not {"src", "srcset", "onload", "onclick", "onerror", "action", "href", "xlink:href"} & set(
            attributes
        ), tag
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", pages[name])
    assert "@import" not in pages[name]


@pytest.mark.parametrize("name", ALL)
def test_every_address_in_the_markup_is_only_a_namespace(pages: dict[str, str], name: str) -> None:
    for _, attributes in Page(pages[name]).tags:
        for key, value in attributes.items():
            assert key.startswith("xmlns") or "//" not in (value or "") or key == "aria-label"


@pytest.mark.parametrize("name", ALL)
def test_the_page_forbids_scripts_and_requests_by_policy(pages: dict[str, str], name: str) -> None:
    policy = next(attributes for _, attributes in Page(pages[name]).tags if "http-equiv" in attributes)
    assert (policy["content"] or "").startswith("default-src 'none'")


def test_hostile_text_is_shown_and_never_obeyed() -> None:
    html = render_html(failed_document())
    page = Page(html)
    assert "<script" not in html.lower()
    assert "<img" not in html.lower()
    assert page.text.count("<script>alert('owned')</script>") >= 6
    assert clean(HOSTILE) in page.text


def test_the_order_is_answer_settings_conditions_chart_trials_method_and_raw_data(pages: dict[str, str]) -> None:
    assert Page(pages["throughput"]).ids() == [
        "answer", "settings-to-copy", "conditions", "chart", "figures", "every-trial", "method",
        "run-it-again", "raw-data",
    ]  # fmt: skip


def test_the_answer_and_its_settings_can_be_read_and_copied(pages: dict[str, str]) -> None:
    text = Page(pages["throughput"]).text
    assert "2,214 ± 11 examples/s" in text
    assert 'batch_size = 256\nprecision = "fp32"\ndevice = "cuda:0"' in text
    assert "loader = DataLoader(dataset, batch_size=256, shuffle=True, drop_last=True)" in text
    assert "traindyno throughput --model torchvision:resnet50" in text
    assert "NVIDIA H200, 140 GiB, driver 570.86.15" in text
    assert "1 other process" in text


def test_every_trial_is_there_and_failures_bring_their_evidence(pages: dict[str, str]) -> None:
    document, html = throughput_document(), pages["throughput"]
    rows = re.findall(r"<tr[^>]*><td>(\d+)</td><td>speed", html)
    assert [int(row) for row in rows] == list(range(1, len(document.trials) + 1))
    failure = out_of_memory(2048)
    for evidence in (failure.message, failure.remedy, failure.error_type, failure.log_tail, "free_bytes"):
        assert str(evidence) in Page(html).text


def test_simulated_and_unlike_stand_before_the_answer(pages: dict[str, str]) -> None:
    for html, word in ((pages["simulated"], "SIMULATED"), (pages["compare"], "UNLIKE")):
        assert html.index(f"<strong>{word}") < html.index('id="answer"')
    assert "<strong>SIMULATED" not in pages["throughput"]


def test_the_raw_data_is_the_document_itself(pages: dict[str, str]) -> None:
    document = throughput_document()
    text = Page(pages["throughput"]).text
    raw = text[text.index('{\n"schema"') :].rpartition("}")[0] + "}"
    assert json.loads(raw) == ordered(document)


def test_the_compact_form_is_valid_json_also_without_trials() -> None:
    fields = ordered(compare_document())
    assert json.loads(compact(fields)) == fields


@pytest.mark.parametrize("name", ALL)
def test_the_page_stays_small(pages: dict[str, str], name: str) -> None:
    assert len(pages[name].encode()) < LARGEST_BYTES


def test_a_study_of_many_flooding_trials_still_stays_small() -> None:
    flood = msgspec.structs.replace(out_of_memory(64), log_tail="<&>" * 30_000, traceback="<&>" * 30_000)
    many = [trial_entry(trial(64, Outcome.OUT_OF_DEVICE_MEMORY, failure=flood)) for _ in range(200)]
    many += [trial_entry(trial(32, blocks=500)) for _ in range(200)]
    html = render_html(throughput_document(trials=tuple(many)))
    assert len(html.encode()) < LARGEST_BYTES
    page = Page(html)
    assert page.misnested == []
    assert "Left out for size" in page.text
    assert len(re.findall(r"<tr[^>]*><td>\d+</td><td>speed", html)) == 400


def test_half_characters_in_a_log_do_not_stop_the_report() -> None:
    failure = msgspec.structs.replace(out_of_memory(64), log_tail="\udce4\x00\x1b[2J")
    entry = trial_entry(trial(64, Outcome.OUT_OF_DEVICE_MEMORY, failure=failure))
    html = render_html(throughput_document(trials=(entry,)))
    assert html.encode("utf-8")
    assert "\udce4" not in html
