"""Several devices of this machine at once: those there are, and what each has of the rest."""

import msgspec
import pytest

from traindyno.app.device_counts import check_gpus, check_group_of, crowding_words, gpus_besides_first
from traindyno.app.target import contenders_of, most_devices, settled_target
from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe, Target
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, TargetRequest

SETTINGS = Settings(batch_size=64)
REQUEST = TargetRequest(
    workload=WorkloadSpec(model="mlp:64", data="digits:"),
    bench=Bench(device="cpu"),
    recipe=Recipe(learning_rate=0.05, epochs=30.0),
    target=Target(metric="accuracy", value=0.9),
    contenders=contenders_of([64], ["devices=4", "own: devices=2,threads=3"], SETTINGS),
    settings=SETTINGS,
)


@pytest.fixture
def eight_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traindyno.app.device_counts.usable_cpus", lambda *_: 8.0)


def test_every_way_to_train_computes_with_as_many_threads_on_each_device(eight_cpus: None) -> None:
    settled = settled_target(REQUEST, Bench(device="cpu"))
    assert most_devices(settled) == 4
    assert [each.settings.threads for each in settled.contenders] == [2, 2, 3]
    assert settled.settings is not None
    assert settled.settings.threads == 2


def test_without_several_devices_threads_are_left_to_torch(eight_cpus: None) -> None:
    alone = msgspec.structs.replace(REQUEST, contenders=contenders_of([64], [], SETTINGS))
    assert settled_target(alone, Bench(device="cpu")).contenders == alone.contenders
    on_gpus = settled_target(REQUEST, Bench(device="cuda:0"))
    assert [each.settings.threads for each in on_gpus.contenders] == [None, None, 3]


def test_more_gpus_than_there_are_cannot_be_had() -> None:
    check_gpus("cuda:0", 2, gpus=2, fewer="--devices 1")
    check_gpus("cpu", 2, gpus=0, fewer="--devices 1")
    with pytest.raises(UsageError, match="4 devices on this machine cannot be measured: 2 GPUs are visible") as caught:
        check_gpus("cuda:0", 4, gpus=2, fewer="--devices 2")
    assert "use --devices 2" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="cuda:1 is one device"):
        check_gpus("cuda:1", 2, gpus=2, fewer="--devices 1")


def test_all_gpus_of_a_group_are_held() -> None:
    assert gpus_besides_first("cuda:0", 3) == ("cuda:1", "cuda:2")
    assert gpus_besides_first("cpu", 3) == ()


def test_a_lane_of_a_cluster_is_one_device() -> None:
    check_group_of(Bench(executor="ray"), 1)
    with pytest.raises(UsageError, match="a lane of a Ray cluster is one device"):
        check_group_of(Bench(executor="ray"), 2)


def test_more_processes_than_cpus_are_warned_of(eight_cpus: None) -> None:
    assert crowding_words(Bench(device="cpu"), 8) == ()
    (warning,) = crowding_words(Bench(device="cpu"), 9)
    assert "9 processes share 8 CPUs" in warning
