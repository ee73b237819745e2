"""What `traindyno find` is given: by options, by a baseline's file and by the project file, and what is missing."""

from pathlib import Path

import pytest

from cli.command_line import document, run
from traindyno.app.data import make_request
from worker.data.tiny_sets import write_folder

FIND = ("find", "--model", "torchvision:resnet50", "--runner", "simulated", "--no-report", "--json")


def baseline(folder: Path, *options: str) -> dict[str, object]:
    content = document(run(folder, *FIND, *options))
    return {"data": content["answer"]["data"], **content["answer"]["baseline"]["settings"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose usual settings are not those of the file that is named now."""
    (tmp_path / "traindyno.toml").write_text(
        'data = "folder:/usual"\nprecision = "bf16"\nbatch-size = 32\nworkers = 3\n'
        'set = ["memory_format=channels_last", "tf32=all"]\n'
    )
    (tmp_path / "mine.toml").write_text(
        'batch_size = 128\nprecision = "fp32"\npin_memory = true\nmemory_format = "contiguous"\n'
        '[source]\ndata = "folder:/mine"\n'
    )
    return tmp_path


def test_a_baseline_s_file_wins_over_the_project_file_which_fills_it_up(folder: Path) -> None:
    settings = baseline(folder, "--baseline", "mine.toml")
    own = {"data": "folder:/mine", "batch_size": 128, "precision": "fp32", "memory_format": "contiguous"}
    assert own.items() <= settings.items()
    assert {"num_workers": 3, "tf32": "all"}.items() <= settings.items()


def test_options_of_this_command_win_over_both(folder: Path) -> None:
    settings = baseline(
        folder, "--baseline", "mine.toml", "--data", "folder:/now", "--batch-size", "64", "--set", "tf32=none"
    )
    assert {"data": "folder:/now", "batch_size": 64, "tf32": "none", "precision": "fp32"}.items() <= settings.items()


def test_a_setting_is_kept_at_another_value_than_the_project_s(folder: Path) -> None:
    assert baseline(folder, "--keep", "precision=fp32")["precision"] == "fp32"


def test_the_workload_of_a_baseline_s_file_is_what_is_trained(folder: Path) -> None:
    (folder / "whole.toml").write_text(
        'batch_size = 16\n[workload]\nmodel = "torchvision:resnet18"\nimage_size = 96\noptimizer = "adam"\n'
    )
    plain = ("find", "--runner", "simulated", "--no-report", "--json", "--baseline", "whole.toml")
    workload = document(run(folder, *plain, "--image-size", "64"))["request"]["workload"]
    own = {"model": "torchvision:resnet18", "optimizer": "adam", "image_size": 64}
    assert own.items() <= workload.items()
    other = document(run(folder, *plain, "--model", "torchvision:resnet50"))["request"]["workload"]
    assert {"model": "torchvision:resnet50", "optimizer": "sgd", "image_size": None}.items() <= other.items()


def test_code_that_a_baseline_s_file_names_is_not_run_unless_it_is_named_now(folder: Path) -> None:
    (folder / "own.toml").write_text('batch_size = 16\n[workload]\nmodel = "job.py:make"\n')
    done = run(folder, "find", "--runner", "simulated", "--baseline", "own.toml")
    assert done.returncode == 2
    assert "add --model job.py:make" in done.stderr


def test_keeping_precision_keeps_tf32(folder: Path) -> None:
    content = document(run(folder, *FIND, "--keep", "precision=fp32"))
    assert {"precision", "tf32"} <= set(content["request"]["keep"])
    assert "tf32" not in content["answer"]["recommended"]["changes"]


def test_a_name_that_is_taken_has_a_hint_that_finds_the_study(folder: Path) -> None:
    command = (*FIND[:-1], "--store", "own.db", "--name", "mine", "--dry-run")
    run(folder, *command[:-1])
    again = run(folder, *command[:-1])
    assert again.returncode == 2
    assert "traindyno resume mine --store own.db" in again.stderr


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--also", "prepared:images"), "images holds no prepared data"),
        (("--prepare", "/proc/none"), "nothing can be written to /proc/none"),
    ],
)
def test_places_that_cannot_serve_are_refused_before_anything_is_measured(
    tmp_path: Path, option: tuple[str, str], words: str
) -> None:
    write_folder(tmp_path / "images", ["a/0.jpg", "b/0.jpg"])
    done = run(tmp_path, "find", "--model", "mlp:8", "--data", "folder:images", "--device", "cpu", *option)
    assert done.returncode == 2
    assert words in done.stderr


def test_pinning_can_be_turned_off_and_on(folder: Path) -> None:
    assert baseline(folder, "--baseline", "mine.toml")["pin_memory"] is True
    assert baseline(folder, "--baseline", "mine.toml", "--no-pin-memory")["pin_memory"] is False
    assert baseline(folder, "--pin-memory")["pin_memory"] is True


@pytest.mark.parametrize("further", [("--dry-run",), ()])
def test_data_that_is_not_there_is_refused_before_anything_is_measured(
    tmp_path: Path, further: tuple[str, ...]
) -> None:
    command = ("find", "--model", "torchvision:resnet50", "--data", "folder:no/such", "--device", "cpu", *further)
    refused = run(tmp_path, *command)
    assert refused.returncode == 2
    assert "--data names folder:no/such, and there is no no/such" in refused.stderr
    assert not any(tmp_path.iterdir())


def test_the_plan_of_the_embedded_example_needs_no_images(tmp_path: Path) -> None:
    assert run(tmp_path, "find", "--device", "cpu", "--dry-run").returncode == 0
    assert not any(tmp_path.iterdir())


def test_the_embedded_example_has_images_of_every_class(tmp_path: Path) -> None:
    planned = run(tmp_path, "find", "--device", "cpu", "--classes", "300", "--dry-run")
    assert "600 generated JPEGs in .traindyno/sample-600-300" in planned.stderr
    request = make_request(like="imagenet", images=600, classes=300, val_share=None, seed=0)
    assert (request.train_images, request.val_images) == (300, 300)
