"""Simulated groups of devices: they compute side by side and hand their gradients around a ring."""

from typing import Any

import pytest

from traindyno.core.loading import Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.scaling import Group, Scaling
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner


def ran(devices: int, each: int = 64, profile: str = "noise=0", **fields: Any) -> TrialRecord:
    group = Group(devices=devices, **{name: fields.pop(name) for name in ("nodes", "bucket_mib") if name in fields})
    trial = TrialSpec(
        kind="scale",
        workload=WorkloadSpec(model="torchvision:resnet50", data="folder:/data"),
        settings=Settings(batch_size=devices * each, device="simulated", num_workers=fields.pop("num_workers", 0)),
        group=group,
        feed=fields.pop("feed", Feed(supply="resident")),
        repeat=fields.pop("repeat", 0),
    )
    return SimulatedRunner(parse_profile(profile)).run(trial, Watcher(), None)


def measured(*arguments: Any, **fields: Any) -> tuple[Measurement, Scaling]:
    found = ran(*arguments, **fields).measurement
    assert found is not None
    assert found.scaling is not None
    return found, found.scaling


def test_one_device_is_as_fast_as_a_trial_of_throughput() -> None:
    plain = TrialSpec(
        kind="speed",
        workload=WorkloadSpec(model="torchvision:resnet50"),
        settings=Settings(batch_size=64, device="simulated"),
    )
    throughput = SimulatedRunner(parse_profile("noise=0")).run(plain, Watcher(), None).measurement
    assert throughput is not None
    found, scaling = measured(1)
    assert found.step_seconds == pytest.approx(throughput.step_seconds)
    assert found.memory == throughput.memory
    assert scaling.exposed_seconds == 0
    assert scaling.exchanges == ()
    assert scaling.ddp_ratio is not None


def test_each_device_has_its_share_of_the_batch_to_compute_and_to_hold() -> None:
    one, _ = measured(1, 64)
    found, scaling = measured(4, 64)
    assert found.batch_size == 256
    assert scaling.alone_seconds == pytest.approx(one.step_seconds)
    assert found.memory.peak_bytes == one.memory.peak_bytes
    assert ran(4, 100, "limit=100").outcome is Outcome.OK
    assert ran(4, 101, "limit=100").outcome is Outcome.OUT_OF_DEVICE_MEMORY


def test_communication_is_what_the_ring_takes_and_overlap_hides_its_share() -> None:
    profile = "noise=0,latency=1e-3,bandwidth=1e9,gradient_bytes=1048576"
    _, bare = measured(4, profile=f"{profile},overlap=0")
    _, half = measured(4, profile=f"{profile},overlap=0.5")
    assert bare.exposed_seconds == pytest.approx(6 * (1e-3 + 1048576 / 4 / 1e9))
    assert bare.exposed_seconds == pytest.approx(bare.exchange_seconds)
    assert half.exposed_seconds == pytest.approx(bare.exposed_seconds / 2)


def test_no_more_is_hidden_than_the_backward_pass_is_long() -> None:
    found, scaling = measured(2, profile="noise=0,bandwidth=1e8,overlap=1")
    assert scaling.exchange_seconds is not None
    assert scaling.exposed_seconds > scaling.exchange_seconds - scaling.alone_seconds
    assert found.step_seconds == pytest.approx(scaling.alone_seconds + scaling.exposed_seconds)


def test_smaller_buckets_are_more_messages() -> None:
    _, large = measured(2, bucket_mib=25.0)
    _, small = measured(2, bucket_mib=1.0)
    assert sum(large.bucket_bytes) == pytest.approx(sum(small.bucket_bytes))
    assert len(small.bucket_bytes) > 10 * len(large.bucket_bytes)
    assert (small.exchange_seconds or 0) > (large.exchange_seconds or 0)


def test_a_straggler_is_the_last_rank_and_holds_up_the_others() -> None:
    _, plain = measured(4)
    _, held_up = measured(4, profile="noise=0,straggler=0.25")
    usual, slow = held_up.ranks[0].step_seconds, held_up.ranks[-1].step_seconds
    assert slow == pytest.approx(1.25 * usual)
    assert held_up.alone_seconds == pytest.approx(slow)
    assert held_up.exposed_seconds == pytest.approx(plain.exposed_seconds)


def test_ranks_sit_on_their_nodes() -> None:
    _, scaling = measured(4, nodes=2)
    assert [rank.node for rank in scaling.ranks] == ["node-0", "node-0", "node-1", "node-1"]
    assert [rank.device for rank in scaling.ranks] == ["simulated:0", "simulated:1"] * 2


def test_loaders_of_several_ranks_share_the_cpus() -> None:
    fed = {"feed": Feed(supply="loader"), "num_workers": 4}
    _, one = measured(1, profile="noise=0,cpus=4", **fed)
    _, four = measured(4, profile="noise=0,cpus=4", **fed)
    assert (four.ranks[0].load_seconds or 0) > 2 * (one.ranks[0].load_seconds or 0)
    assert measured(2)[1].ranks[0].load_seconds is None


def test_the_same_trial_always_gives_the_same_answer_and_a_repeat_another() -> None:
    first, again, other = (measured(2, profile="", repeat=repeat)[0] for repeat in (0, 0, 1))
    assert first == again
    assert first != other
