"""A batch's bytes travel as one tensor, and what nvJPEG cannot decode travels finished."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from traindyno.worker.data.augment import CropBox, augment, choose_crop
from traindyno.worker.data.bad import UndecodableError
from traindyno.worker.data.decoders.pil import decode_pil
from traindyno.worker.data.packing import Jpeg, PackedBatch, Parcel, examine, pack, wrap
from traindyno.worker.data.stored import Pixels, Stored
from worker.data.pictures import encoded, picture

SIZE = 16


def _stored(content: bytes | Pixels, name: str = "a.jpg") -> Stored:
    return Stored(content, 3, name)


def _wrapped(content: bytes | Pixels, name: str = "a.jpg", seed: int = 0) -> Parcel:
    return wrap(examine(_stored(content, name)), "resized_crop", SIZE, "train", np.random.default_rng(seed))


def _content(batch: PackedBatch) -> list[bytes]:
    return [part.numpy().tobytes() for part in torch.split(batch.content, batch.lengths.tolist())]


def test_a_jpeg_is_left_as_it_is_and_its_part_chosen_by_the_law_of_the_host() -> None:
    content = encoded(picture(40, 60))
    assert examine(_stored(content)) == Jpeg(content, 40, 60, "a.jpg")
    parcel = _wrapped(content, seed=7)
    assert parcel.content.tobytes() == content
    assert not parcel.finished
    assert parcel.box == choose_crop(40, 60, "resized_crop", SIZE, "train", np.random.default_rng(7))


@pytest.mark.parametrize("options", [{"kind": "PNG"}, {"mode": "CMYK"}, {"keep_rgb": True}])
def test_what_nvjpeg_cannot_decode_is_finished_on_the_host(options: dict[str, str]) -> None:
    content = encoded(picture(40, 60), **options)
    parcel = _wrapped(content, seed=7)
    expected = augment(decode_pil(content), "resized_crop", SIZE, "train", np.random.default_rng(7))
    assert parcel.finished
    assert parcel.box == CropBox(0, 0, SIZE, SIZE)
    assert np.array_equal(parcel.content.reshape(3, SIZE, SIZE).transpose(1, 2, 0), expected)


def test_pixels_are_finished_on_the_host_too() -> None:
    pixels = picture(SIZE, SIZE)
    parcel = wrap(examine(_stored(pixels)), "padded_crop", SIZE, "infer", np.random.default_rng(0))
    assert parcel.finished
    assert np.array_equal(parcel.content.reshape(3, SIZE, SIZE).transpose(1, 2, 0), pixels)


def test_a_truncated_jpeg_is_refused_before_it_gets_to_the_gpu() -> None:
    with pytest.raises(UndecodableError):
        examine(_stored(encoded(picture(40, 60))[:-30]))


def test_a_batch_keeps_the_order_the_bytes_and_the_labels() -> None:
    jpegs = [encoded(picture(20 + i, 30)) for i in range(3)]
    parcels = [_wrapped(content, f"{i}.jpg") for i, content in enumerate(jpegs)]
    parcels.insert(1, _wrapped(picture(9, 9)))
    batch = pack(parcels, [4, 5, 6, 7])
    assert len(batch) == 4
    assert _content(batch) == [jpegs[0], parcels[1].content.tobytes(), *jpegs[1:]]
    assert batch.boxes.tolist() == [[*map(int, parcel.box)] for parcel in parcels]
    assert batch.finished.tolist() == [False, True, False, False]
    assert batch.labels.tolist() == [4, 5, 6, 7]
    assert batch.names == ("0.jpg", "", "1.jpg", "2.jpg")


class _Jpegs(Dataset[Parcel]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Parcel:
        return _wrapped(encoded(picture(20 + index, 30)), f"{index}.jpg")


def _pack_all(parcels: list[Parcel]) -> PackedBatch:
    return pack(parcels, range(len(parcels)))


def test_batches_of_a_loader_worker_arrive_whole_in_shared_memory_and_few_files() -> None:
    before = _open_files()
    batches = list(DataLoader(_Jpegs(), batch_size=32, collate_fn=_pack_all, num_workers=1))
    assert _open_files() - before <= 2 * 8
    for number, batch in enumerate(batches):
        assert batch.content.is_shared()
        assert _content(batch) == [encoded(picture(20 + 32 * number + i, 30)) for i in range(32)]
        assert batch.labels.tolist() == list(range(32))


def _open_files() -> int:
    gc.collect()
    return len(os.listdir(Path("/proc/self/fd")))


@pytest.mark.gpu
def test_a_loader_pins_the_batch() -> None:
    loader = DataLoader(_Jpegs(), batch_size=32, collate_fn=_pack_all, num_workers=1, pin_memory=True)
    for batch in loader:
        assert batch.content.is_pinned()
        assert batch.boxes.is_pinned()
        assert batch.labels.is_pinned()
        assert len(_content(batch)) == 32
