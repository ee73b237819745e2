"""Compiled code is kept from trial to trial of one runner, and no longer."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from traindyno.runner import local
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines


class Link:
    """Takes the keeper's place and keeps what it would be given."""

    given: list[Mapping[str, str]] = []  # noqa: RUF012 - emptied before each test

    def __init__(self, _preload: tuple[str, ...], _spawn: bool, _seconds: float, variables: Mapping[str, str]) -> None:
        self.given.append(variables)

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def link(monkeypatch: pytest.MonkeyPatch) -> None:
    Link.given.clear()
    monkeypatch.setattr(local, "KeeperLink", Link)


def folder_of(runner: LocalRunner) -> Path:
    runner.warm_up()
    variables = Link.given[-1]
    folder = Path(variables["TORCHINDUCTOR_CACHE_DIR"])
    assert folder in Path(variables["TRITON_CACHE_DIR"]).parents
    return folder


def test_each_runner_starts_from_an_empty_folder_of_its_own() -> None:
    runners = [LocalRunner("no:entry", Deadlines()) for _ in range(2)]
    folders = [folder_of(runner) for runner in runners]
    assert len(set(folders)) == 2
    assert [list(folder.iterdir()) for folder in folders] == [[], []]
    for runner in runners:
        runner.close()


def test_the_folder_goes_when_the_runner_closes_even_if_it_is_gone_already() -> None:
    runner = LocalRunner("no:entry", Deadlines())
    folder = folder_of(runner)
    (folder / "kernel.so").touch()
    runner.close()
    assert not folder.exists()
    folder = folder_of(runner)
    folder.rmdir()
    runner.close()


def test_a_runner_that_never_started_leaves_nothing_to_remove() -> None:
    LocalRunner("no:entry", Deadlines()).close()
    assert Link.given == []
