"""`traindyno anatomy` from the outside: on a simulated machine, and once for real on the CPU."""

import json
from pathlib import Path

from cli.command_line import document, run

SIMULATED = ("anatomy", "--model", "torchvision:resnet50", "--runner", "simulated", "--no-report")


def test_the_answer_has_the_documented_form(tmp_path: Path) -> None:
    content = document(run(tmp_path, *SIMULATED, "--batch-size", "8,64", "--json"))
    answer = content["answer"]
    assert {"phases", "step_seconds", "instrument_cost", "bound", "utilization"} <= set(answer)
    assert answer["batch_size"] == 64
    assert [size["batch_size"] for size in answer["sizes"]] == [8, 64]
    assert {trial["kind"] for trial in content["trials"]} == {"anatomy"}


def test_the_last_lines_name_the_limit_both_waits_and_what_the_instruments_cost(tmp_path: Path) -> None:
    completed = run(tmp_path, *SIMULATED, "--data", "folder:/data/train", "--workers", "1")
    last = completed.stdout.splitlines()[-4:]
    assert last[0].startswith("Data-bound: ")
    assert last[1].startswith("Waiting for data, per step: host ")
    assert last[3].startswith("Instruments cost +0.2 %")
    assert "hint: traindyno loader --data folder:/data/train" in completed.stderr


def test_a_study_is_shown_again_and_resumed(tmp_path: Path) -> None:
    first = run(tmp_path, *SIMULATED, "--name", "inside")
    shown = run(tmp_path, "show", "inside")
    assert shown.returncode == 0, shown.stderr
    assert first.stdout == shown.stdout
    again = document(run(tmp_path, "resume", "inside", "--json"))
    assert len(again["trials"]) == 3


def test_every_rendering_is_written(tmp_path: Path) -> None:
    exports = [word for end in ("json", "csv", "html", "png") for word in (f"--export-{end}", f"out.{end}")]
    assert run(tmp_path, *SIMULATED, "--batch-size", "1..64", *exports).returncode == 0
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert "What a step of torchvision:resnet50 is made of" in (tmp_path / "out.html").read_text()
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 8


def test_the_plan_can_be_seen_before(tmp_path: Path) -> None:
    completed = run(tmp_path, *SIMULATED, "--batch-size", "16..100", "--dry-run")
    assert "batch sizes: 16, 32, 64, 100, each in 3 fresh processes" in completed.stdout
    assert "about 12 trials" in completed.stdout


def test_a_wrong_setting_is_answered_with_the_choices(tmp_path: Path) -> None:
    completed = run(tmp_path, *SIMULATED, "--set", "compile=fast")
    assert completed.returncode == 2
    assert "compile cannot be 'fast'" in completed.stderr
    assert "compile=none|default|reduce-overhead|max-autotune" in completed.stderr


def test_settings_may_stand_in_the_project_file(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text('[anatomy]\nset = ["compile=default", "cudnn-benchmark=true"]\n')
    content = document(run(tmp_path, *SIMULATED, "--json", "--repeats", "1"))
    settings = content["trials"][0]["settings"]
    assert settings["compile"] == "default"
    assert settings["cudnn_benchmark"] is True


def test_a_real_step_on_the_cpu_is_taken_apart_and_traced(tmp_path: Path) -> None:
    completed = run(
        tmp_path, "anatomy", "--model", "torchvision:squeezenet1_1", "--image-size", "64", "--batch-size", "2",
        "--repeats", "1", "--trial-seconds", "500ms", "--device", "cpu", "--trace", "steps.json", "--json",
    )  # fmt: skip
    answer = document(completed)["answer"]
    assert {"forward", "backward", "optimizer"} <= set(answer["phases"])
    assert answer["idle_share"] is None
    assert answer["utilization"]["flops_per_second"] > 0
    assert answer["trace"] == "steps.json"
    assert json.loads((tmp_path / "steps.json").read_text())["traceEvents"]
