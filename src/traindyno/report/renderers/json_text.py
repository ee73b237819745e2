"""The document as strict JSON: what `--json` prints and other machines read back."""

import json
from typing import Any

from traindyno.core.answers import Document
from traindyno.core.codec import plain

FIRST_FIELDS = ("schema", "command", "study", "answer", "trials", "warnings")


def render_json(document: Document) -> str:
    """One indented JSON document and a newline, plain ASCII, so that no terminal or pipe can damage it."""
    return json.dumps(ordered(document), indent=2, allow_nan=False) + "\n"


def ordered(document: Document) -> dict[str, Any]:
    """The document's fields, the promised ones first."""
    fields: dict[str, Any] = plain(document)
    return {name: fields.pop(name) for name in FIRST_FIELDS} | fields
