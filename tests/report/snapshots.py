"""Whole outputs kept as files; `TRAINDYNO_UPDATE_SNAPSHOTS=1` writes them anew."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def assert_snapshot(name: str, text: str) -> None:
    """The text is what it was when a person last looked at it."""
    path = FOLDER / name
    if os.environ.get("TRAINDYNO_UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no snapshot {name}: run with TRAINDYNO_UPDATE_SNAPSHOTS=1, look at it, commit it"
    assert text == path.read_text(encoding="utf-8")
