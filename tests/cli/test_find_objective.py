"""`traindyno find --objective time-to-accuracy` from the outside, on a simulated machine."""

import shlex
from pathlib import Path

import pytest

from cli.command_line import document, run

PROFILE = (
    "simulated:noise_scale=1000,floor_seconds=0.1,fetch_seconds=1e-6,decode_seconds=1e-6,augment_seconds=1e-6,"
    "collate_seconds=1e-7"
)
WORKLOAD = ("--model", "mlp:64", "--data", "folder:/data", "--batch-size", "64")
SEARCH = ("find", *WORKLOAD, "--no-report", "--objective", "time-to-accuracy")
FIND = (*SEARCH, "--learning-rate", "0.05", "--epochs", "2", "--time-budget", "1h", "--runner", PROFILE)


def test_the_answer_is_a_prediction_and_its_hint_is_the_command_that_proves_it(tmp_path: Path) -> None:
    content = document(run(tmp_path, *FIND, "--name", "it", "--json"))
    shown = " ".join(run(tmp_path, "show", "it").stdout.split())
    assert "times as fast to the same loss, predicted" in shown
    assert "is predicted, not trained" in shown
    answer = content["answer"]
    assert answer["objective"] == "time-to-accuracy"
    assert answer["recommended"]["batch_size"] > 64
    assert answer["recommended"]["learning_gain"] < answer["speedup"]
    assert answer["training_time"]["epochs_needed"] > 2
    proof = shlex.split(content["hint"])
    assert proof[:2] == ["traindyno", "target"]
    asked = ["0.9" if word == "ACCURACY" else word for word in proof[1:]]
    raced = document(run(tmp_path, *asked, "--seeds", "2", "--no-report", "--json"))["answer"]
    assert {row["settings"]["batch_size"] for row in raced["rows"]} == {64, answer["recommended"]["batch_size"]}


def test_the_plan_says_what_batches_are_judged_by(tmp_path: Path) -> None:
    told = run(tmp_path, *FIND, "--dry-run").stdout
    assert "objective: time to the same loss, predicted from the gradients' noise scale (read first" in told
    assert "batch: 64, may change if another should reach the same loss clearly sooner" in told
    given = run(tmp_path, *SEARCH, "--noise-scale", "340", "--runner", PROFILE, "--dry-run").stdout
    assert "noise scale (340)" in given


def test_asked_again_it_is_asked_the_same(tmp_path: Path) -> None:
    from traindyno.core.records import Settings, WorkloadSpec
    from traindyno.core.requests import Bench, FindRequest
    from traindyno.report.reproduce import request_command

    request = FindRequest(
        workload=WorkloadSpec(model="mlp:64", data="digits:"),
        bench=Bench(),
        settings=Settings(batch_size=64),
        objective="time-to-accuracy",
        noise_scale=340.0,
    )
    words = shlex.split(request_command(request))
    assert words[words.index("--objective") + 1] == "time-to-accuracy"
    assert words[words.index("--noise-scale") + 1] == "340"
    assert run(tmp_path, *words[1:], "--dry-run").returncode == 0


def test_without_a_model_it_shows_digits_from_which_there_is_something_to_learn(tmp_path: Path) -> None:
    done = run(tmp_path, "find", "--objective", "time-to-accuracy", "--dry-run")
    assert "no --model given: showing mlp:64 on digits:" in done.stderr
    assert "from digits:" in done.stdout
    assert "within the time budget of 2 min 30 s" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*SEARCH,), "they need a learning rate"),
        ((*SEARCH, "--noise-scale", "-1"), "a noise scale of -1 cannot be"),
        ((*SEARCH, "--noise-scale", "20", "--keep", "batch_size"), "whatever is faster is sooner"),
        ((*SEARCH, "--noise-scale", "20", "--mode", "infer"), "a forward pass learns nothing"),
        ((*SEARCH, "--noise-scale", "20", "--local-ranks", "4"), "batch of several processes"),
        ((*SEARCH[:3], *SEARCH[5:], "--noise-scale", "20"), "nothing to learn from synthetic:"),
        (("find", *WORKLOAD, "--noise-scale", "20"), "says nothing about examples per second"),
    ],
)
def test_what_would_have_no_effect_or_no_sense_is_refused(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = run(tmp_path, *options, "--runner", "simulated")
    assert done.returncode == 2
    assert message in done.stderr.replace("\n", " ").replace("       ", "")
    assert "hint:" in done.stderr
    assert not (tmp_path / "traindyno.db").exists()
