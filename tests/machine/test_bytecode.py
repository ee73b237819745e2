"""Whether Python finds a package compiled, or must compile it at every start."""

import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from traindyno.machine.bytecode import keeps_bytecode

SOURCES = ("__init__.py", "_dynamo/convert_frame.py", "_inductor/scheduler.py")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One that looks like torch, from source, in a folder that can be written to."""
    folder = tmp_path / "like_torch"
    for name in SOURCES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield folder
    sys.modules.pop("like_torch", None)


def test_a_package_without_bytecode_where_none_is_written_has_none(package: Path) -> None:
    assert keeps_bytecode("like_torch") is False


def test_one_that_was_compiled_has_it_whatever_is_written(package: Path) -> None:
    for name in SOURCES:
        py_compile.compile(str(package / name))
    assert keeps_bytecode("like_torch") is True


def test_one_of_which_a_part_was_compiled_has_not(package: Path) -> None:
    py_compile.compile(str(package / SOURCES[0]))
    assert keeps_bytecode("like_torch") is False


def test_bytecode_that_will_be_written_is_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert keeps_bytecode("like_torch") is True
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert keeps_bytecode("like_torch") is False


def test_of_a_package_that_is_not_there_nothing_is_known() -> None:
    assert keeps_bytecode("no_such_package_as_this") is None
