import os
from pathlib import Path

import pytest

from traindyno.machine.folders import may_write, nearest_existing


def test_the_nearest_existing_folder_of_an_existing_one_is_itself(tmp_path: Path) -> None:
    assert nearest_existing(tmp_path) == tmp_path
    assert nearest_existing(tmp_path / "a" / "b") == tmp_path


def test_a_folder_that_is_not_there_may_be_written_where_it_would_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert may_write(tmp_path / "a" / "b")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    assert not may_write(tmp_path / "a" / "b")
