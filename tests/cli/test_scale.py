"""`traindyno scale` from the outside, on simulated devices."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.command_line import document, run, run_apart
from traindyno.cli.output import Output
from traindyno.core.answers import Document
from traindyno.report.exports import Exporter

SIMULATED = ("scale", "--model", "torchvision:resnet50", "--runner", "simulated:latency=0.0005", "--no-report")


def test_the_answer_has_the_documented_form(tmp_path: Path) -> None:
    content = document(run(tmp_path, *SIMULATED, "--devices", "1,2", "--global-batch", "32..128", "--json"))
    answer = content["answer"]
    assert {"rows", "break_even_batch", "predicted", "verdicts"} <= set(answer)
    row = {"devices", "examples_per_second", "ci95", "efficiency", "communication_share"}
    assert all(row <= set(each) for each in answer["rows"])
    assert [each["batch_size"] for each in answer["rows"]] == [32, 64, 128] * 2
    assert {trial["group"]["devices"] for trial in content["trials"]} == {1, 2}


def test_the_last_line_is_the_answer_and_every_trial_names_its_devices(tmp_path: Path) -> None:
    completed = run(tmp_path, *SIMULATED, "--devices", "1,2", "--batch-per-device", "64")
    assert completed.stdout.splitlines()[-1].startswith("Recommended: 2 devices, batch 64 each and 128 in all")
    assert "batch 128, 2 devices of 64 each: " in completed.stderr


def test_an_answer_that_lacks_points_for_want_of_a_machine_is_printed_and_exits_with_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = Output(as_json=True, quiet=True, verbose=False, exporter=Exporter.prepare({}))
    lost = Document(command="scale", study=None, answer=None, state="interrupted", machine_lost=True)
    assert output.deliver(lost) == 1
    assert '"machine_lost": true' in capsys.readouterr().out
    assert output.deliver(replace(lost, machine_lost=False)) == 0, "a time budget is the user's own"


def test_a_study_is_shown_again(tmp_path: Path) -> None:
    first = run(tmp_path, *SIMULATED, "--devices", "1,2", "--global-batch", "64", "--name", "wide")
    shown = run(tmp_path, "show", "wide")
    assert shown.returncode == 0, shown.stderr
    assert first.stdout == shown.stdout


def test_every_rendering_is_written(tmp_path: Path) -> None:
    ends = ("json", "csv", "html", "png", "markdown")
    exports = [word for end in ends for word in (f"--export-{end}", f"out.{end}")]
    assert run(tmp_path, *SIMULATED, "--global-batch", "32,64", *exports).returncode == 0
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert "Scaling of torchvision:resnet50" in (tmp_path / "out.html").read_text()
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + 3 * 2


def test_the_plan_can_be_seen_before(tmp_path: Path) -> None:
    completed = run(tmp_path, *SIMULATED, "--devices", "4,1,2", "--global-batch", "30,64", "--dry-run")
    assert "model: torchvision:resnet50, on 1, 2 and 4 simulated devices" in completed.stdout
    assert "batch of all devices: 30, 64" in completed.stdout
    assert "each in 3 fresh groups of processes" in completed.stdout
    assert "about 15 trials" in completed.stdout


def test_without_a_model_a_small_one_is_shown_in_bounded_time(tmp_path: Path) -> None:
    completed = run(tmp_path, "scale", "--device", "cpu", "--dry-run")
    assert "no --model given: showing torchvision:squeezenet1_1 at 64 px" in completed.stderr
    assert "batch of all devices: 16, 32" in completed.stdout
    assert "at most about 1 min 50 s" in completed.stdout


def test_a_batch_of_each_device_is_not_joined_by_embedded_ones(tmp_path: Path) -> None:
    completed = run(tmp_path, "scale", "--device", "cpu", "--batch-per-device", "4", "--dry-run")
    assert "batch per device: 4" in completed.stdout
    assert "batch of all devices" not in completed.stdout


def test_mistakes_are_answered_with_what_to_type(tmp_path: Path) -> None:
    mistakes = {
        ("--devices", "0,2"): "counts start at 1: 1,2,4",
        ("--devices", "1;2"): "write them as 1,2,4",
        ("--global-batch", "many"): "write 32,64 or 32..256",
        ("--global-batch", "32..max"): "write 32,64 or 32..256",
        ("--devices", "3", "--global-batch", "32"): "3 devices cannot share it evenly. Choose others:",
        ("--global-batch", "32", "--accumulation-steps", "3"): "does not split into 3 equal parts. Choose others:",
        ("--nodes", "2"): "--devices 1,2,4",
        ("--nodes", "2", "--devices", "2", "--listen", "here"): "write HOST:PORT",
        ("--runner", "simulated:bandwidth=0"): "bandwidth and gradient_bytes are above 0",
        ("--runner", "simulated:latency=-1"): "latency and straggler are from 0 on",
        ("--runner", "simulated:overlap=2"): "overlap from 0 to 1",
        ("--bucket-mb", "-1"): "sizes are above 0",
        ("--accumulation-steps", "0"): "counts start at 1: 1,4",
        ("--set", "accumulation_steps=4"): "write --accumulation-steps 1,4",
        ("--price-per-hour", "2"): "add --examples N --epochs E",
        ("--examples", "1000"): "add --epochs E",
        ("--lr-rule", "sqrt"): "add --lr, such as 0.1@32",
        ("--mode", "infer"): "leave --mode infer away",
    }
    for words, hint in mistakes.items():
        completed = run(tmp_path, *SIMULATED, *words)
        assert completed.returncode == 2, words
        assert hint in completed.stderr.replace("\n      ", " "), words


def test_settings_may_stand_in_the_project_file(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text('[scale]\ndevices = "1,2"\nglobal-batch = "64"\nbucket-mb = "25,5"\n')
    content = document(run(tmp_path, *SIMULATED, "--json", "--repeats", "1"))
    assert [(row["devices"], row["bucket_mib"]) for row in content["answer"]["rows"]] == [
        (1, 25.0),
        (2, 5.0),
        (2, 25.0),
    ]


@pytest.mark.slow
def test_two_processes_of_this_cpu_train_together(tmp_path: Path) -> None:
    completed = run_apart(
        tmp_path, "scale", "--model", "torchvision:squeezenet1_1", "--image-size", "64", "--device", "cpu",
        "--devices", "1,2", "--batch-per-device", "2", "--repeats", "1", "--trial-seconds", "500ms", "--json",
        timeout=300,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    answer = document(completed)["answer"]
    assert [(row["devices"], row["batch_size"], row["failure"]) for row in answer["rows"]] == [
        (1, 2, None),
        (2, 4, None),
    ]
    assert [rank["rank"] for rank in answer["ranks"]] == [0, 1]
    assert answer["backend"] == "gloo"
    assert answer["ddp_cost"] is not None
    assert answer["gradient_bytes"] > 1_000_000
