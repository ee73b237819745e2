"""The report of a search in a real browser."""

import html
import re
from pathlib import Path

import pytest

from report.find_documents import find_document
from report.test_browser import CHROMIUM, browse
from traindyno.report.exports import Exporter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


@pytest.mark.parametrize("width", [1100, 400])
def test_answer_settings_and_pictures_are_shown_and_fit_the_window(tmp_path: Path, width: int) -> None:
    report, page = tmp_path / "report.html", tmp_path / "frame.html"
    Exporter.prepare({"html": report}).write(find_document())
    content = html.escape(report.read_text(encoding="utf-8"))
    measure = """f.onload = () => { const page = f.contentDocument
        document.title = [page.documentElement.scrollWidth, page.querySelectorAll('svg.marks').length,
        [...page.querySelectorAll('pre')].filter(each => each.checkVisibility()).length,
        page.querySelector('.figure').textContent].join(' ') }"""
    frame = f'<iframe id="f" style="border:0;width:{width}px" srcdoc="{content}"></iframe>'
    page.write_text(f"<meta charset=utf-8><body>{frame}<script>{measure}</script>", encoding="utf-8")
    shown = browse(page, tmp_path / "profile", "--window-size=1200,900", "--virtual-time-budget=5000", "--dump-dom")
    title = re.search(r"<title>(\d+) (\d+) (\d+) (.+)</title>", shown)
    assert title is not None
    assert int(title[1]) <= width
    assert int(title[2]) == 3, "the step, the finalists, and what was tried"
    assert int(title[3]) >= 2, "the settings file is open, and so is the command to run it again"
    assert title[4] == "7.58×"
