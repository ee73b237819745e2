"""What `traindyno.apply` sets up trains as a plain loop would, with the settings that it was given."""

import os
import traceback
from collections import Counter, namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

import traindyno
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.settings_file import format_settings_file
from traindyno.core.setups import SettingsFile
from traindyno.worker.applied_loading import open_applied
from traindyno.worker.applying import Applied, apply
from traindyno.worker.data import gpu_decode
from traindyno.worker.job import build_job
from traindyno.worker.knobs.checkpointing import TWICE
from worker.data.prepared_sets import prepare
from worker.data.tiny_sets import write_folder, write_shards

EXAMPLES = 20
SKIPPING = WorkloadSpec(model="", skip_bad=True)


@pytest.fixture(autouse=True)
def own_flags() -> Iterator[None]:
    """Settings hold for the whole process, which here goes on to other tests."""
    threads, environment = torch.get_num_threads(), dict(os.environ)
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic = False
    torch.backends.cudnn.benchmark = False
    for name in set(os.environ) - set(environment):
        del os.environ[name]


def numbers() -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    return TensorDataset(torch.randn(EXAMPLES, 6, generator=generator), torch.arange(EXAMPLES) % 3)


def images() -> TensorDataset:
    return TensorDataset(torch.randn(EXAMPLES, 3, 8, 8), torch.arange(EXAMPLES) % 3)


def small_model() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def image_model() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def on_cpu(model: nn.Module | None, dataset: Any = None, **settings: Any) -> Applied:
    optimizer = None if model is None else sgd
    return apply({"batch_size": 5, **settings}, model, dataset, optimizer=optimizer, device="cpu")


def refused(*arguments: Any, **keywords: Any) -> TraindynoError:
    with pytest.raises(TraindynoError) as raised:
        apply(*arguments, **{"device": "cpu", **keywords})
    assert raised.value.hint
    return raised.value


def labels_of(epoch: Any) -> list[int]:
    return [int(label) for _, labels in epoch for label in labels]


def test_a_short_script_trains() -> None:
    applied = traindyno.apply({"batch_size": 5}, small_model(), numbers(), optimizer=sgd, device="cpu")
    losses = [applied.step(batch).item() for _ in range(40) for batch in applied.loader or ()]
    assert losses[-1] < losses[0] / 2


def test_a_step_is_that_of_a_plain_loop() -> None:
    applied = on_cpu(small_model(), numbers())
    model = small_model()
    optimizer = sgd(model.parameters())
    for _ in range(3):
        for inputs, targets in applied.loader or ():
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            assert applied.step((inputs, targets)).item() == pytest.approx(loss.item(), abs=1e-6)


def test_the_user_s_own_optimiser_loss_and_step_are_used() -> None:
    model = small_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    batch = next(iter(DataLoader(numbers(), batch_size=5)))
    with_loss = apply(
        {"batch_size": 5}, model, optimizer=optimizer, loss=lambda _, target: model[0].bias.sum() * 0 + target.sum()
    )
    assert with_loss.optimizer is optimizer
    assert with_loss.step(batch).item() == batch[1].sum().item()
    with_step = apply(
        {"batch_size": 5}, model, optimizer=optimizer, training_step=lambda model, batch: model(batch[0]).mean()
    )
    before = model[0].weight.detach().clone()
    expected = model(batch[0]).mean().item()
    assert with_step.step(batch).item() == pytest.approx(expected)
    assert not torch.equal(model[0].weight, before)


def test_an_epoch_has_every_example_once_and_the_next_another_order() -> None:
    data = TensorDataset(torch.randn(EXAMPLES, 6), torch.arange(EXAMPLES))
    loader = on_cpu(None, data).loader
    assert loader is not None
    first, second = labels_of(loader), labels_of(loader)
    assert sorted(first) == sorted(second) == list(range(EXAMPLES))
    assert first != second
    assert len(loader) == EXAMPLES // 5


def test_a_short_last_batch_is_left_out() -> None:
    loader = apply({"batch_size": 8}, None, numbers(), device="cpu").loader
    assert [len(labels) for _, labels in loader or ()] == [8, 8]


