import pytest

from report.documents import ALL
from report.snapshots import assert_snapshot
from traindyno.report.renderers.markdown import escape, render_markdown


@pytest.mark.parametrize("name", ALL)
def test_every_answer_reads_as_it_did(name: str) -> None:
    assert_snapshot(f"{name}.md", render_markdown(ALL[name]()))


@pytest.mark.parametrize("name", ALL)
def test_all_rows_of_a_table_have_as_many_cells_as_its_heading(name: str) -> None:
    table: list[int] = []
    for line in [*render_markdown(ALL[name]()).splitlines(), ""]:
        if line.startswith("|"):
            table.append(line.replace("\\|", "").count("|"))
        else:
            assert len(set(table)) <= 1
            table = []


def test_foreign_text_is_shown_and_never_obeyed() -> None:
    assert escape("<b>*a*|`x`[l](u)") == r"\<b>\*a\*\|\`x\`\[l\](u)"


def test_a_model_name_keeps_its_underscores_readable() -> None:
    assert escape("torchvision:mobilenet_v2") == "torchvision:mobilenet_v2"
    assert escape("_emphasis_") == r"\_emphasis\_"
