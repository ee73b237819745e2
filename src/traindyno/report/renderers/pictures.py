"""The answer's chart as SVG or PNG, drawn without a browser and without a network."""

from typing import Any

from traindyno.core.answers import Document
from traindyno.core.errors import TraindynoError
from traindyno.report.views import view_of

PNG_SCALE = 2.0


def render_svg(document: Document) -> str:
    return draw_svg(_chart(document))


def render_png(document: Document) -> bytes:
    import vl_convert

    picture: bytes = vl_convert.vegalite_to_png(_chart(document), vl_version=_version(), scale=PNG_SCALE)
    return picture


def draw_svg(specification: dict[str, Any]) -> str:
    """A chart's specification as one `<svg>` element."""
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(specification, vl_version=_version())
    return picture[picture.index("<svg") :]


def _chart(document: Document) -> dict[str, Any]:
    chart = view_of(document).chart(document)
    if chart is None:
        raise TraindynoError(
            f"there is nothing to draw in this {document.command} answer",
            "export it as Markdown, CSV, JSON or HTML",
        )
    return chart


def _version() -> str:
    """The grammar's version that the installed Altair writes, as vl-convert spells it."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