@pytest.mark.parametrize("persistent", [True, False])
def test_an_epoch_that_was_left_early_does_not_reach_into_the_next(persistent: bool) -> None:
    data = TensorDataset(torch.randn(EXAMPLES, 6), torch.arange(EXAMPLES))
    loader = on_cpu(None, data, num_workers=2, persistent_workers=persistent).loader
    assert loader is not None
    for _ in loader:
        break
    assert sorted(labels_of(loader)) == list(range(EXAMPLES))


def test_the_loader_has_the_settings_of_the_loader() -> None:
    knobs = {"num_workers": 2, "prefetch_factor": 3, "persistent_workers": True, "pin_memory": False}
    loader = on_cpu(None, numbers(), **knobs).loader
    assert loader is not None
    made = loader.data_loader
    assert {name: getattr(made, name) for name in knobs} == knobs


def test_a_loader_is_rebuilt_with_its_own_parts_and_keeps_its_batch_where_none_is_set() -> None:
    def doubled(items: Any) -> Any:
        inputs, labels = default_collate(items)
        return inputs, labels * 2

    own = DataLoader(numbers(), batch_size=4, collate_fn=doubled, sampler=range(8))
    applied = apply({"num_workers": 0}, None, own, device="cpu")
    assert applied.settings.batch_size == 4
    assert labels_of(applied.loader) == [2 * (number % 3) for number in range(8)]


def test_a_stream_goes_on_where_the_last_epoch_ended(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, shards=2, examples_each=10)
    loader = on_cpu(None, f"shards:{shards}/shard-{{000..001}}.tar").loader
    assert loader is not None
    epochs = [torch.cat([inputs for inputs, _ in loader]) for _ in range(2)]
    assert [len(epoch) for epoch in epochs] == [EXAMPLES, EXAMPLES]
    assert not torch.equal(epochs[0], epochs[1])


def test_a_stream_of_the_user_s_own_is_loaded_in_epochs_of_its_length() -> None:
    class Counting(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter([(torch.zeros(6), number) for number in range(10)])

        def __len__(self) -> int:
            return 10

    loader = on_cpu(None, DataLoader(Counting(), batch_size=5)).loader
    assert [labels_of(loader) for _ in range(2)] == [list(range(10))] * 2


@pytest.mark.parametrize("decoder", ["pil", "torchvision"])
def test_data_by_name_comes_as_normalised_images_of_the_size_asked_for(decoder: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"{name}/{number}.jpg" for name in "abc" for number in range(5)])
    settings = {"batch_size": 5, "decoder": decoder, "num_workers": 1}
    applied = apply(settings, image_model(), f"folder:{folder}", optimizer=sgd, device="cpu", image_size=12)
    batches = list(applied.loader or ())
    assert {tuple(inputs.shape) for inputs, _ in batches} == {(5, 3, 12, 12)}
    assert all(inputs.dtype == torch.float32 and inputs.min() < 0 for inputs, _ in batches)
    assert Counter(labels_of(batches)) == {0: 5, 1: 5, 2: 5}
    assert applied.step(batches[0]).isfinite()


def test_a_file_brings_its_data_its_image_size_and_what_to_leave_out(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "set", [f"{name}/{number}.jpg" for name in "ab" for number in range(5)])
    prepare(f"folder:{folder}", tmp_path / "prepared", shorter_side=12)
    spec = WorkloadSpec(model="torchvision:resnet18", image_size=8, skip_bad=True)
    file = SettingsFile(settings={"batch_size": 5}, data=f"prepared:{tmp_path / 'prepared'}", workload=spec)
    path = tmp_path / "found.toml"
    path.write_text(format_settings_file(file))
    for given in (path, str(path), file):
        loader = apply(given, None, device="cpu").loader
        assert [tuple(inputs.shape) for inputs, _ in loader or ()] == [(5, 3, 8, 8)] * 2


def test_a_bad_image_ends_the_epoch_with_its_name_and_is_left_out_where_the_file_says_so(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"{name}/{number}.jpg" for name in "ab" for number in range(5)])
    (folder / "a" / "3.jpg").write_bytes(b"no image")
    file = SettingsFile(settings={"batch_size": 5, "num_workers": 1}, data=f"folder:{folder}")
    with pytest.raises(TraindynoError, match=r"3\.jpg"):
        list(apply(file, None, device="cpu", image_size=8).loader or ())
    leaving_out = msgspec.structs.replace(file, workload=WorkloadSpec(model="", image_size=8, skip_bad=True))
    assert len(list(apply(leaving_out, None, device="cpu").loader or ())) == 2


