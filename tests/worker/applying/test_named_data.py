"""`traindyno.apply` loads data by name: the images, their size, and what to leave out."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from traindyno.core.errors import TraindynoError
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.settings_file import format_settings_file
from traindyno.core.setups import SettingsFile
from traindyno.worker.applied_loading import open_applied
from traindyno.worker.applying import apply
from traindyno.worker.data import gpu_decode
from worker.applying.small_trainings import EXAMPLES, image_model, labels_of, numbers, on_cpu, refused, sgd
from worker.data.prepared_sets import prepare
from worker.data.tiny_sets import write_folder, write_shards

SKIPPING = WorkloadSpec(model="", skip_bad=True)


def test_a_stream_goes_on_where_the_last_epoch_ended(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, shards=2, examples_each=10)
    loader = on_cpu(None, f"shards:{shards}/shard-{{000..001}}.tar").loader
    assert loader is not None
    epochs = [torch.cat([inputs for inputs, _ in loader]) for _ in range(2)]
    assert [len(epoch) for epoch in epochs] == [EXAMPLES, EXAMPLES]
    assert not torch.equal(epochs[0], epochs[1])


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
