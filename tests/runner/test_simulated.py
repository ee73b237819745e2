import pytest

from traindyno.core.errors import UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner, parse_profile


def spec(batch_size: int, margin: float = 0.0, repeat: int = 0) -> TrialSpec:
    return TrialSpec(
        kind="speed",
        workload=WorkloadSpec(model="torchvision:resnet50"),
        settings=Settings(batch_size=batch_size, device="simulated"),
        margin=margin,
        repeat=repeat,
    )


def run(runner: SimulatedRunner, trial: TrialSpec) -> Outcome:
    return runner.run(trial, Watcher(), None).outcome


def test_the_limit_is_where_it_was_put_and_the_margin_lowers_it() -> None:
    runner = SimulatedRunner(parse_profile("limit=1000"))
    assert run(runner, spec(1000)) is Outcome.OK
    assert run(runner, spec(1001)) is Outcome.OUT_OF_DEVICE_MEMORY
    assert run(runner, spec(1000, margin=0.05)) is Outcome.OUT_OF_DEVICE_MEMORY
    assert run(runner, spec(900, margin=0.05)) is Outcome.OK


def test_the_same_trial_always_gives_the_same_answer_and_a_repeat_another() -> None:
    runner = SimulatedRunner(parse_profile("noise=0.02"))
    first, again, other = (runner.run(spec(64, repeat=repeat), Watcher(), None) for repeat in (0, 0, 1))
    assert first.measurement == again.measurement
    assert first.measurement != other.measurement


def test_a_failure_can_be_planted() -> None:
    runner = SimulatedRunner(parse_profile("fail=64:crash"))
    assert run(runner, spec(64)) is Outcome.CRASH
    assert run(runner, spec(32)) is Outcome.OK


@pytest.mark.parametrize("text", ["speed=9", "limit=x", "fail=64:nonsense", "limit"])
def test_a_profile_that_makes_no_sense_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(UsageError, match="does not describe") as caught:
        parse_profile(text)
    assert "limit" in (caught.value.hint or "")
