"""`traindyno agent` and its head as users start them: each a command of its own, in a folder of its own."""

import json
import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import run, start
from traindyno.runner.linux import marked_processes

TOKEN = "0123456789abcdef"
MARK = "TRAINDYNO_TESTED_BY"
GENEROUS = 120.0


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINDYNO_TOKEN", TOKEN)


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """Carried by every process that a test starts, and by all that those start."""
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    return f"{MARK}={value}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("agent",), "set TRAINDYNO_TOKEN here to the value that it has on the head"),
        (("scale", "--nodes", "2", "--devices", "2", "--device", "cpu", "--listen"), "type export TRAINDYNO_TOKEN="),
    ],
)
@pytest.mark.parametrize("secret", [None, "short"])
def test_without_a_secret_worth_the_name_nothing_listens_and_nothing_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], hint: str, secret: str | None
) -> None:
    monkeypatch.delenv("TRAINDYNO_TOKEN", raising=False)
    if secret is not None:
        monkeypatch.setenv("TRAINDYNO_TOKEN", secret)
    refused = run(tmp_path, *command, f"127.0.0.1:{free_port()}")
    assert refused.returncode == 2
    assert "TRAINDYNO_TOKEN" in refused.stderr
    assert f"hint: {hint}" in refused.stderr


@pytest.mark.usefixtures("token")
def test_an_agent_that_finds_no_head_says_where_it_looked(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    lost = run(tmp_path, "agent", address, "--wait", "1s")
    assert lost.returncode == 1
    assert f"no head was found at {address}" in lost.stderr
    assert "--listen HOST:PORT" in lost.stderr


@pytest.mark.usefixtures("token")
def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "agent", "head-without-port")
    assert refused.returncode == 2
    assert "write HOST:PORT" in refused.stderr


@pytest.mark.usefixtures("token")
def test_code_that_is_not_there_cannot_be_named(tmp_path: Path) -> None:
    refused = run(tmp_path, "agent", "127.0.0.1:29400", "--model", "missing.py:model")
    assert refused.returncode == 2
    assert "there is no file missing.py" in refused.stderr


