"""The commands from the outside, on a simulated device."""

import csv
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

from cli.command_line import document, environment, run, run_apart

SIMULATED = ("--runner", "simulated", "--no-report")
RESNET = ("--model", "torchvision:resnet50", *SIMULATED)


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from traindyno.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'numpy', 'rich', 'altair', 'scipy', 'sqlalchemy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)


def test_version_is_printed(tmp_path: Path) -> None:
    from traindyno import __version__

    assert run_apart(tmp_path, "--version").stdout == f"traindyno {__version__}\n"


def test_max_batch_answers_in_the_documented_form(tmp_path: Path) -> None:
    content = document(run(tmp_path, "max-batch", *RESNET, "--json", "--effective-batch", "4096"))
    answer = content["answer"]
    assert set(content) >= {"schema", "command", "study", "answer", "trials", "warnings"}
    assert answer["simulated"] is True
    assert 0.99 * 1704 <= answer["max_batch"] <= 1704
    assert answer["safe_batch"] < answer["max_batch"] < answer["first_failed_batch"]
    assert answer["micro_batch"] * answer["accumulation_steps"] >= 4096
    assert {"settings", "outcome", "seconds"} <= set(content["trials"][0])
    sizes_run = {trial["settings"]["batch_size"] for trial in content["trials"] if trial["outcome"] == "ok"}
    assert {answer["max_batch"], answer["safe_batch"], answer["no_retry_batch"]} <= sizes_run


def test_several_models_give_a_list(tmp_path: Path) -> None:
    models = ["--model", "torchvision:resnet18", "--model", "torchvision:resnet50"]
    answer = document(run(tmp_path, "max-batch", *SIMULATED, *models, "--json"))["answer"]
    assert [each["model"] for each in answer] == ["torchvision:resnet18", "torchvision:resnet50"]


def test_throughput_answers_in_the_documented_form(tmp_path: Path) -> None:
    content = document(run(tmp_path, "throughput", *RESNET, "--json"))
    answer = content["answer"]
    fields = {"batch_size", "examples_per_second", "ci95", "step_seconds", "peak_memory_bytes", "steady"}
    assert fields <= set(answer["curve"][0])
    assert {"best_batch", "recommended_batch", "saturated_from", "verdicts"} <= set(answer)
    assert answer["saturated_from"] in (128, 256)
    assert "out_of_device_memory" in {trial["outcome"] for trial in content["trials"]}
    assert any("memory is not the limit" in verdict for verdict in answer["verdicts"])


def test_a_plan_reuses_the_curve_of_a_study(tmp_path: Path) -> None:
    run(tmp_path, "throughput", *RESNET, "--name", "curve")
    plan = ("plan", "--from", "curve", "--examples", "1000000", "--epochs", "2", "--price-per-hour", "4", "--json")
    content = document(run(tmp_path, *plan))
    rows = content["answer"]["rows"]
    curve = document(run(tmp_path, "show", "curve", "--json"))["answer"]["curve"]
    assert [row["batch_size"] for row in rows] == [point["batch_size"] for point in curve]
    row = next(row for row in rows if row["batch_size"] == 256)
    assert row["steps"] == 2 * -(-1000000 // 256)
    assert abs(row["training_seconds"] - row["steps"] * row["step_seconds"] - row["start_up_seconds"]) < 1e-6
    assert abs(row["cost"] - row["training_seconds"] / 3600 * 4) < 1e-9
    assert content["answer"]["fastest"] == min(rows, key=lambda row: row["training_seconds"])["batch_size"]


def test_a_plan_can_be_validated(tmp_path: Path) -> None:
    run(tmp_path, "throughput", *SIMULATED, "--name", "curve", "--batch-size", "64,128")
    plan = ("plan", "--from", "curve", "--examples", "50000", "--epochs", "2", "--validate", "--no-report", "--json")
    validation = document(run(tmp_path, *plan))["answer"]["validation"]
    assert validation["steps"] >= 50000 / validation["batch_size"]
    assert abs(validation["error_percent"]) < 10


def test_compare_reads_studies_and_exported_files(tmp_path: Path) -> None:
    run(tmp_path, "throughput", *SIMULATED, "--name", "a", "--batch-size", "64,128", "--export-json", "a.json")
    slower = "simulated:beta_seconds=0.00088,alpha_seconds=0.0072"
    run(tmp_path, "throughput", "--runner", slower, "--no-report", "--name", "b", "--batch-size", "64,128")
    answer = document(run(tmp_path, "compare", "a.json", "b", "--json"))["answer"]
    row = next(row for row in answer["rows"] if "128" in row["key"])
    assert 0.45 < row["ratio"] < 0.55
    assert row["ci95"][0] <= row["ratio"] <= row["ci95"][1]


def test_exports_and_report_are_written(tmp_path: Path) -> None:
    exports = [
        part for name in ("json", "csv", "markdown", "html", "png") for part in (f"--export-{name}", f"out.{name}")
    ]
    exports = [part.replace("out.markdown", "out.md") for part in exports]
    completed = run(tmp_path, "throughput", *RESNET[:-1], "--name", "full", *exports)
    assert completed.returncode == 0, completed.stderr
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "out.json").read_text())["study"] == "full"
    with (tmp_path / "out.csv").open() as table:
        assert any(row["batch_size"] == "256" for row in csv.DictReader(table))
    assert (tmp_path / "traindyno-reports" / "full.html").exists()
    assert "traindyno-reports/full.html" in completed.stderr


