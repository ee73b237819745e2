"""`traindyno data` from the outside: as a user runs it, stops it and kills it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.command_line import document, run, start
from worker.data.tiny_sets import jpeg, write_folder

MAKE = ("data", "make", "made", "--like", "places365", "--classes", "4", "--processes", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a set `made` that takes a few chunks to prepare."""
    folder = tmp_path_factory.mktemp("made")
    assert run(folder, *MAKE, "--images", "700", "--processes", "2").returncode == 0
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def wait_for(folder: Path, pattern: str, process: subprocess.Popen[str], more_than: int = 0) -> None:
    """Wait until there are such files, as long as the process lives."""
    while sum(1 for _ in folder.glob(pattern)) <= more_than:
        assert process.poll() is None, "it ended too early"
        time.sleep(0.005)


def test_help_of_the_group_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from traindyno.cli.main import main\n"
        "try:\n    main(['data', 'prepare', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'numpy', 'rich', 'PIL'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)


def test_without_a_command_the_group_prints_its_help(tmp_path: Path) -> None:
    completed = run(tmp_path, "data")
    assert completed.returncode == 0
    assert "prepare" in completed.stdout
    assert completed.stderr == ""


def test_make_says_on_stdout_what_there_is_and_on_stderr_how_far_it_is(tmp_path: Path) -> None:
    completed = run(tmp_path, *MAKE, "--images", "40")
    assert completed.stdout.startswith("folder:made: 36 images to train and 4 to validate on, 4 classes, ")
    assert "40 of 40 images" in completed.stderr
    assert "hint: traindyno loader --data folder:made" in completed.stderr
    assert run(tmp_path, *MAKE, "--images", "40", "-q").stderr == ""


def test_prepare_tells_cost_result_and_what_changes(made: Path, tmp_path: Path) -> None:
    completed = run(made, "data", "prepare", "folder:made", str(tmp_path / "set"), "--shorter-side", "64")
    assert completed.returncode == 0
    assert "700 examples as u8 with a shorter side of 64 px will take about 8.20 MiB" in completed.stderr
    assert "train: 630 examples, 7.38 MiB" in completed.stdout
    assert "val: 70 examples, 840 KiB" in completed.stdout
    assert "What it changes in augmentation:" in completed.stdout
    assert f"hint: traindyno loader --data prepared:{tmp_path / 'set'}" in completed.stderr


def test_with_json_there_is_exactly_one_document(tmp_path: Path) -> None:
    write_folder(tmp_path / "source", ["a/1.jpg", "b/1.jpg"])
    made = document(run(tmp_path, *MAKE, "--images", "20", "--json"))
    assert (made["schema"], made["command"], made["answer"]["images"]) == ("traindyno/1", "data make", 20)
    prepare = ("data", "prepare", "folder:source", "set", "--shorter-side", "16", "--processes", "1", "--json")
    cost = document(run(tmp_path, *prepare, "--dry-run"))["answer"]
    assert not (tmp_path / "set").exists()
    answer = document(run(tmp_path, *prepare))["answer"]
    assert answer["bytes"] == cost["expected_bytes"] == 2 * 16 * 16 * 3
    assert document(run(tmp_path, "data", "check", "set", "--processes", "1", "--json"))["answer"]["intact"] is True
    error = document(run(tmp_path, "data", "prepare", "folder:nowhere", "set", "--json"))["error"]
    assert "nowhere" in error["message"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["make", "x", "--like", "mnist", "--images", "9"], "'mnist' is not one of", "data make --help"),
        (["make", "x", "--like", "imagenet"], "Missing option '--images'", "data make --help"),
        (["make", "x", "--like", "imagenet", "--images", "0"], "0 is not in the range", "data make --help"),
        (["make", "x", "--like", "imagenet", "--images", "9", "--classes", "9"], "each of 9 classes", "18 images"),
        (["make", "source", "--like", "imagenet", "--images", "99"], "source is not empty", "an empty folder"),
        (["make", "source/a/1.jpg", "--like", "imagenet", "--images", "99"], "is a file", "name a folder"),
        (["prepare", "source", "set"], "'source' lacks its kind of source", "folder:source"),
        (["prepare", "synthetic:", "set"], "there is nothing stored", "folder:PATH"),
        (["prepare", "folder:source", "source"], "source is where the examples of folder:source", "a folder outside"),
        (["prepare", "folder:source", "source/set"], "source/set lies in source, where", "a folder outside"),
        (["prepare", "folder:source", "source/set", "--dry-run"], "source/set lies in source, where", "outside"),
        (["prepare", "folder:source", "set", "--quality", "9"], "--quality means nothing for u8", "--format jpeg"),
        (["check", "source"], "source is no prepared set", "traindyno data prepare"),
        (["mak"], "No such command 'mak'", "data --help"),
    ],
)
def test_a_mistake_is_named_with_its_remedy_and_exits_with_2(
    tmp_path: Path, arguments: list[str], message: str, hint: str
) -> None:
    write_folder(tmp_path / "source", ["a/1.jpg", "b/1.jpg"])
    completed = run(tmp_path, "data", *arguments)
    assert completed.returncode == 2, completed.stderr
    assert completed.stdout == ""
    assert message in completed.stderr
    assert hint in completed.stderr
    assert "Traceback" not in completed.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"source"}


