import msgspec
import pytest

from traindyno.core.errors import UsageError
from traindyno.core.loading import Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Settings, TrialSpec, WorkloadSpec
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner


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


@pytest.mark.parametrize(
    "text", ["noise=nan", "alpha_seconds=-1", "decode_seconds=inf", "cpus=0", "limit=0", "examples=-1"]
)
def test_a_device_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is of no device") as caught:
        parse_profile(text)
    assert "start at 1" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["drift_percent=-1.2", "depth_gain=-0.1", "hot_after_seconds=inf", "noise=0"])
def test_what_may_be_below_zero_or_without_end_is_taken(text: str) -> None:
    name, _, value = text.partition("=")
    assert getattr(parse_profile(text), name) == float(value)


def loading(kind: str, workers: int = 0, profile: str = "noise=0", **changes: object) -> float:
    """Seconds per batch or step of a trial that loads examples."""
    feed = {name: changes.pop(name) for name in ("supply", "depth", "cold", "cpus") if name in changes}
    data = changes.pop("data", "folder:/data")
    trial = TrialSpec(
        kind=kind,  # type: ignore[arg-type]
        workload=WorkloadSpec(model="torchvision:resnet50", data=data),  # type: ignore[arg-type]
        settings=Settings(batch_size=64, device="simulated", num_workers=workers, **changes),  # type: ignore[arg-type]
        feed=Feed(**feed),  # type: ignore[arg-type]
    )
    found = SimulatedRunner(parse_profile(profile)).run(trial, Watcher(), None).measurement
    assert found is not None
    assert found.loading is not None
    return found.step_seconds


def test_workers_load_faster_until_the_cpus_are_used_up() -> None:
    rates = [1 / loading("load", workers, "noise=0,cpus=4") for workers in (0, 1, 2, 4, 8)]
    assert rates[1] < rates[2] < rates[3]
    assert rates[4] <= rates[3]
    assert loading("load", 4, cpus=2) > 1.5 * loading("load", 4)


def test_a_loader_that_keeps_up_is_hidden_behind_the_step() -> None:
    cached = loading("feed", 1, "noise=0,floor_seconds=3", supply="cached")
    assert loading("feed", 1, "noise=0,floor_seconds=3") == pytest.approx(cached, rel=0.01)
    assert loading("feed", 0, "noise=0,floor_seconds=0.1") > 2 * loading("feed", 4, "noise=0,floor_seconds=0.1")


def test_less_to_do_takes_less_and_a_cold_cache_takes_more() -> None:
    usual = loading("load", 2)
    assert loading("load", 2, depth="bytes") < loading("load", 2, depth="pixels") < usual
    assert loading("load", 2, decoder="simplejpeg") < usual
    assert loading("load", 2, data="prepared:/p") < 0.2 * usual
    assert loading("load", 2, cold=True) > usual


def test_the_stages_of_a_probe_add_up_to_its_batch() -> None:
    trial = TrialSpec(
        kind="probe", workload=WorkloadSpec(model="", data="folder:/d"), settings=Settings(batch_size=10), feed=Feed()
    )
    found = SimulatedRunner(parse_profile("noise=0,examples=77")).run(trial, Watcher(), None).measurement
    assert found is not None
    assert found.loading is not None
    assert sum(cost.seconds for cost in found.loading.stages) * 10 == pytest.approx(found.step_seconds)
    assert found.loading.resident_step_seconds is None
    assert found.examples_in_data == 77


def switched(kind: str = "pair", profile: str = "noise=0", batch_size: int = 64, **changes: object) -> Measurement:
    baseline = Settings(batch_size=batch_size, device="simulated")
    trial = TrialSpec(
        kind=kind,  # type: ignore[arg-type]
        workload=WorkloadSpec(model="torchvision:resnet50"),
        settings=msgspec.structs.replace(baseline, **changes),
        against=baseline if kind == "pair" else None,
    )
    found = SimulatedRunner(parse_profile(profile)).run(trial, Watcher(), None).measurement
    assert found is not None
    return found


def ratio(**changes: object) -> float:
    pair = switched(**changes).pair  # type: ignore[arg-type]
    assert pair is not None
    return pair.ratio


def test_some_planted_switches_help_only_together() -> None:
    assert ratio(precision="bf16") == pytest.approx(1.0, abs=0.02)
    assert ratio(memory_format="channels_last") == pytest.approx(1.0, abs=0.02)
    assert ratio(precision="bf16", memory_format="channels_last", batch_size=256) > 1.8


def test_a_pair_of_equals_has_a_ratio_of_one_and_both_arms() -> None:
    pair = switched().pair
    assert pair is not None
    assert pair.ratio == pytest.approx(1.0)
    assert len(pair.turns) > 5


def test_two_arms_need_the_room_of_two() -> None:
    baseline = Settings(batch_size=600, device="simulated")
    trial = TrialSpec(kind="pair", workload=WorkloadSpec(model="m"), settings=baseline, against=baseline)
    record = SimulatedRunner(parse_profile("limit=1000")).run(trial, Watcher(), None)
    assert record.outcome is Outcome.OUT_OF_DEVICE_MEMORY
    assert record.failure is not None
    assert record.failure.details["arm"] == "candidate"


def test_losses_differ_by_seed_and_by_what_breaks_them() -> None:
    usual, broken = (switched("losses", precision=name).losses for name in ("fp32", "fp16"))
    assert len(usual) == 100
    assert usual[-1] < usual[0]
    assert broken[-1] > usual[-1] + 0.3