def test_report_writes_the_format_of_the_files_ending(tmp_path: Path) -> None:
    run(tmp_path, "max-batch", *SIMULATED, "--name", "it")
    assert run(tmp_path, "report", "it").stdout.strip().endswith("traindyno-reports/it.html")
    assert run(tmp_path, "report", "it", "chart.svg").returncode == 0
    assert "<svg" in (tmp_path / "chart.svg").read_text()


def test_studies_are_listed_with_their_state(tmp_path: Path) -> None:
    run(tmp_path, "max-batch", *RESNET, "--name", "one")
    (study,) = document(run(tmp_path, "studies", "--json"))["answer"]["studies"]
    assert (study["name"], study["command"], study["state"]) == ("one", "max-batch", "done")
    assert study["trials"] > 3


def test_stdout_carries_the_result_alone(tmp_path: Path) -> None:
    completed = run_apart(tmp_path, "max-batch", *SIMULATED)
    assert "Safe batch size" in completed.stdout
    assert "[1/" in completed.stderr
    assert "hint:" not in completed.stdout
    assert run(tmp_path, "max-batch", *SIMULATED, "-q").stderr.count("[1/") == 0


def test_a_dry_run_measures_nothing(tmp_path: Path) -> None:
    completed = run(tmp_path, "throughput", "--device", "cpu", "--dry-run")
    assert completed.returncode == 0
    assert "trials" in completed.stdout
    assert not (tmp_path / "traindyno.db").exists()


def test_a_project_file_sets_defaults_and_the_command_line_wins(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text(
        'model = "torchvision:resnet50"\nrunner = "simulated"\n[throughput]\nbatch-size = [16, 32]\nno-report = true\n'
    )
    answer = document(run(tmp_path, "throughput", "--json"))["answer"]
    assert answer["model"] == "torchvision:resnet50"
    assert [point["batch_size"] for point in answer["curve"]] == [16, 32]
    answer = document(run(tmp_path, "throughput", "--json", "--batch-size", "64"))["answer"]
    assert [point["batch_size"] for point in answer["curve"]] == [64]


def test_a_misspelt_key_in_the_project_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "traindyno.toml").write_text('modl = "torchvision:resnet50"\n')
    completed = run_apart(tmp_path, "throughput", *SIMULATED)
    assert completed.returncode == 2
    assert "did you mean 'model'" in completed.stderr


def test_a_broken_pipe_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m traindyno max-batch --runner simulated --no-report -q | head -1"
    completed = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert "Traceback" not in completed.stderr


def test_the_store_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("create table theirs (x)")
    before = (tmp_path / "other.db").read_bytes()
    completed = run(tmp_path, "max-batch", *SIMULATED, "--store", "other.db")
    assert completed.returncode != 0
    assert (tmp_path / "other.db").read_bytes() == before


def test_a_store_that_does_not_exist_yet_has_no_studies(tmp_path: Path) -> None:
    completed = run(tmp_path, "studies", "--json")
    assert completed.returncode == 0
    assert document(completed)["answer"]["studies"] == []
    assert not (tmp_path / "traindyno.db").exists()


def test_without_a_model_a_small_embedded_one_is_shown_and_said_so(tmp_path: Path) -> None:
    completed = run(tmp_path, "throughput", *SIMULATED, "--json")
    content = document(completed)
    assert "no --model given: showing torchvision:resnet18 at 64 px" in completed.stderr
    assert content["request"]["workload"]["image_size"] == 64
    assert max(point["batch_size"] for point in content["answer"]["curve"]) == 64
    chosen = document(run(tmp_path, "throughput", *SIMULATED, "--json", "--batch-size", "128", "-q"))
    assert [point["batch_size"] for point in chosen["answer"]["curve"]] == [128]


def test_a_reader_of_stderr_who_goes_away_does_not_end_the_measurement(tmp_path: Path) -> None:
    command = (
        f"{sys.executable} -m traindyno throughput --runner simulated:sleep=0.1 --no-report --name it 2>&1 >/dev/null"
    )
    subprocess.run(["bash", "-c", f"{command} | head -2"], cwd=tmp_path, env=environment(), check=False, timeout=60)
    (study,) = document(run(tmp_path, "studies", "--json"))["answer"]["studies"]
    assert study["state"] == "done"


def test_a_dry_run_is_one_document_in_the_usual_frame(tmp_path: Path) -> None:
    content = document(run(tmp_path, "plan", "--examples", "1000", "--epochs", "1", *SIMULATED, "--dry-run", "--json"))
    assert set(content) == {"schema", "command", "study", "answer", "trials", "warnings"}
    assert content["answer"]["expected_trials"] > 10
    assert content["trials"] == []


def test_without_a_command_the_help_is_printed(tmp_path: Path) -> None:
    completed = run(tmp_path)
    assert completed.returncode == 0
    assert completed.stdout.startswith("Usage: traindyno")
    assert completed.stderr == ""


def test_the_hint_carries_what_was_chosen_and_works_when_typed(tmp_path: Path) -> None:
    chosen = ("--precision", "bf16", "--classes", "7", "--store", "other.db")
    hint = document(run(tmp_path, "max-batch", *RESNET, *chosen, "--json"))["hint"]
    assert hint == "traindyno throughput --model torchvision:resnet50 --classes 7 --precision bf16 --store other.db"
    typed = hint.removeprefix("traindyno ").split()
    assert run(tmp_path, *typed, *SIMULATED, "--batch-size", "8", "-q").returncode == 0


def test_validate_for_without_validate_is_refused(tmp_path: Path) -> None:
    completed = run(tmp_path, "plan", "--examples", "9", "--epochs", "1", "--validate-for", "5s", *SIMULATED)
    assert completed.returncode == 2
    assert "--validate" in completed.stderr
