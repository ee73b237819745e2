"""The formats of an answer, one file each. To add one: a new file here and a line in `RENDERERS`."""

from collections.abc import Callable

from traindyno.core.answers import Document
from traindyno.core.base import Record
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.renderers.pictures import render_png, render_svg
from traindyno.report.renderers.toml_text import render_toml


class Renderer(Record, frozen=True):
    """A format: its file endings and how it is written."""

    render: Callable[[Document], str | bytes]
    endings: tuple[str, ...]


RENDERERS: dict[str, Renderer] = {
    "console": Renderer(render=render_console, endings=(".txt",)),
    "json": Renderer(render=render_json, endings=(".json",)),
    "csv": Renderer(render=render_csv, endings=(".csv",)),
    "markdown": Renderer(render=render_markdown, endings=(".md", ".markdown")),
    "html": Renderer(render=render_html, endings=(".html", ".htm")),
    "png": Renderer(render=render_png, endings=(".png",)),
    "svg": Renderer(render=render_svg, endings=(".svg",)),
    "toml": Renderer(render=render_toml, endings=(".toml",)),
}


def rendered(document: Document, form: str) -> bytes:
    """The document in one of the registered formats, as the bytes of a file."""
    content = RENDERERS[form].render(document)
    return content if isinstance(content, bytes) else content.encode("utf-8", "replace")
