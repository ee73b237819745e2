"""A store that may not be written, as a colleague's: commands that read do so, and those that write say what to do."""

import json
from pathlib import Path

import pytest

from cli.command_line import run
from cli.round_files import depth_round
from store.without_rights import run_without_rights

SIMULATED = ("--runner", "simulated", "--no-report")
RUN_EACH = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from cli.command_line import run
done = [run(Path(sys.argv[2]), *arguments) for arguments in json.loads(sys.argv[3])]
print(json.dumps([(each.returncode, each.stdout, each.stderr) for each in done]))
"""
READING = (
    ("studies",),
    ("show", "curve", "--export-csv", "curve.csv"),
    ("report", "curve", "curve.html"),
    ("plan", "--from", "curve", "--examples", "1000", "--epochs", "1"),
    ("compare", "curve", "curve"),
    ("round", "analyse", "depth", "--no-report"),
    ("round", "next", "depth", "following.toml"),
    ("round", "new", "new.toml", "--yes"),
    ("round", "adopt", "depth", "--despite-checks", "--dry-run"),
    ("round", "ledger"),
    ("throughput", "--dry-run"),
    ("find", "--dry-run"),
)
WRITING = (
    ("throughput", "--runner", "simulated"),
    ("throughput", *SIMULATED),
    ("find", "--no-report"),
    ("plan", "--from", "curve", "--examples", "1000", "--epochs", "1", "--validate"),
    ("resume", "curve"),
    ("round", "adopt", "depth", "--despite-checks"),
    ("studies", "delete", "curve", "--yes"),
    ("join", "depth"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theirs")
    assert run(folder, "throughput", *SIMULATED, "--batch-size", "16,32", "--name", "curve").returncode == 0
    (folder / "depth.toml").write_text(depth_round(trials=8))
    assert run(folder, "round", "run", "depth.toml", *SIMULATED).returncode == 0
    (folder / "traindyno.db").chmod(0o444)
    folder.chmod(0o555)
    return folder / "traindyno.db"


def _run_each(store: Path, folder: Path, commands: tuple[tuple[str, ...], ...]) -> list[tuple[int, str, str]]:
    typed = json.dumps([[*command, "--store", str(store)] for command in commands])
    done = run_without_rights("-c", RUN_EACH, str(Path(__file__).parents[1]), str(folder), typed)
    assert done.returncode == 0, done.stderr
    told: list[tuple[int, str, str]] = json.loads(done.stdout)
    return told


def test_commands_that_only_read_do_so(store: Path, tmp_path: Path) -> None:
    for command, (code, out, error) in zip(READING, _run_each(store, tmp_path, READING), strict=True):
        assert code == 0, (command, error)
        assert out, command
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"curve.csv", "curve.html", "following.toml", "new.toml"}
    assert [path.name for path in store.parent.iterdir() if path.name.startswith("traindyno")] == ["traindyno.db"]


def test_commands_that_write_name_the_option_for_another_store(store: Path, tmp_path: Path) -> None:
    for command, (code, out, error) in zip(WRITING, _run_each(store, tmp_path, WRITING), strict=True):
        assert code == 1, (command, error)
        assert out == "", command
        assert f"error: the store {store} cannot be written" in error, command
        assert "--store" in error.splitlines()[-1], command
    assert list(tmp_path.iterdir()) == []


def test_a_report_beside_it_is_refused_with_the_way_to_do_without(store: Path, tmp_path: Path) -> None:
    commands = (("round", "analyse", "depth"), ("report", "curve"))
    analysed, reported = _run_each(store, tmp_path, commands)
    assert analysed[0] == 2
    assert "leave the report away with --no-report" in analysed[2]
    assert reported[0] == 1
    assert "name a file for the report" in reported[2]