def test_bad_images_are_left_out_where_the_script_says_so(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"{name}/{number}.jpg" for name in "ab" for number in range(5)])
    (folder / "a" / "3.jpg").write_bytes(b"no image")
    keywords: dict[str, Any] = {"device": "cpu", "image_size": 8}
    asked = apply({"batch_size": 5}, None, f"folder:{folder}", skip_bad=True, **keywords)
    assert len(list(asked.loader)) == 2
    leaving_out = SettingsFile(settings={"batch_size": 5}, data=f"folder:{folder}", workload=SKIPPING)
    with pytest.raises(TraindynoError, match="cannot be used"):
        list(apply(leaving_out, None, skip_bad=False, **keywords).loader)


@pytest.mark.parametrize(("model", "size"), [("ir:50", 112), ("torchvision:efficientnet_b4", 380), ("job.py:f", 224)])
def test_a_file_without_image_size_loads_what_its_model_takes(model: str, size: int, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, ["a/1.jpg", "b/2.jpg"])
    spec = WorkloadSpec(model=model, classes=10)
    file = SettingsFile(settings={"batch_size": 2}, data=f"folder:{folder}", workload=spec)
    assert next(iter(apply(file, None, device="cpu").loader))[0].shape == (2, 3, size, size)
    assert next(iter(apply(file, None, device="cpu", image_size=8).loader))[0].shape == (2, 3, 8, 8)


@pytest.mark.parametrize("asked", [{"image_size": 8}, {"skip_bad": True}])
def test_what_only_data_by_name_takes_is_refused_for_a_dataset(asked: dict[str, Any]) -> None:
    assert (
        f"{next(iter(asked))} can be chosen for data by name alone"
        in refused({"batch_size": 5}, None, numbers(), **asked).message
    )


def test_bf16_computes_in_bf16_and_keeps_its_weights() -> None:
    applied = on_cpu(small_model(), numbers(), precision="bf16")
    batch = next(iter(applied.loader or ()))
    assert applied.step(batch).isfinite()
    assert applied.predict(batch).dtype == torch.bfloat16
    assert {weight.dtype for weight in small_model().parameters()} == {torch.float32}


def test_fp16_scales_the_loss_as_training_usually_does() -> None:
    applied = on_cpu(small_model(), numbers(), precision="fp16")
    losses = [applied.step(batch).item() for _ in range(40) for batch in applied.loader or ()]
    assert losses[-1] < losses[0] / 2


def test_channels_last_holds_for_weights_and_batches() -> None:
    seen: list[bool] = []
    model = image_model()
    model.register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[0].is_contiguous(memory_format=torch.channels_last))
    )
    applied = on_cpu(model, images(), memory_format="channels_last")
    batch = next(iter(applied.loader or ()))
    applied.step(batch)
    applied.predict(batch)
    assert seen == [True, True]
    assert model[0].weight.is_contiguous(memory_format=torch.channels_last)


