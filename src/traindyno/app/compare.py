"""Two studies, or two exported files from other machines, side by side."""

from traindyno.analysis.comparison import conclude_comparison
from traindyno.app.library import read_document
from traindyno.core.answers import Document


def compare(a: str, b: str, store: str) -> Document:
    """Each side is the name of a study in the store or the path of an exported JSON document."""
    answer = conclude_comparison(a, read_document(a, store), b, read_document(b, store))
    return Document(command="compare", study=None, answer=answer, state="done")
