"""Numbers of devices as ways to train, typed to `traindyno target` and `traindyno train` on a simulated machine."""

from pathlib import Path

import pytest

from cli.command_line import document, run

TARGET = ("target", "--model", "torchvision:resnet18", "--data", "digits:", "--value", "0.9", "--epochs", "30")
RATE = ("--lr", "0.05@64")
WAYS = ("--contender", "one: batch=64", "--contender", "batch=64,devices=2")
TRAIN = ("train", "--model", "mlp:64", "--data", "digits:", "--lr", "0.05", "--epochs", "2")
SIMULATED = ("--runner", "simulated", "--no-report")
SLOW_LINK = ("--runner", "simulated:bandwidth=1e8", "--no-report")


def test_two_devices_may_win_in_time_and_lose_in_cost(tmp_path: Path) -> None:
    completed = run(tmp_path, *TARGET, *RATE, *WAYS, *SIMULATED, "--price-per-hour", "3", "--json")
    assert completed.returncode == 0, completed.stderr
    answer = document(completed)["answer"]
    one, two = answer["rows"]
    assert (one["label"], one["devices"]) == ("one", 1)
    assert (two["label"], two["devices"], two["settings"]["devices"]) == ("batch=64,devices=2", 2, 2)
    assert one["median_seconds"] / 2 < two["median_seconds"] < one["median_seconds"]
    assert one["cost"] == pytest.approx(one["median_seconds"] / 3600 * 3)
    assert two["cost"] == pytest.approx(2 * two["median_seconds"] / 3600 * 3)
    assert (answer["winner"], answer["least_cost"]) == ("batch=64,devices=2", "one")
    assert any("2 is best in time" in verdict for verdict in answer["verdicts"])
    assert any("1 is best in device-hours" in verdict for verdict in answer["verdicts"])


def test_over_a_slow_link_one_device_is_there_first(tmp_path: Path) -> None:
    completed = run(tmp_path, *TARGET, *RATE, *WAYS, *SLOW_LINK)
    assert completed.returncode == 0, completed.stderr
    assert "one reaches accuracy 0.9 first" in completed.stdout
    assert "Of 1 and 2 devices, 1 is best in time" in completed.stdout
    assert "devices=2" in completed.stdout


def test_few_examples_on_each_device_are_warned_of(tmp_path: Path) -> None:
    ways = ("--contender", "one: batch=64", "--contender", "eight: batch=64,devices=8")
    told = run(tmp_path, *TARGET, *RATE, *ways, *SIMULATED).stdout
    assert "saw few examples at once: 8 with eight" in " ".join(told.split())


def test_the_command_to_type_again_names_the_devices(tmp_path: Path) -> None:
    run(tmp_path, *TARGET, *RATE, *WAYS, *SIMULATED, "--seeds", "2", "--export-html", "race.html")
    assert "batch=64,devices=2: devices=2" in (tmp_path / "race.html").read_text()


@pytest.mark.parametrize("command", [(*TRAIN, "--devices", "2"), (*TARGET, *RATE, *WAYS)])
def test_devices_are_not_multiplied_by_a_torchrun_of_the_users_own(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    refused = run(tmp_path, *command, *SIMULATED)
    assert refused.returncode == 2
    assert "torchrun" in refused.stderr


def test_training_on_two_devices_says_so(tmp_path: Path) -> None:
    completed = run(tmp_path, *TRAIN, "--devices", "2", *SIMULATED, "--export-html", "two.html")
    assert completed.returncode == 0, completed.stderr
    assert "in 2 processes" in " ".join(completed.stdout.split())
    assert "--devices 2" in (tmp_path / "two.html").read_text()


def test_a_batch_that_the_devices_cannot_share_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, *TRAIN, "--devices", "3", *SIMULATED)
    assert refused.returncode == 2
    assert "a batch of 64 cannot be shared equally by 3 devices" in refused.stderr
    parts = run(tmp_path, *TRAIN, "--devices", "32", "--set", "accumulation_steps=4", *SIMULATED)
    assert "2 examples on each device cannot be computed in 4 equal parts" in parts.stderr


def test_commands_for_one_device_name_those_for_several(tmp_path: Path) -> None:
    refused = run(tmp_path, "throughput", "--model", "mlp:64", "--devices", "2", *SIMULATED)
    assert refused.returncode == 2
    knob = run(tmp_path, "soak", "--model", "mlp:64", "--set", "devices=2", *SIMULATED)
    assert knob.returncode == 2
    assert "`traindyno scale --devices 1,2`" in knob.stderr
