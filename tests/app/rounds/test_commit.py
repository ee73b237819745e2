"""The commit of the user's own code that a decision is kept with."""

import subprocess
from pathlib import Path

import pytest

from traindyno.app.rounds import commit
from traindyno.app.rounds.commit import commit_of
from traindyno.core.records import WorkloadSpec


def git(folder: Path, *words: str) -> str:
    named = ["git", "-C", str(folder), "-c", "user.name=any", "-c", "user.email=any@example.org", *words]
    return subprocess.run(named, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "job.py").write_text("def train(): ...\n")
    git(tmp_path, "add", "job.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_it_is_that_of_the_folder_the_file_is_in(repository: Path) -> None:
    found = commit_of(WorkloadSpec(model=f"{repository / 'job.py'}:train"))
    assert found is not None
    assert git(repository, "rev-parse", "HEAD").startswith(found)


def test_changes_since_are_marked(repository: Path) -> None:
    (repository / "job.py").write_text("def train(): return 1\n")
    found = commit_of(WorkloadSpec(model=f"{repository / 'job.py'}:train"))
    assert found is not None
    assert found.endswith("+")


def test_a_known_model_has_that_of_the_folder_we_are_in(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    assert commit_of(WorkloadSpec(model="mlp:64")) == git(repository, "rev-parse", "--short=12", "HEAD")


def test_without_a_repository_or_without_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert commit_of(WorkloadSpec(model="mlp:64")) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(WorkloadSpec(model="mlp:64")) is None


def test_a_git_that_hangs_is_not_waited_for(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = repository / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 30\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}:/usr/bin:/bin")
    monkeypatch.setattr(commit, "SECONDS", 0.2)
    assert commit_of(WorkloadSpec(model=f"{repository / 'job.py'}:train")) is None
