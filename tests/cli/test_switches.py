"""`traindyno switches` from the outside, on a simulated machine."""

import json
import os
import signal
from pathlib import Path

from cli.command_line import document, paused, run

MODEL = ("--model", "torchvision:resnet50", "--batch-size", "256")
SWITCHES = ("switches", *MODEL, "--runner", "simulated", "--no-report")


def test_switches_answers_in_the_documented_form(tmp_path: Path) -> None:
    content = document(run(tmp_path, *SWITCHES, "--only", "precision,memory-format", "--json"))
    answer = content["answer"]
    fields = {"switch", "value", "ratio", "ci95", "memory_ratio", "loss_agrees", "warm_up_seconds", "skipped_because"}
    assert all(fields <= set(effect) for effect in answer["effects"])
    assert {"effects", "recommended", "speedup", "speedup_ci95"} <= set(answer)
    assert {effect["switch"] for effect in answer["effects"]} == {"precision", "memory_format"}
    assert answer["recommended"] == {"precision": "bf16", "memory_format": "channels_last"}
    assert {trial["kind"] for trial in content["trials"]} == {"pair", "losses"}


def test_the_last_lines_have_the_speedup_what_to_copy_and_what_to_type_next(tmp_path: Path) -> None:
    done = run(tmp_path, *SWITCHES, "--only", "precision,memory_format")
    assert "Recommended: precision=bf16, memory_format=channels_last: 1.9" in done.stdout
    assert "Options: --batch-size 256 --precision bf16 --set memory_format=channels_last" in done.stdout
    assert "model = model.to(memory_format=torch.channels_last)" in done.stdout
    assert "hint: traindyno anatomy --model torchvision:resnet50 --precision bf16" in done.stderr


def test_the_hint_keeps_the_device_that_was_asked_for(tmp_path: Path) -> None:
    done = run(tmp_path, *SWITCHES, "--only", "tf32", "--device", "cpu")
    assert " --device cpu " in next(line for line in done.stderr.splitlines() if line.startswith("hint: "))


def test_the_settings_of_the_baseline_are_the_user_s(tmp_path: Path) -> None:
    given = ("--set", "memory_format=channels_last", "--only", "precision", "--no-check-losses", "--no-combine")
    content = document(run(tmp_path, *SWITCHES, *given, "--json"))
    assert content["answer"]["baseline"]["memory_format"] == "channels_last"
    assert content["answer"]["recommended"] == {"precision": "fp16"}
    assert {trial["kind"] for trial in content["trials"]} == {"pair"}


def test_a_progress_line_says_what_was_tried_and_what_came_of_it(tmp_path: Path) -> None:
    lines = run(tmp_path, *SWITCHES, "--only", "compile").stderr.splitlines()
    assert any("batch 256, compile=default: 1.1" in line and "× as fast" in line for line in lines)
    assert any("losses from seed 0, compile=default: loss" in line for line in lines)


def test_a_dry_run_lists_what_would_be_tried_and_why_not(tmp_path: Path) -> None:
    told = run(tmp_path, *SWITCHES, "--only", "precision,optimizer_kernel", "--dry-run").stdout
    assert "switches: precision=bf16, precision=fp16, optimizer_kernel=fused, optimizer_kernel=loop" in told
    assert "not optimizer_kernel=foreach: torch chooses foreach by itself here" in told
    assert "nothing was measured" in told
    assert not (tmp_path / "traindyno.db").exists()


def test_a_dry_run_tells_the_baseline_and_counts_as_people_do(tmp_path: Path) -> None:
    given = ("--set", "memory_format=channels_last", "--only", "precision", "--repeats", "1")
    told = run(tmp_path, *SWITCHES, *given, "--dry-run").stdout
    assert "baseline: --set memory_format=channels_last" in told
    assert "each alone in 1 pair with the baseline" in told


def test_a_switch_that_does_not_apply_is_refused_by_name(tmp_path: Path) -> None:
    refused = run(tmp_path, *SWITCHES, "--only", "threads")
    assert refused.returncode == 2
    assert "threads does not apply here: " in refused.stderr
    assert "these apply: precision, " in refused.stderr


def test_a_dry_run_counts_the_time_that_compiling_takes(tmp_path: Path) -> None:
    def seconds(*options: str) -> float:
        dry = run(tmp_path, *SWITCHES, "--only", "compile", "--no-combine", *options, "--dry-run", "--json")
        return float(json.loads(dry.stdout)["answer"]["at_most_seconds"])

    assert seconds() > 4 * 60
    assert seconds("--max-autotune") > seconds() + 2 * 300


def test_an_unknown_switch_is_answered_with_those_there_are(tmp_path: Path) -> None:
    refused = run(tmp_path, *SWITCHES, "--skip", "cudnn")
    assert refused.returncode == 2
    assert "there is no switch 'cudnn'" in refused.stderr
    assert "cudnn_benchmark" in refused.stderr


def test_a_study_that_was_interrupted_is_resumed_without_repeating_a_trial(tmp_path: Path) -> None:
    command = ("switches", *MODEL, "--runner", "simulated", "--only", "precision", "--name", "s", "--no-report")
    process = paused(tmp_path, 3, *command)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "traindyno resume s" in stderr
    resumed = document(run(tmp_path, "resume", "s", "--json"))
    keys = [(trial["kind"], str(trial["settings"]), trial["repeat"]) for trial in resumed["trials"]]
    pairs = [key for key in keys if key[0] == "pair"]
    assert len(pairs) == len(set(pairs))
    assert resumed["state"] == "done"