def test_a_bad_image_is_named_or_left_out_and_counted(tmp_path: Path) -> None:
    write_folder(tmp_path / "source", [f"{name}/{number}.jpg" for name in "ab" for number in range(3)])
    (tmp_path / "source" / "b" / "1.jpg").write_bytes(jpeg()[:200])
    prepare = ("data", "prepare", "folder:source", "set", "--shorter-side", "16", "--processes", "1")
    completed = run(tmp_path, *prepare)
    assert completed.returncode == 1
    assert "source/b/1.jpg cannot be used" in completed.stderr
    assert "--skip-bad" in completed.stderr
    completed = run(tmp_path, *prepare, "--skip-bad")
    assert completed.returncode == 0
    assert "5 examples, 3.75 KiB, bad images left out: 1" in completed.stdout
    assert "left out: source/b/1.jpg" in completed.stderr


def test_a_damaged_set_fails_its_check_with_1(tmp_path: Path) -> None:
    write_folder(tmp_path / "source", ["a/1.jpg", "b/1.jpg"])
    run(tmp_path, "data", "prepare", "folder:source", "set", "--shorter-side", "16")
    chunk = tmp_path / "set" / "train" / "00000.u8"
    chunk.write_bytes(bytes(chunk.stat().st_size))
    completed = run(tmp_path, "data", "check", "set")
    assert completed.returncode == 1
    assert "damaged: set/train/00000.u8" in completed.stdout


def test_ctrl_c_exits_with_130_and_the_command_repeated_goes_on(tmp_path: Path) -> None:
    kept: dict[Path, int] = {}
    for _ in range(2):
        process = start(tmp_path, *MAKE, "--images", "50000", "--processes", "2")
        wait_for(tmp_path, "made/**/*.jpg", process, more_than=len(kept))
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 130, stderr
        assert "hint: what is done is kept: repeat the command to go on" in stderr
        assert "Traceback" not in stderr
        now = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.jpg")}
        assert kept.items() <= now.items()
        assert len(now) > len(kept)
        kept = now


def test_killed_at_any_moment_prepare_goes_on_and_ends_with_the_same_bytes(made: Path, tmp_path: Path) -> None:
    def prepare(target: str) -> tuple[str, ...]:
        return ("data", "prepare", f"folder:{made / 'made'}", target, "--shorter-side", "128", "--processes", "2")

    assert run(tmp_path, *prepare("whole")).returncode == 0
    for chunk in (0, 2):
        process = start(tmp_path, *prepare("killed"))
        wait_for(tmp_path, f"killed/train/{chunk:05d}.json", process)
        process.kill()
        process.communicate()
    assert "is not finished" in run(tmp_path, "data", "check", "killed").stderr
    completed = run(tmp_path, *prepare("killed"))
    assert completed.returncode == 0, completed.stderr
    assert "less what is there already" in completed.stderr
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_nothing_of_a_killed_command_lives_on(tmp_path: Path) -> None:
    process = start(tmp_path, *MAKE, "--images", "100000", "--processes", "2")
    wait_for(tmp_path, "made/**/*.jpg", process)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 120
    while members(process.pid):
        assert time.monotonic() < deadline, "its helpers still run"
        time.sleep(0.05)


def members(group: int) -> list[int]:
    """The living processes of a process group."""
    listed = subprocess.run(["ps", "-eo", "pgid=,pid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pgid, pid, state in rows if int(pgid) == group and not state.startswith("Z")]


def test_what_the_project_file_says_for_all_commands_holds_here_too(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text("json = true\nseed = 5\n")
    completed = run(tmp_path, *MAKE, "--images", "20")
    assert document(completed)["answer"]["seed"] == 5


def test_the_classes_of_a_model_in_the_project_file_are_not_those_of_a_set(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text('classes = 1000\ndata = "folder:tiny"\n')
    completed = run(tmp_path, "data", "make", "tiny", "--like", "cifar10", "--images", "24", "--json")
    assert completed.returncode == 0, completed.stdout
    assert document(completed)["answer"]["classes"] == 10


def test_a_table_of_the_project_file_holds_for_a_command_within_the_group(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text('["data make"]\nlike = "cifar10"\nimages = 24\njson = true\n')
    answer = document(run(tmp_path, "data", "make", "tiny"))["answer"]
    assert answer["train_images"] + answer["val_images"] == 24
    (tmp_path / "traindyno.toml").write_text('["data make"]\nimage = 24\n')
    refused = run(tmp_path, "data", "make", "tiny")
    assert refused.returncode == 2
    assert "[data make] has no option 'image'" in refused.stderr
    assert "traindyno data make --help" in refused.stderr


def test_an_error_in_json_names_both_words_of_the_command(tmp_path: Path) -> None:
    refused = run(tmp_path, "data", "make", "tiny", "--like", "nothing", "--images", "24", "--json")
    assert refused.returncode == 2
    assert document(refused)["command"] == "data make"
