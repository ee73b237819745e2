"""`traindyno.apply` takes settings in every form, and says which of them cannot be used here."""

import os
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import traindyno
from traindyno.core.errors import UsageError
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.setups import SettingsFile
from traindyno.worker import applying
from traindyno.worker.applying import apply
from worker.applying.small_trainings import numbers, refused, sgd, small_model


def test_settings_may_come_as_a_record_a_mapping_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('precision = "bf16"\nbatch_size = 5\n')
    record = traindyno.Settings(batch_size=5, precision="bf16")
    given = [record, {"batch_size": 5, "precision": "bf16"}, path, str(path)]
    assert [apply(each, None, device="cpu").settings for each in given] == [record] * 4


def test_what_is_applied_shows_its_settings_and_not_its_inside() -> None:
    shown = repr(apply({"batch_size": 5}, small_model(), device="cpu"))
    assert "batch_size=5" in shown
    assert "Linear" not in shown


def test_numbers_by_numpy_are_numbers() -> None:
    settings = {"batch_size": np.int64(5), "pin_memory": np.bool_(False)}
    assert apply(settings, None, device="cpu").settings == Settings(batch_size=5)
    record = Settings(batch_size=np.int64(5))  # type: ignore[arg-type]
    assert apply(record, None).settings == Settings(batch_size=5)


def test_the_device_is_that_of_the_settings_unless_another_is_given() -> None:
    assert apply(Settings(batch_size=1), None).device == torch.device("cpu")
    assert apply({"batch_size": 1, "device": "cuda:0"}, None, device="cpu").settings.device == "cpu"


def test_a_gpu_is_taken_if_there_is_one_and_the_first_unless_another_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    chosen: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert apply({"batch_size": 1, "cudnn_benchmark": True}, None).settings.device == "cuda:0"
    assert torch.backends.cudnn.benchmark
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 2)
    assert apply({"batch_size": 1}, None, device="cuda").settings.device == "cuda:2"
    assert chosen == [torch.device("cuda:0"), torch.device("cuda:2")]
    for late in ({"expandable_segments": True}, {"determinism": "all"}):
        assert "before CUDA starts" in refused({"batch_size": 1, **late}, None, device="cuda").message


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cudnn_benchmark": True}, "cudnn_benchmark only matters on a GPU"),
        ({"tf32": "all"}, "tf32 only matters on a GPU"),
        ({"compile": "reduce-overhead"}, "compile=reduce-overhead only matters on a GPU"),
        ({"decoder": "nvjpeg"}, "the decoder nvjpeg needs a GPU"),
        ({"decoder": "simplejpeg"}, "your own dataset decodes by itself"),
        ({"accumulation_steps": 3}, "cannot be computed in 3 equal parts"),
        ({"batchsize": 3}, "there is no 'batchsize'"),
        ({"precision": "fp8"}, "precision cannot be"),
        ({"batch_size": 21}, "larger than the data"),
        ({"optimizer_kernel": "fused"}, "optimizer_kernel=fused is a setting of the optimiser"),
    ],
)
def test_settings_that_cannot_be_used_here_are_refused(settings: dict[str, Any], said: str) -> None:
    assert said in refused({"batch_size": 5, **settings}, small_model(), numbers()).message


def test_what_is_missing_or_wrong_is_named() -> None:
    batch = {"batch_size": 5}
    assert "no batch_size" in refused({}, small_model()).message
    assert "cannot be a int" in refused(5, small_model()).message
    assert "is no device" in refused(batch, small_model(), device="gpu").message
    assert "nothing to train on" in refused(batch, small_model(), "synthetic:").message
    assert "needs a model" in refused(batch, None, optimizer=sgd).message
    infer = SettingsFile(settings=batch, workload=WorkloadSpec(model="ir:50", mode="infer"))
    assert "found for inference" in refused(infer, small_model()).message
    assert "the model is a str" in refused(batch, "torchvision:resnet18").message
    assert "5 is no name of a setting" in refused({5: 5}, small_model()).message
    for wrong in ({"num_workers": -1}, {"prefetch_factor": 0}):
        assert "cannot be" in refused(Settings(batch_size=5, **wrong), small_model(), numbers()).message
        assert "cannot be" in refused(SettingsFile(settings={**batch, **wrong}), small_model(), numbers()).message
    if not torch.cuda.is_available():
        assert "torch sees no GPU" in refused(batch, small_model(), device="cuda:0").message


def test_what_needs_more_than_was_given_says_so() -> None:
    without = apply({"batch_size": 5}, None, device="cpu")
    for use in (without.step, without.predict):
        with pytest.raises(UsageError, match="needs a model"):
            use(None)
    made_up = SettingsFile(settings={"batch_size": 5}, data="synthetic:")
    for nothing in (without, apply(made_up, small_model(), optimizer=sgd, device="cpu")):
        with pytest.raises(UsageError, match="no data to load"):
            list(nothing.loader)
    with pytest.raises(UsageError, match="an optimiser"):
        apply({"batch_size": 5}, small_model(), device="cpu").step(None)


def test_a_model_is_left_as_it_was_where_its_data_cannot_be_opened() -> None:
    model = small_model()
    settings = {"batch_size": 5, "activation_checkpointing": True}
    refused(settings, model, "foldr:/x", optimizer=sgd)
    assert "forward" not in vars(model[0])


def test_an_uncaught_error_shows_its_hint() -> None:
    shown = traceback.format_exception(refused({}, small_model()))
    assert shown[-1] == "hint: add batch_size = N to them\n"


def test_several_devices_are_torchruns_to_start() -> None:
    for given in (Settings(batch_size=4, devices=2), {"batch_size": 4, "devices": 2}):
        with pytest.raises(UsageError, match="settings of one process, and devices is 2") as caught:
            apply(given, None, device="cpu")
        assert "torchrun --nproc-per-node 2" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("started", "queues", "decoder", "says"),
    [
        (True, None, "nvjpeg", True),
        (False, None, "nvjpeg", False),
        (True, "32", "nvjpeg", False),
        (True, None, "simplejpeg", False),
    ],
)
def test_queues_that_cuda_can_no_longer_be_asked_for_are_told(
    started: bool, queues: str | None, decoder: str, says: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_DEVICE_MAX_CONNECTIONS", raising=False)
    if queues is not None:
        monkeypatch.setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues)
    monkeypatch.setattr(applying, "_cuda_started", lambda: started)
    told = applying._comes_late(decoder)  # type: ignore[arg-type]
    assert any("CUDA_DEVICE_MAX_CONNECTIONS=32" in note for note in told) == says


def test_queues_are_there_before_torch_is_asked_for_a_gpu_which_starts_the_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str | None] = []

    def is_available() -> bool:
        seen.append(os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS"))
        return False

    monkeypatch.setenv("CUDA_DEVICE_MAX_CONNECTIONS", "")
    monkeypatch.delenv("CUDA_DEVICE_MAX_CONNECTIONS")
    monkeypatch.setattr(torch.cuda, "is_available", is_available)
    with pytest.raises(UsageError, match="nvjpeg needs a GPU"):
        apply({"batch_size": 5, "decoder": "nvjpeg"}, None)
    assert seen == ["32"]
