"""Trial servers that tests lend each other serve every test as one of its own would."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from keepers import Keepers
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

SPEC = TrialSpec(kind="fit", workload=WorkloadSpec(model="mlp:64"), settings=Settings(batch_size=1))
ENTRY = """
import os, time
def tell(document, events):
    open("told", "w").write(os.environ["WHO"])
    return 0
def hang(document, events):
    time.sleep(1000)
"""


@pytest.fixture
def keepers() -> Iterator[Keepers]:
    keepers = Keepers()
    yield keepers
    keepers.end()


def server_of(
    keepers: Keepers, folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str = "tell", watcher: Watcher | None = None
) -> int:
    """Run a trial in a new folder; the number of the process that started it."""
    folder.mkdir()
    (folder / "entry.py").write_text(ENTRY)
    monkeypatch.chdir(folder)
    runner = LocalRunner(f"entry:{entry}", Deadlines(), preload=())
    with keepers.lent():
        try:
            runner.run(SPEC, watcher or Watcher(), None)
        finally:
            assert runner._link is not None
            server = runner._link._process.pid
            runner.close()
    return server


def test_a_second_runner_has_the_same_server_and_its_trial_a_folder_of_its_own(
    keepers: Keepers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", "both")
    first, second = (server_of(keepers, tmp_path / name, monkeypatch) for name in ("first", "second"))
    assert first == second
    assert [(tmp_path / name / "told").read_text() for name in ("first", "second")] == ["both", "both"]


def test_another_environment_has_another_server(
    keepers: Keepers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = []
    for who in ("first", "second"):
        monkeypatch.setenv("WHO", who)
        servers.append(server_of(keepers, tmp_path / who, monkeypatch))
        assert (tmp_path / who / "told").read_text() == who
    assert servers[0] != servers[1]
    assert not psutil.pid_exists(servers[0])


def test_a_server_whose_trial_is_not_over_is_ended(
    keepers: Keepers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Leaving(Watcher):
        server = 0

        def tick(self, now: float, pid: int | None) -> None:
            if pid is not None:
                self.server = psutil.Process(pid).ppid()
                raise KeyboardInterrupt

    watcher = Leaving()
    with pytest.raises(KeyboardInterrupt):
        server_of(keepers, tmp_path / "left", monkeypatch, "hang", watcher)
    assert watcher.server
    assert not psutil.pid_exists(watcher.server)
