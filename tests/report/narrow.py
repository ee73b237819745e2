"""What a table must keep in a narrow terminal: every number, whole."""

from collections import Counter

from rich.cells import cell_len

from traindyno.core.answers import Document
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.console_words import LONGEST_NUMBER
from traindyno.report.views import view_of
from traindyno.report.wording import clean


def numbers_not_shown(document: Document, width: int) -> Counter[str]:
    """Words with a digit in the tables' cells that cannot be found in the text for a terminal of this width."""
    cells = [clean(cell) for table in view_of(document).tables(document) for row in table.rows for cell in row.cells]
    words = Counter(word for cell in cells for word in cell.split() if any(letter.isdigit() for letter in word))
    numbers = Counter({word: times for word, times in words.items() if cell_len(word) <= LONGEST_NUMBER})
    return numbers - Counter(render_console(document, width=width).split())
