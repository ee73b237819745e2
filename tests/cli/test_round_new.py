"""`traindyno round new` writes a file that the other commands read, asks on a terminal, and overwrites nothing."""

import io
import tomllib
from pathlib import Path
from unittest import mock

import pytest

from cli.command_line import document, run
from traindyno.app.rounds.files import read_round

TARGET = ("--target", "model=mlp:64,mlp:64x64")


class Terminal(io.StringIO):
    """A keyboard."""

    def isatty(self) -> bool:
        return True


def typed(folder: Path, *lines: str, options: tuple[str, ...] = ()) -> str:
    """What is said on stderr to somebody who types these lines."""
    with mock.patch("sys.stdin", Terminal("".join(f"{line}\n" for line in lines))):
        done = run(folder, "round", "new", "it.toml", *options)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_it_writes_a_file_and_says_why_it_is_so(tmp_path: Path) -> None:
    done = run(tmp_path, "round", "new", "depth.toml", *TARGET, "--campaign", "digits", "--lr", "0.1")
    assert done.returncode == 0
    assert done.stdout.startswith("depth.toml: written\n  target: model, 2 arms")
    assert "incumbent: learning_rate 0.1; as you said" in done.stdout
    assert done.stderr == "hint: read it, change it, then `traindyno round run depth.toml`\n"
    round_ = read_round(tmp_path / "depth.toml")
    assert (round_.name, round_.campaign, round_.incumbent) == ("depth", "digits", {"learning_rate": 0.1})


def test_options_become_the_file(tmp_path: Path) -> None:
    options = (
        "--name=n", "--model=ir:18", "--data=folder:here", "--job=image_size=112", "--job=precision=bf16",
        "--optimizer=adamw", "--batch-size=8", "--steps=50", "--schedule=step", "--nuisance=lr=1e-4..1e-2",
        "--fix=weight_decay=0.1", "--incumbent=label_smoothing=0.1", "--hours=30m", "--metric=loss",
        "--question=Why not?", "--minimum-gain=0.5", "--target=conv1_stride=1,2", "--goal=effect",
    )  # fmt: skip
    assert run(tmp_path, "round", "new", "it.toml", *options).returncode == 0
    content = tomllib.loads((tmp_path / "it.toml").read_text())
    assert content["goal"] == {"kind": "effect", "question": "Why not?"}
    assert content["job"] == {
        "model": "ir:18", "data": "folder:here", "image_size": 112, "precision": "bf16", "optimizer": "adamw",
        "batch_size": 8, "steps": 50, "schedule": "step", "conv1_stride": 1,
    }  # fmt: skip
    assert content["budget"] == {"hours": 0.5}
    assert content["nuisance"]["learning_rate"] == {"low": 1e-4, "high": 1e-2, "scale": "log"}
    assert content["fixed"]["weight_decay"]["value"] == 0.1
    assert content["incumbent"]["label_smoothing"] == 0.1
    assert (content["name"], content["minimum_gain"], content["metric"]["name"]) == ("n", 0.5, "loss")


