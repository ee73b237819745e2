"""The settings that `find` recommends as the file that `verify`, `find --baseline` and `traindyno.apply` read."""

from traindyno.core.answers import Document, FindAnswer
from traindyno.core.errors import UsageError
from traindyno.core.settings_file import format_settings_file
from traindyno.report.found_settings import settings_file_of


def render_toml(document: Document) -> str:
    """The settings file of a `find`; no other answer recommends a whole way to train."""
    if not isinstance(document.answer, FindAnswer):
        raise UsageError(
            f"the answer of {document.command} is no settings file", "`traindyno find` recommends settings to keep"
        )
    return format_settings_file(settings_file_of(document))
