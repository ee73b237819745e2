from xml.etree import ElementTree

import pytest

from report.documents import ALL, failed_document, unanswered_document
from traindyno.core.errors import TraindynoError
from traindyno.report.renderers.pictures import render_png, render_svg


@pytest.mark.parametrize("name", [name for name in ALL if name != "unanswered"])
def test_every_chart_becomes_an_svg_of_readable_size(name: str) -> None:
    picture = ElementTree.fromstring(render_svg(ALL[name]()))
    assert picture.tag.endswith("svg")
    assert 500 <= float(picture.attrib["width"]) <= 1000
    assert 150 <= float(picture.attrib["height"]) <= 900


def test_foreign_text_stays_text_in_an_svg() -> None:
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(render_svg(failed_document())).iter()}
    assert not tags & {"script", "image", "img", "foreignObject", "a"}


def test_a_png_is_a_png() -> None:
    assert render_png(ALL["plan"]()).startswith(b"\x89PNG")


def test_nothing_to_draw_is_said_so() -> None:
    with pytest.raises(TraindynoError, match="nothing to draw") as refused:
        render_png(unanswered_document())
    assert refused.value.hint