def test_a_file_is_not_written_over_without_force(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text("mine")
    done = run(tmp_path, "round", "new", "it.toml", *TARGET)
    assert done.returncode == 2
    assert "error: it.toml is there already\nhint: name another file, or add --force" in done.stderr
    assert (tmp_path / "it.toml").read_text() == "mine"
    assert run(tmp_path, "round", "new", "it.toml", *TARGET, "--force").returncode == 0
    assert read_round(tmp_path / "it.toml").name == "it"


def test_json_is_one_document(tmp_path: Path) -> None:
    told = document(run(tmp_path, "round", "new", "it.toml", *TARGET, "--fix", "lr=0.1", "--json"))
    assert told["command"] == "round new"
    assert told["answer"]["path"] == "it.toml"
    assert told["answer"]["text"] == (tmp_path / "it.toml").read_text()
    assert any("tied to model" in lint for lint in told["answer"]["lints"])


def test_a_mistake_is_one_document_too_and_leaves_no_file(tmp_path: Path) -> None:
    done = run(tmp_path, "round", "new", "it.toml", "--target", "model=mlp:64", "--json")
    assert done.returncode == 2
    assert document(done)["command"] == "round new"
    assert "1 value to choose from" in document(done)["error"]["message"]
    assert not (tmp_path / "it.toml").exists()


def test_warnings_go_to_stderr(tmp_path: Path) -> None:
    done = run(tmp_path, "round", "new", "it.toml", *TARGET, "--fix", "lr=0.1")
    assert "warning: learning_rate is fixed at 0.1 but tied to model" in done.stderr
    assert "warning" not in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--function", "t.py:f", "--model", "mlp:64"), "--function and --model name two jobs"),
        (("--trials", "3", "--hours", "2"), "one budget"),
        (("--epochs", "3", "--steps", "2"), "one length"),
        (("--hours", "soon"), "'soon' is not a duration"),
        (("--goal", "helps"), "asks about a target, and there is none"),
        (("--job", "colour=red"), "no 'colour'"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    done = run(tmp_path, "round", "new", "it.toml", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "it.toml").exists()


def test_no_store_is_made_by_looking_for_what_was_adopted(tmp_path: Path) -> None:
    assert run(tmp_path, "round", "new", "it.toml").returncode == 0
    assert [each.name for each in tmp_path.iterdir()] == ["it.toml"]


def test_it_goes_on_from_what_the_campaign_adopted(tmp_path: Path) -> None:
    adopted = {"model": "mlp:9", "data": "digits:", "batch_size": 16, "learning_rate": 0.25}
    with mock.patch("traindyno.app.rounds.ledger.current_configuration", return_value=adopted) as asked:
        done = run(tmp_path, "round", "new", "it.toml", "--campaign", "mine", "--store", "other.db")
    asked.assert_called_once_with("other.db", "mine")
    assert "incumbent: learning_rate 0.25; what the campaign adopted last" in done.stdout
    round_ = read_round(tmp_path / "it.toml")
    assert (round_.job.model, round_.job.values["batch_size"]) == ("mlp:9", 16)


def test_on_a_terminal_it_asks_and_enter_takes_what_is_proposed(tmp_path: Path) -> None:
    said = typed(tmp_path, "", "", "", "", "mlp:64,mlp:32", "", "", "")
    for question in ("What is trained", "On which data", "What is asked", "About what", "Which values of model",
                     "The question in your words", "Change one", "Trials of each arm"):  # fmt: skip
        assert question in said
    round_ = read_round(tmp_path / "it.toml")
    assert round_.target is not None
    assert round_.target.values == ("mlp:64", "mlp:32")


def test_answers_are_taken_and_a_change_that_cannot_be_is_asked_again(tmp_path: Path) -> None:
    said = typed(
        tmp_path, "mlp:8", "digits:", "effect", "schedule", "constant,cosine", "Why?",
        "momentum=0..1.5", "momentum=0.5", "momentum=0.1..0.2", "label_smoothing=0", "", "20",
    )  # fmt: skip
    assert "momentum cannot be 1.5" in said
    round_ = read_round(tmp_path / "it.toml")
    assert (round_.job.model, round_.goal.kind, round_.goal.question) == ("mlp:8", "effect", "Why?")
    momentum, smoothing = round_.parameter("momentum"), round_.parameter("label_smoothing")
    assert momentum.range is not None
    assert (momentum.range.high, smoothing.role, round_.budget.trials) == (0.2, "fixed", 20)


def test_an_answer_that_cannot_be_is_told_at_once_and_asked_again(tmp_path: Path) -> None:
    said = typed(
        tmp_path, "mlp:8", "banana", "digits:", "helps", "colour", "epochs", "3,4", "schedule", "cosine", "schedule",
        "", "constant,cosine", "Why?", "", "20",
    )  # fmt: skip
    for told in ("'banana', which is no source", "no 'colour'", "length of a run", "1 value to choose from",
                 "that needs an answer"):  # fmt: skip
        assert told in said
    assert said.index("banana") < said.index("What is asked") < said.index("colour") < said.index("Trials of each arm")
    round_ = read_round(tmp_path / "it.toml")
    assert round_.target is not None
    assert (round_.target.name, round_.target.values, round_.job.data) == (
        "schedule",
        ("constant", "cosine"),
        "digits:",
    )


def test_a_round_that_lacks_something_is_asked_for_it(tmp_path: Path) -> None:
    options = ("--function=t.py:f", "--goal=maximise")
    said = typed(tmp_path, "accuracy", "", "width", "width=1..3", "", "9", options=options)
    assert "nothing is searched" in said
    assert "width has no usual range; say it: width=LOW..HIGH" in said
    assert "that needs an answer" in said
    assert [each.name for each in read_round(tmp_path / "it.toml").searched] == ["width"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fix=xyz=3",), "'xyz'"),
        (("--nuisance=momentum=0.9..0.1",), "not below"),
        (("--job=data=nope",), "'nope', which is no source"),
        (("--nuisance=model.width=3..1",), "not below"),
        (("--function=t.py:f", "--nuisance=width=3..1"), "not below"),
        (("--function=t.py:f", "--nuisance=width"), "width has no usual range"),
        (("--function=t.py:f", "--incumbent=width"), "gives nothing a value"),
    ],
)
def test_a_mistake_in_the_options_ends_the_command_before_anything_is_asked(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    with mock.patch("sys.stdin", Terminal("\n" * 50)):
        done = run(tmp_path, "round", "new", "it.toml", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "What is" not in done.stderr
    assert not (tmp_path / "it.toml").exists()


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (("--nuisance=model.width=1..3", "--incumbent=model.width=2", "--goal=maximise"), ("m.py:f", "", "9")),
        (
            ("--function=t.py:f", "--incumbent=width=2"),
            ("score", "y", "helps", "width", "1,2", "", "depth=1..2", "", "9"),
        ),
        (
            ("--fix=lr=0.1", "--fix=momentum=0", "--fix=weight_decay=0", "--fix=label_smoothing=0"),
            ("", "", "helps", "model", "mlp:8,mlp:9", "", "", "9"),
        ),
    ],
)
def test_options_that_an_answer_completes_are_no_mistake(
    tmp_path: Path, options: tuple[str, ...], lines: tuple[str, ...]
) -> None:
    typed(tmp_path, *lines, options=options)
    assert read_round(tmp_path / "it.toml").budget.trials == 9


def test_ending_the_questions_writes_nothing_and_says_so(tmp_path: Path) -> None:
    with mock.patch("sys.stdin", Terminal("mlp:8\n")):
        done = run(tmp_path, "round", "new", "it.toml")
    assert done.returncode == 130
    assert "error: the questions ended early, and it.toml was not written" in done.stderr
    assert "--yes" in done.stderr
    assert "trials are kept" not in done.stderr
    assert not (tmp_path / "it.toml").exists()


def test_what_the_campaign_has_from_simulated_runs_is_warned_of(tmp_path: Path) -> None:
    assert run(tmp_path, "round", "first", "--runner", "simulated", "--no-report").returncode == 0
    for words in (("new", "it.toml", *TARGET), ("next", "first")):
        done = run(tmp_path, "round", *words)
        assert done.returncode == 0
        assert "warning: what this round builds on was simulated (first), which is no evidence" in done.stderr
    assert "# Note: what this round builds on was simulated (first)" in (tmp_path / "it.toml").read_text()


def test_a_job_of_ones_own_is_asked_what_it_is_compared_by(tmp_path: Path) -> None:
    options = ("--function=t.py:f", "--target=width=1,2", "--question=Why?", "--trials=9")
    assert "Is more of error better" in typed(tmp_path, "error", "n", "depth=1..3", "", options=options)
    round_ = read_round(tmp_path / "it.toml")
    assert (round_.metric.name, round_.metric.higher_is_better) == ("error", False)
    assert [each.name for each in round_.searched] == ["depth"]


def test_nothing_that_was_said_is_asked(tmp_path: Path) -> None:
    options = ("--model=mlp:8", "--data=digits:", *TARGET, "--question=Why?", "--trials=4")
    said = typed(tmp_path, "", options=options)
    assert said.count("?") == 0
    assert "Change one" in said


def test_yes_asks_nothing(tmp_path: Path) -> None:
    assert "Change" not in typed(tmp_path, options=("--yes",))


def test_a_project_file_serves_it_like_any_command(tmp_path: Path) -> None:
    project = 'model = "mlp:9"\nepochs = 30\n["round new"]\ncampaign = "mine"\n'
    (tmp_path / "traindyno.toml").write_text(project)
    assert run(tmp_path, "round", "new", "it.toml", *TARGET, "--steps", "7").returncode == 0
    round_ = read_round(tmp_path / "it.toml")
    assert (round_.job.model, round_.campaign) == ("mlp:9", "mine")
    assert (round_.job.values["steps"], "epochs" in round_.job.values) == (7, False)
