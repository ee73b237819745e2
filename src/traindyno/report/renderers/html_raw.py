"""The raw data inside the page: compact, valid JSON, and never so much that the page grows too large."""

import json
from typing import Any

from traindyno.core.answers import Document
from traindyno.report.renderers.html_parts import folded, paragraph, preformatted
from traindyno.report.renderers.json_text import ordered

RAW_LIMIT = 500_000
SAMPLES = ("blocks", "soak")
LONG_TEXTS = ("log_tail", "traceback")


def raw_section(document: Document) -> str:
    """The whole document, or what of it fits, with a word about what was left out."""
    fields = ordered(document)
    for left_out, cut in (("", _whole), ("samples and logs", _without_samples), ("trials", _without_trials)):
        text = preformatted(compact(cut(fields)))
        if len(text.encode("utf-8", "replace")) <= RAW_LIMIT:
            note = f"Left out for size: {left_out}; --export-json writes everything." if left_out else ""
            return folded("The answer and every trial as JSON", (paragraph(note, "soft") if note else "") + text)
    return paragraph("The raw data is too large for a page: --export-json writes it.", "soft")


def compact(fields: dict[str, Any]) -> str:
    """Valid JSON with one line for each field, and one for each trial."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_value(name, value)}" for name, value in fields.items()) + "\n}"


def _value(name: str, value: Any) -> str:
    if name == "trials" and value:
        return "[\n" + ",\n".join(json.dumps(trial, allow_nan=False) for trial in value) + "\n]"
    return json.dumps(value, allow_nan=False)


def _whole(fields: dict[str, Any]) -> dict[str, Any]:
    return fields


def _without_samples(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"trials": [_slim(trial) for trial in fields["trials"]]}


def _slim(trial: dict[str, Any]) -> dict[str, Any]:
    measurement, failure = trial.get("measurement"), trial.get("failure")
    slim = {name: value for name, value in trial.items() if name != "series"}
    if measurement:
        slim["measurement"] = {name: value for name, value in measurement.items() if name not in SAMPLES}
    if failure:
        slim["failure"] = {name: value for name, value in failure.items() if name not in LONG_TEXTS}
    return slim


def _without_trials(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"trials": []}
