"""The fingerprint of a user's own file."""

import hashlib
from pathlib import Path

import pytest

from traindyno.app.sources import hash_source
from traindyno.core.errors import UsageError


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_bytes(b"print()")
    assert hash_source(f"{path}:job") == hashlib.sha256(b"print()").hexdigest()


@pytest.mark.parametrize("suffix", ["", ":"])
def test_a_file_without_a_function_is_refused_before_anything_runs(tmp_path: Path, suffix: str) -> None:
    (path := tmp_path / "job.py").write_text("")
    with pytest.raises(UsageError, match="names a file but no function in it") as raised:
        hash_source(f"{path}{suffix}")
    assert raised.value.hint == f"write {path}:FUNCTION"


def test_a_changed_file_has_another_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text("a = 1")
    before = hash_source(f"{path}:job")
    path.write_text("a = 2")
    assert hash_source(f"{path}:job") != before


def test_a_path_is_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert hash_source("job.py:job") == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("model", ["torchvision:resnet50", "timm:resnet50", "ir:50", "nonsense"])
def test_known_models_have_none(model: str) -> None:
    assert hash_source(model) is None


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        hash_source(f"{tmp_path}/nowhere.py:job")
