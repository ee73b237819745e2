"""Compiled code is kept from trial to trial of one runner, and no longer."""

import select
from collections.abc import Mapping
from pathlib import Path

import pytest

from traindyno.runner import local
from traindyno.runner.keeper_link import KeeperLink
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines


class Link:
    """Takes the keeper's place and keeps what it would be given."""

    given: list[Mapping[str, str]] = []  # noqa: RUF012 - emptied before each test

    def __init__(
        self, _preload: tuple[str, ...], _spawn: bool, _seconds: float, variables: Mapping[str, str], scratch: str
    ) -> None:
        assert variables["TORCHINDUCTOR_CACHE_DIR"] == scratch
        self.given.append(variables)

    def close(self) -> None: ...


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> None:
    Link.given.clear()
    monkeypatch.setattr(local, "KeeperLink", Link)


def folder_of(runner: LocalRunner) -> Path:
    runner.warm_up()
    variables = Link.given[-1]
    folder = Path(variables["TORCHINDUCTOR_CACHE_DIR"])
    assert folder in Path(variables["TRITON_CACHE_DIR"]).parents
    return folder


@pytest.mark.usefixtures("link")
def test_each_runner_starts_from_an_empty_folder_of_its_own() -> None:
    runners = [LocalRunner("no:entry", Deadlines()) for _ in range(2)]
    folders = [folder_of(runner) for runner in runners]
    assert len(set(folders)) == 2
    assert [list(folder.iterdir()) for folder in folders] == [[], []]
    for runner in runners:
        runner.close()


@pytest.mark.usefixtures("link")
def test_the_folder_goes_when_the_runner_closes_even_if_it_is_gone_already() -> None:
    runner = LocalRunner("no:entry", Deadlines())
    folder = folder_of(runner)
    (folder / "kernel.so").touch()
    runner.close()
    assert not folder.exists()
    folder = folder_of(runner)
    folder.rmdir()
    runner.close()


@pytest.mark.usefixtures("link")
def test_a_runner_that_never_started_leaves_nothing_to_remove() -> None:
    LocalRunner("no:entry", Deadlines()).close()
    assert Link.given == []


def test_the_folder_goes_with_the_keeper_where_the_command_was_killed(tmp_path: Path) -> None:
    scratch = tmp_path / "compiled"
    (scratch / "settings").mkdir(parents=True)
    link = KeeperLink((), False, 20.0, {}, str(scratch))
    assert link.ready_within(20.0)
    assert scratch.exists()
    link.socket.close()  # As the kernel does with what a killed process held.
    assert link._process.wait(timeout=20.0) == 0
    assert not scratch.exists()


def test_the_folder_goes_even_if_the_command_was_killed_while_the_keeper_still_imported(tmp_path: Path) -> None:
    scratch = tmp_path / "compiled"
    scratch.mkdir()
    link = KeeperLink((), False, 20.0, {}, str(scratch))
    link.socket.close()
    assert link._process.wait(timeout=20.0) == 0
    assert not scratch.exists()


def test_the_folder_goes_even_if_the_command_was_killed_before_it_heard_that_the_keeper_is_ready(
    tmp_path: Path,
) -> None:
    scratch = tmp_path / "compiled"
    scratch.mkdir()
    link = KeeperLink((), False, 20.0, {}, str(scratch))
    assert select.select([link.socket], [], [], 20.0)[0]
    link.socket.close()
    assert link._process.wait(timeout=20.0) == 0
    assert not scratch.exists()
