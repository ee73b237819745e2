"""The report in a real browser, from a file, with every name unresolvable."""

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from report.documents import failed_document, throughput_document
from traindyno.report.exports import Exporter

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


def browse(page: Path, profile: Path, *flags: str) -> str:
    """What the browser prints when it opens the page."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def test_the_browser_shows_the_answer_the_chart_and_every_trial(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    Exporter.prepare({"html": page}).write(throughput_document())
    shown = browse(page, tmp_path / "profile", "--dump-dom")
    assert '<div class="figure">256</div>' in shown
    assert "<svg" in shown
    assert "saturated from 128" in shown
    assert shown.count("<td>speed</td>") == len(throughput_document().trials)


def test_nothing_hostile_runs_in_the_browser(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    Exporter.prepare({"html": page}).write(failed_document())
    shown = browse(page, tmp_path / "profile", "--dump-dom").lower()
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;alert('owned')&lt;/script&gt;" in shown


@pytest.mark.parametrize("width", [1100, 400])
def test_the_page_fits_the_width_of_the_window(tmp_path: Path, width: int) -> None:
    report, page = tmp_path / "report.html", tmp_path / "frame.html"
    Exporter.prepare({"html": report}).write(throughput_document())
    content = html.escape(report.read_text(encoding="utf-8"))
    measure = "f.onload = () => { document.title = f.contentDocument.documentElement.scrollWidth }"
    frame = f'<iframe id="f" style="border:0;width:{width}px" srcdoc="{content}"></iframe>'
    page.write_text(f"<meta charset=utf-8><body>{frame}<script>{measure}</script>", encoding="utf-8")
    wide = ("--window-size=1200,900", "--virtual-time-budget=5000", "--dump-dom")
    shown = browse(page, tmp_path / "profile", *wide)
    title = re.search(r"<title>(\d+)</title>", shown)
    assert title is not None
    assert int(title[1]) <= width


def test_the_page_can_be_photographed(tmp_path: Path) -> None:
    from PIL import Image

    page, picture = tmp_path / "report.html", tmp_path / "shot.png"
    Exporter.prepare({"html": page}).write(throughput_document())
    browse(page, tmp_path / "profile", "--window-size=1100,2400", f"--screenshot={picture}")
    with Image.open(picture) as image:
        colors = {color for _, color in image.convert("RGB").getcolors(maxcolors=10**7) or []}
    assert (0x00, 0x72, 0xB2) in colors, "the curve is drawn in its own blue"
