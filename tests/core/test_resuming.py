"""Commands to type next name the user's own code again, without which they would be refused."""

import msgspec
import pytest

from traindyno.core.resuming import adopt_command
from traindyno.core.rounds import Goal, Parameter, Range, Round, RoundBudget, RoundJob, Seeds

RATE = Parameter(name="learning_rate", role="nuisance", range=Range(low=0.001, high=1.0, scale="log"))
OWN_MODELS = Parameter(name="model", role="target", values=("net.py:small", "net.py:large"))


def a_round(job: RoundJob, *parameters: Parameter) -> Round:
    return Round(
        name="depth", goal=Goal(kind="maximise"), job=job, parameters=(RATE, *parameters), budget=RoundBudget(trials=4)
    )


@pytest.mark.parametrize(
    ("job", "command"),
    [
        (RoundJob(model="mlp:64"), "traindyno round adopt depth"),
        (RoundJob(model="net.py:small"), "traindyno round adopt depth --model net.py:small"),
        (RoundJob(function="my job.py:train"), "traindyno round adopt depth --model 'my job.py:train'"),
    ],
)
def test_a_proof_names_the_user_s_own_code(job: RoundJob, command: str) -> None:
    assert adopt_command(a_round(job)) == command


def test_options_the_study_s_name_and_where_code_lies_now_are_told() -> None:
    told = adopt_command(
        a_round(RoundJob(function="job.py:train")),
        "--seeds",
        "9",
        study="again",
        moved={"job.py:train": "b/job.py:train"},
    )
    assert told == "traindyno round adopt again --seeds 9 --model b/job.py:train"


def test_a_model_that_only_the_arms_name_is_the_incumbent_s_or_the_first() -> None:
    round_ = a_round(RoundJob(), OWN_MODELS)
    held = msgspec.structs.replace(round_, incumbent={"model": "net.py:large", "learning_rate": 0.1})
    assert adopt_command(held).endswith("--model net.py:large")
    ungated = msgspec.structs.replace(held, seeds=Seeds(gate=0))
    assert adopt_command(ungated).endswith("--model net.py:small")
