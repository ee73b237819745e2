"""`scale` from request to answer, on simulated devices whose links are known."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import traindyno
from traindyno.app.context import Context
from traindyno.app.library import study_document
from traindyno.app.resume import resume
from traindyno.app.scale import devices_words
from traindyno.app.scale import scale as use_case
from traindyno.app.scale_checks import crowding, further_gpus, settled_scale
from traindyno.core.answers import ScaleAnswer
from traindyno.core.errors import UsageError
from traindyno.core.events import Event, TrialFinished
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, ScaleRequest
from traindyno.core.scaling import Group

MODEL = "torchvision:resnet50"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "studies.db")


def scale(store: str, profile: str = "", **options: Any) -> ScaleAnswer:
    return traindyno.scale(MODEL, runner=f"simulated:{profile}", store=store, **options)


def request(device: str = "cpu", **changes: Any) -> ScaleRequest:
    plain = ScaleRequest(
        workload=WorkloadSpec(model=MODEL), bench=Bench(device=device), settings=Settings(batch_size=1), devices=()
    )
    return msgspec.structs.replace(plain, **changes)


def settled(asked: ScaleRequest, gpus: int = 0) -> ScaleRequest:
    return settled_scale(asked, asked.bench, gpus)


def test_every_count_of_devices_shares_every_batch_unless_others_are_named(store: str) -> None:
    answer = scale(store, repeats=1)
    found = [(row.devices, row.batch_size) for row in answer.rows]
    assert found == [(devices, batch) for devices in (1, 2, 4) for batch in (32, 64, 128, 256)]
    assert answer.simulated
    assert len(answer.ranks) == 4
    assert [each.devices for each in answer.predicted] == [8, 16, 32]


def test_every_device_keeps_the_batch_that_is_named_for_it(store: str) -> None:
    answer = scale(store, devices=[1, 2], batch_per_device=32, repeats=1)
    assert [(row.devices, row.batch_size) for row in answer.rows] == [(1, 32), (2, 64)]
    assert answer.rows[1].efficiency is not None


def test_groups_buckets_and_parts_reach_the_trials(store: str) -> None:
    events: list[Event] = []
    scale(
        store, devices="1,2", global_batch=64, bucket_mb=[25, 5], accumulation_steps=[1, 2], repeats=1,
        memory_format="channels_last", on_event=events.append,
    )  # fmt: skip
    specs = [event.record.spec for event in events if isinstance(event, TrialFinished)]
    assert {spec.kind for spec in specs} == {"scale"}
    assert {spec.settings.memory_format for spec in specs} == {"channels_last"}
    assert Group(devices=1) in [spec.group for spec in specs]
    assert Group(devices=2, bucket_mib=5.0) in [spec.group for spec in specs]
    assert {spec.settings.accumulation_steps for spec in specs if spec.group == Group(devices=2)} == {1, 2}


def test_named_data_feeds_every_device_by_a_loader(store: str) -> None:
    events: list[Event] = []
    options: dict[str, Any] = {"devices": [1], "global_batch": 32, "repeats": 1, "data": "folder:/data/train"}
    scale(store, **options, on_event=events.append)
    scale(store, **options, from_loader=False, on_event=events.append)
    fed = [event.record.spec.feed.supply for event in events if isinstance(event, TrialFinished)]
    assert fed == ["loader", "resident"]


def test_time_cost_and_rates_are_told_where_they_were_asked_for(store: str) -> None:
    answer = scale(
        store, devices=[1, 2], batch_per_device=32, repeats=1, examples=1_000_000, epochs=2.0, price_per_hour=3.0,
        learning_rate=0.1,
    )  # fmt: skip
    one, two = answer.rows
    assert one.training_seconds is not None
    assert one.cost == pytest.approx(one.training_seconds / 3600 * 3.0)
    assert two.training_seconds is not None
    assert two.cost == pytest.approx(two.training_seconds / 3600 * 3.0 * 2)
    assert (one.learning_rate, two.learning_rate) == (pytest.approx(0.1), pytest.approx(0.2))


def test_a_batch_that_devices_cannot_share_is_left_out_and_named(store: str) -> None:
    scale(store, devices=[1, 2], global_batch=[31, 64], repeats=1, name="odd")
    assert any("31" in warning for warning in study_document("odd", store).warnings)


def hint(store: str, profile: str, **changes: Any) -> str:
    asked = request("auto", bench=Bench(device="auto", runner=f"simulated:{profile}"), repeats=1, global_batches=(32,))
    found = use_case(msgspec.structs.replace(asked, **changes), Context(store=store)).hint
    assert found is not None
    return found


def test_much_communication_hints_at_buckets_and_accumulation(store: str) -> None:
    assert "--bucket-mb 25,5,100 --accumulation-steps 1,4" in hint(store, "latency=0.001", devices=(1, 2))
    tried = hint(store, "latency=0.001", devices=(1, 2), accumulations=(1, 4))
    assert tried.startswith("traindyno plan")


def test_little_communication_hints_at_what_the_larger_batch_learns_or_how_long_it_takes(store: str) -> None:
    perfect, digits = "latency=0,bandwidth=1e15", WorkloadSpec(model=MODEL, data="digits:")
    planned = hint(store, perfect, devices=(1, 2), examples=5000, epochs=2.0)
    assert planned.startswith("traindyno plan --model torchvision:resnet50")
    assert "--examples 5000 --epochs 2" in planned
    learns = hint(store, perfect, devices=(2,), workload=digits)
    assert learns.startswith("traindyno accuracy --data digits:")
    assert "--batch-size 16,32 --lr RATE@16" in learns


def test_a_study_is_taken_up_where_it_was(store: str) -> None:
    scale(store, devices=[1, 2], global_batch=64, repeats=1, name="wide")
    again = resume("wide", Context(store=store))
    assert len(again.trials) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "infer"}, "a forward pass exchanges nothing"),
        ({"devices": [0, 2]}, "no devices cannot train anything"),
        ({"devices": "two"}, "is not a list of devices"),
        ({"global_batch": "32..max"}, "batches that are named"),
        ({"batch_per_device": 0}, "a batch size of 0"),
        ({"bucket_mb": 0}, "a bucket of gradients holds something"),
        ({"bucket_mb": "big"}, "is not a list of bucket sizes"),
        ({"accumulation_steps": 0}, "at least one part"),
        ({"repeats": 0}, "repeats of 0 cannot be meant"),
        ({"price_per_hour": 2.0}, "a training of known length"),
        ({"examples": 1000}, "passes over it"),
        ({"epochs": 2.0}, "passes over it"),
        ({"examples": 1000, "epochs": 0.0}, "epochs of 0.0 cannot be meant"),
        ({"learning_rate": -1.0}, "a learning rate is above 0"),
        ({"learning_rate": 0.1, "rate_rule": "gain"}, "needs runs that learn"),
        ({"from_loader": True}, "there is nothing to load"),
        ({"threads": 2}, "only matters on a CPU"),
        ({"globl_batch": 32}, "there is no option globl_batch"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(store: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(traindyno.TraindynoError, match=message) as caught:
        scale(store, **options)
    assert caught.value.hint


def test_batches_that_no_devices_can_share_are_refused(store: str) -> None:
    with pytest.raises(UsageError, match="there is nothing to measure") as caught:
        scale(store, devices=[2, 4], global_batch=31)
    assert "`batch_per_device`" in (caught.value.hint or "")


def test_under_torchrun_it_is_refused(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="torchrun") as caught:
        scale(store)
    assert "`scale` starts torchrun" in (caught.value.hint or "")


def test_all_gpus_are_used_by_doubling_and_the_others_are_held_too() -> None:
    found = settled(request("cuda:0"), gpus=6)
    assert found.devices == (1, 2, 4, 6)
    assert further_gpus(found) == ("cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5")
    assert settled(request("cuda:2"), gpus=4).devices == (1,)
    assert further_gpus(settled(request("cuda:0", devices=(1,)), gpus=4)) == ()


def test_a_group_of_gpus_is_not_sent_to_a_lane_that_has_one() -> None:
    lane = Bench(device="cuda:0", executor="ray")
    with pytest.raises(UsageError, match="a lane of a Ray cluster is one GPU"):
        settled(request(bench=lane, devices=(1, 2)), gpus=4)
    assert settled(request(bench=lane, devices=(1,)), gpus=4).devices == (1,)


def test_devices_may_be_spread_over_machines_and_fewer_than_those_stay_on_one(store: str) -> None:
    answer = scale(store, repeats=1, devices=[1, 2, 4], nodes=2, listen="10.0.0.1:29400", batch_per_device=32)
    assert [(row.devices, row.nodes) for row in answer.rows] == [(1, 1), (2, 2), (4, 2)]
    with pytest.raises(UsageError, match="`listen` is for several machines"):
        scale(store, listen="10.0.0.1:29400")


def test_more_gpus_than_there_are_is_an_error_that_names_them() -> None:
    with pytest.raises(UsageError, match="4 devices on this machine cannot be measured: 2 GPUs are visible") as caught:
        settled(request("cuda:0", devices=(1, 4)), gpus=2)
    assert "--devices 1,2" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="cuda:1 is one device") as caught:
        settled(request("cuda:1", devices=(1, 2)), gpus=4)
    assert "CUDA_VISIBLE_DEVICES=1,2" in (caught.value.hint or "")


def test_batches_are_such_that_every_count_divides_them() -> None:
    assert settled(request("cuda:0", devices=(1, 2, 4)), gpus=4).global_batches == (32, 64, 128, 256)
    found = settled(request("cuda:0", devices=(1, 2, 3)), gpus=4).global_batches
    assert found == (36, 72, 144, 288)


def test_processes_of_a_cpu_have_as_many_threads_at_every_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traindyno.app.device_counts.usable_cpus", lambda *_: 8.0)
    found = settled(request(devices=(1, 2, 4)))
    assert found.settings.threads == 2
    assert devices_words(found) == "on 1, 2 and 4 processes of 2 threads each"
    assert crowding(found) == ()
    own = settled(request(devices=(1, 2), settings=Settings(batch_size=1, threads=3)))
    assert own.settings.threads == 3


def test_more_processes_than_cpus_are_allowed_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traindyno.app.device_counts.usable_cpus", lambda *_: 2.0)
    crowded = settled(request(devices=(1, 4)))
    assert crowded.settings.threads == 1
    (warning,) = crowding(crowded)
    assert warning.startswith("4 processes share 2 CPUs")
