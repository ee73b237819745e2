"""A study that is gone on with on another machine: only on one of its kind, only if the user says so, and told of."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.command_line import document, run
from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.machine.facts import collect
from traindyno.runner.simulated import SimulatedRunner

STUDY = ("throughput", "--runner", "simulated:sleep=0.3", "--batch-size", "8,16,32,64", "--repeats", "3")
AGAIN = ("resume", "it", "--no-report")
TO_ITS_END = ("--time-budget", "1m", "--json")


def machine(hostname: str, uuid: str, **other: Any) -> MachineFacts:
    gpu = GpuFacts(index=0, name=other.pop("gpu", "A"), uuid=uuid, memory_bytes=other.pop("memory_bytes", 2**33))
    return msgspec.structs.replace(collect(), hostname=hostname, gpus=(gpu,), **other)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend to be at a machine, and that what the simulated device says is measured."""
    monkeypatch.setattr(SimulatedRunner, "simulated", False)

    def go(facts: MachineFacts) -> None:
        monkeypatch.setattr("traindyno.app.workshop.collect", lambda _reader: facts)

    return go


@pytest.fixture
def begun(tmp_path: Path, at: Any) -> int:
    """A study that was begun at the first machine: how many trials it has."""
    at(machine("one", "GPU-1"))
    cut = document(run(tmp_path, *STUDY, "--no-report", "--name", "it", "--time-budget", "1.5s", "--json"))
    assert cut["state"] == "interrupted"
    return len(cut["trials"])


def moved(content: Any) -> list[str]:
    return [warning for warning in content["warnings"] if "another machine" in warning]


def test_another_machine_is_refused_unless_it_is_allowed_for(tmp_path: Path, at: Any, begun: int) -> None:
    at(machine("two", "GPU-2"))
    refused = run(tmp_path, *AGAIN)
    assert refused.returncode == 2
    assert "was begun with hostname one; here it is two" in refused.stderr
    assert "--elsewhere" in refused.stderr
    content = document(run(tmp_path, *AGAIN, "--elsewhere", *TO_ITS_END))
    assert content["state"] == "done"
    (warning,) = moved(content)
    assert warning.startswith(f"{len(content['trials']) - begun} of {len(content['trials'])} trials ran on another")
    assert "(two, GPU-2)" in warning


def test_the_warning_stays_when_the_study_ends_where_it_was_begun(tmp_path: Path, at: Any, begun: int) -> None:
    at(machine("one", "GPU-2"))
    between = document(run(tmp_path, *AGAIN, "--elsewhere", "--time-budget", "1.5s", "--json"))
    assert between["state"] == "interrupted"
    at(machine("one", "GPU-1"))
    content = document(run(tmp_path, *AGAIN, *TO_ITS_END))
    assert content["state"] == "done"
    (warning,) = moved(content)
    assert warning.startswith(f"{len(between['trials']) - begun} of {len(content['trials'])} trials ran on another")
    assert moved(document(run(tmp_path, "show", "it", "--json"))) == [warning]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"torch": "0.0"}, "torch"),
        ({"gpu": "B"}, "the GPUs A of 8.00 GiB; here it is B of 8.00 GiB"),
        ({"memory_bytes": 2**34}, "the GPUs A of 8.00 GiB; here it is A of 16.0 GiB"),
        ({"cpu_model": "another"}, "cpu_model"),
    ],
)
@pytest.mark.usefixtures("begun")
def test_a_machine_of_another_kind_is_refused_anyway(tmp_path: Path, at: Any, other: Any, named: str) -> None:
    at(machine("two", "GPU-2", **other))
    refused = run(tmp_path, *AGAIN, "--elsewhere")
    assert refused.returncode == 2
    assert f"was begun with {named}" in refused.stderr
    assert "begin a new study here" in refused.stderr


@pytest.mark.usefixtures("begun")
def test_allowing_for_another_machine_changes_nothing_on_the_same(tmp_path: Path) -> None:
    assert moved(document(run(tmp_path, *AGAIN, "--elsewhere", *TO_ITS_END))) == []