def test_accumulation_changes_the_parts_and_not_the_update() -> None:
    whole, parted = small_model(), small_model()
    batch = next(iter(DataLoader(numbers(), batch_size=6)))
    losses = [
        apply({"batch_size": 6, "accumulation_steps": parts}, model, optimizer=sgd, device="cpu").step(batch).item()
        for model, parts in ((whole, 1), (parted, 3))
    ]
    assert losses[1] == pytest.approx(losses[0], abs=1e-6)
    for one, other in zip(whole.parameters(), parted.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_flags_hold_for_the_process_and_the_model_is_compiled_in_place() -> None:
    model = small_model()
    applied = on_cpu(model, threads=1, determinism="all", compile="default", optimizer_kernel="foreach")
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()
    assert applied.model is model
    assert model._compiled_call_impl is not None
    assert applied.optimizer is not None
    assert applied.optimizer.param_groups[0]["foreach"] is True


def test_checkpointed_activations_train_alike_and_say_what_they_do() -> None:
    batch = next(iter(DataLoader(images(), batch_size=5)))
    plain, checkpointed = (on_cpu(image_model(), activation_checkpointing=on) for on in (False, True))
    assert checkpointed.notes == (TWICE,)
    assert checkpointed.step(batch).item() == pytest.approx(plain.step(batch).item(), abs=1e-6)


def test_a_prediction_leaves_the_model_training_and_without_gradients() -> None:
    model = image_model()
    applied = on_cpu(model)
    running = model[1].running_mean.clone()
    output = applied.predict(next(iter(DataLoader(images(), batch_size=5))))
    assert output.shape == (5, 3)
    assert not output.requires_grad
    assert model.training
    assert torch.equal(model[1].running_mean, running)


def test_layers_that_the_user_froze_stay_frozen() -> None:
    model = image_model()
    model[1].eval()
    applied = on_cpu(model, images())
    batch = next(iter(applied.loader))
    running = model[1].running_mean.clone()
    applied.step(batch)
    applied.predict(batch)
    assert [layer.training for layer in model] == [True, False, True, True, True]
    assert torch.equal(model[1].running_mean, running)


def test_a_step_trains_a_model_that_was_evaluated_before() -> None:
    model = image_model().eval()
    applied = on_cpu(model, images())
    assert not model.training
    for _ in range(2):
        running = model[1].running_mean.clone()
        applied.step(next(iter(applied.loader)))
        assert not torch.equal(model[1].running_mean, running)
        model.eval()


@pytest.mark.parametrize(("name", "size"), [("googlenet", 32), ("inception_v3", 299)])
def test_auxiliary_heads_count_as_in_a_trial(name: str, size: int) -> None:
    spec = WorkloadSpec(model=f"torchvision:{name}", image_size=size, classes=3)
    job = build_job(spec)
    batch = job.batch(2, torch.device("cpu"))
    losses = []
    for loss_of in (lambda: job.loss(job.model.train(), batch), lambda: on_cpu(job.model).step(batch)):
        torch.manual_seed(5)
        losses.append(loss_of().item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_auxiliary_heads_of_other_models_need_a_loss() -> None:
    scores = namedtuple("scores", ["logits", "aux_logits"])

    class WithHead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)

        def forward(self, x: torch.Tensor) -> Any:
            return scores(self.layer(x), self.layer(x))

    batch = next(iter(DataLoader(numbers(), batch_size=5)))
    with pytest.raises(UsageError, match="auxiliary scores") as raised:
        on_cpu(WithHead()).step(batch)
    assert "loss=" in (raised.value.hint or "")
    own = apply({"batch_size": 5}, WithHead(), optimizer=sgd, device="cpu", loss=lambda output, _: output.logits.mean())
    assert own.step(batch).isfinite()


def test_what_the_settings_do_not_name_is_as_in_the_user_s_loader() -> None:
    own = DataLoader(
        numbers(), batch_size=5, num_workers=2, prefetch_factor=3, persistent_workers=True, pin_memory=True
    )
    found = apply({"precision": "bf16"}, None, own, device="cpu").settings
    kept = {"batch_size": 5, "num_workers": 2, "prefetch_factor": 3, "persistent_workers": True, "pin_memory": True}
    assert {name: getattr(found, name) for name in kept} == kept
    other = apply({"num_workers": 0, "pin_memory": False}, None, own, device="cpu").loader.data_loader
    assert (other.num_workers, other.pin_memory) == (0, False)


def test_seeds_differ_in_every_epoch() -> None:
    data = TensorDataset(torch.randn(EXAMPLES, 6), torch.arange(EXAMPLES))
    first, second = (apply({"batch_size": 5}, None, data, device="cpu", seed=seed).loader for seed in (0, 1))
    orders = [tuple(labels_of(loader)) for loader in (first, second) for _ in range(3)]
    assert len(set(orders)) == 6


def test_a_model_is_left_as_it_was_where_its_data_cannot_be_opened() -> None:
    model = small_model()
    settings = {"batch_size": 5, "activation_checkpointing": True}
    refused(settings, model, "foldr:/x", optimizer=sgd)
    assert "forward" not in vars(model[0])


def test_an_uncaught_error_shows_its_hint() -> None:
    shown = traceback.format_exception(refused({}, small_model()))
    assert shown[-1] == "hint: add batch_size = N to them\n"


def test_numbers_by_numpy_are_numbers() -> None:
    settings = {"batch_size": np.int64(5), "pin_memory": np.bool_(False)}
    assert apply(settings, None, device="cpu").settings == Settings(batch_size=5)
    record = Settings(batch_size=np.int64(5))  # type: ignore[arg-type]
    assert apply(record, None).settings == Settings(batch_size=5)


def test_settings_may_come_as_a_record_a_mapping_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('precision = "bf16"\nbatch_size = 5\n')
    record = traindyno.Settings(batch_size=5, precision="bf16")
    given = [record, {"batch_size": 5, "precision": "bf16"}, path, str(path)]
    assert [apply(each, None, device="cpu").settings for each in given] == [record] * 4


def test_the_device_is_that_of_the_settings_unless_another_is_given() -> None:
    assert apply(Settings(batch_size=1), None).device == torch.device("cpu")
    assert apply({"batch_size": 1, "device": "cuda:0"}, None, device="cpu").settings.device == "cpu"


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


def test_a_target_is_never_made_up() -> None:
    with pytest.raises(UsageError, match="no target"):
        on_cpu(small_model()).step(torch.zeros(5, 6))


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


def test_an_epoch_ends_and_begins_under_a_decoder_that_works_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU, batches are taken by another thread before they are asked for; here one that does not decode."""

    class DecodesNothing(gpu_decode.Ahead[Any, Any]):
        def __init__(self, batches: Any, device: torch.device, size: int, channels_last: bool) -> None:
            super().__init__(batches, lambda batch: (batch.boxes, batch.labels), depth=2)

        def __enter__(self) -> "DecodesNothing":
            return self

        def __exit__(self, *raised: object) -> None:
            self.close()

    monkeypatch.setattr(gpu_decode, "GpuDecoder", DecodesNothing)
    folder = write_folder(tmp_path, [f"{name}/{number}.jpg" for name in "abc" for number in range(5)])
    settings = Settings(batch_size=5, decoder="nvjpeg", num_workers=2, persistent_workers=True)
    spec = WorkloadSpec(model="", image_size=8)
    loader = open_applied(f"folder:{folder}", spec, settings, torch.device("cpu"), seed=0)
    for _ in range(3):
        assert Counter(labels_of(loader)) == {0: 5, 1: 5, 2: 5}
        next(iter(loader))


@pytest.mark.gpu
@pytest.mark.parametrize("decoder", ["pil", "nvjpeg"])
def test_settings_of_a_gpu_train_on_it(decoder: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"{name}/{number}.jpg" for name in "abc" for number in range(5)])
    settings = {
        "batch_size": 5,
        "decoder": decoder,
        "num_workers": 2,
        "pin_memory": True,
        "persistent_workers": True,
        "precision": "fp16",
        "memory_format": "channels_last",
        "cudnn_benchmark": True,
        "optimizer_kernel": "fused",
    }
    applied = apply(settings, image_model(), f"folder:{folder}", optimizer=sgd, image_size=16)
    assert applied.device.type == "cuda"
    for _ in range(3):
        epoch = list(applied.loader or ())
        assert sorted(labels_of(epoch)) == [0] * 5 + [1] * 5 + [2] * 5
        assert all(images.is_cuda for images, _ in epoch)
        losses = [applied.step(batch) for batch in epoch]
    assert all(loss.isfinite() for loss in losses)
    next(iter(applied.loader or ()))
    assert torch.backends.cudnn.benchmark
    assert "before CUDA starts" in refused({**settings, "expandable_segments": True}, None, device="cuda").message


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_what_cuda_graphs_returned_is_not_written_over(mode: str) -> None:
    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            scores = self.layer(x)
            return {"loss": scores.square().mean(), "logits": scores}

    applied = apply({"batch_size": 5, "compile": mode}, WithLoss(), optimizer=sgd, device="cuda:0")
    for _ in range(3):
        applied.step(torch.randn(5, 6))
        applied.predict(torch.randn(5, 6))
    kept = [(applied.step(batch), applied.predict(batch)["logits"]) for batch in torch.randn(4, 5, 6)]
    told = [(loss.item(), scores.sum().item()) for loss, scores in kept]
    assert len(set(told)) == 4
    for batch in torch.randn(3, 5, 6):
        applied.step(batch)
        applied.predict(batch)
    assert [(loss.item(), scores.sum().item()) for loss, scores in kept] == told