@pytest.mark.usefixtures("token")
def test_a_file_in_the_folder_cannot_allow_code_to_run_here(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text('model = "missing.py:model"\n')
    unnamed = run(tmp_path, "agent", f"127.0.0.1:{free_port()}", "--wait", "0s")
    assert "no head was found" in unnamed.stderr
    assert "missing.py" not in unnamed.stderr
    assert "missing.py" not in run(tmp_path, "join").stderr


def test_a_rehearsal_of_several_machines_needs_none_of_them(tmp_path: Path) -> None:
    several = ("--nodes", "2", "--devices", "2,4", "--listen", "127.0.0.1:29400")
    told = run(tmp_path, "scale", *several, "--dry-run", "--device", "cpu")
    assert told.returncode == 0, told.stderr
    assert "over 2 machines" in told.stdout


class Both:
    """A head and an agent on one machine, as two commands."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.here, self.there = folder / "head", folder / "other"
        self.here.mkdir()
        self.there.mkdir()
        self.address = f"127.0.0.1:{free_port()}"
        self._words = (
            "scale", "--model", "mlp:64", "--device", "cpu", "--nodes", "2", "--listen", self.address,
            "--batch-per-device", "32", "--no-report", "--json", "-v", *options,
        )  # fmt: skip
        self.agent = start(self.there, "agent", self.address)
        self.head = start(self.here, *self._words)
        self.told: list[str] = []

    def hear(self, words: str) -> None:
        """Read what the head says up to these words."""
        assert self.head.stderr is not None
        for line in self.head.stderr:
            self.told.append(line)
            if words in line:
                return
        pytest.fail(f"the head never said {words!r}:\n{''.join(self.told)}")

    def document(self) -> dict[str, Any]:
        out, rest = self.head.communicate(timeout=GENEROUS)
        self.told.append(rest)
        content: dict[str, Any] = json.loads(out)
        return content

    def end(self) -> None:
        for process in (self.head, self.agent):
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def both(tmp_path: Path, token: None, mark: str, request: pytest.FixtureRequest) -> Iterator[Both]:
    both = Both(tmp_path, *getattr(request, "param", ()))
    yield both
    both.end()


def left_after_seconds(mark: str, *spared: subprocess.Popen[str]) -> list[int]:
    """Whatever still runs of all that was started, but for the commands themselves."""
    deadline = time.monotonic() + GENEROUS
    while left := [pid for pid in marked_processes(mark) if pid not in [process.pid for process in spared]]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.1)
    return []


@pytest.mark.slow
@pytest.mark.parametrize("both", [("--devices", "1,2", "--repeats", "1", "--trial-seconds", "1s")], indirect=True)
def test_two_machines_train_together_and_both_end_when_it_is_over(both: Both, mark: str) -> None:
    document = both.document()
    assert both.head.returncode == 0, "".join(both.told)
    rows = {row["devices"]: row for row in document["answer"]["rows"]}
    assert (rows[1]["nodes"], rows[2]["nodes"]) == (1, 2)
    assert rows[2]["batch_size"] == 64
    assert all(row["examples_per_second"] > 0 for row in rows.values())
    assert [rank["rank"] for rank in document["answer"]["ranks"]] == [0, 1]
    assert any("is the same machine as the head" in warning for warning in document["warnings"])
    assert TOKEN not in json.dumps(document) + "".join(both.told)
    told = both.agent.communicate(timeout=GENEROUS)[1]
    assert both.agent.returncode == 0
    assert "taken this machine in as node 1 of 2" in told
    assert "the head says that it is over" in told
    assert left_after_seconds(mark) == []


@pytest.mark.slow
@pytest.mark.parametrize("both", [("--devices", "1,2", "--repeats", "2", "--trial-seconds", "4s")], indirect=True)
def test_an_agent_that_is_killed_in_mid_trial_is_named_and_the_head_goes_on_alone(both: Both, mark: str) -> None:
    both.hear("turns")
    both.agent.kill()
    killed = time.monotonic()
    both.hear("trying once more")
    assert time.monotonic() - killed < GENEROUS
    assert "node 1" in both.told[-1]
    assert socket.gethostname() in both.told[-1]
    document = both.document()
    assert both.head.returncode == 1, "".join(both.told)
    assert document["machine_lost"]
    trials = [(trial["outcome"], trial["settings"]["batch_size"]) for trial in document["trials"]]
    assert trials.count(("ok", 32)) == 2
    assert trials.count(("infrastructure", 64)) == 1
    assert document["warnings"][0].startswith("A machine was lost")
    assert "traindyno resume" in "".join(both.told) or "traindyno resume" in json.dumps(document)
    assert left_after_seconds(mark) == []


@pytest.mark.slow
@pytest.mark.parametrize("both", [("--devices", "2", "--repeats", "1", "--trial-seconds", "30s")], indirect=True)
def test_a_stopped_head_ends_the_trial_everywhere_and_the_agent_waits_until_it_is_stopped_too(
    both: Both, mark: str
) -> None:
    both.hear("turns")
    os.kill(both.head.pid, signal.SIGINT)
    both.document()
    assert both.head.returncode == 130
    assert left_after_seconds(mark, both.agent) == []
    assert both.agent.poll() is None
    both.agent.send_signal(signal.SIGINT)
    assert "the head is gone" in both.agent.communicate(timeout=GENEROUS)[1]
    assert both.agent.returncode == 130
    assert left_after_seconds(mark) == []


@pytest.mark.slow
@pytest.mark.parametrize("both", [("--devices", "2", "--repeats", "1", "--trial-seconds", "30s")], indirect=True)
def test_a_head_that_is_killed_leaves_no_process_on_the_other_machine(both: Both, mark: str) -> None:
    both.hear("turns")
    both.head.kill()
    both.head.wait()
    assert left_after_seconds(mark, both.agent) == []
    assert both.agent.poll() is None
