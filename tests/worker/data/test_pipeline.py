"""From stored examples to batches: what they hold, by what they are decided, and what bad examples do."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from traindyno.core.loading import Depth
from traindyno.core.records import Settings
from traindyno.worker.data.bad import BadExampleError, SkippedExamples
from traindyno.worker.data.flow import Flow
from traindyno.worker.data.packing import PackedBatch
from traindyno.worker.data.pipeline import Pipeline, TicketRandom
from traindyno.worker.data.pipeline_source import PipelineSource
from traindyno.worker.data.shallow import BytesOnly, PixelsOnly, WholeBytes
from traindyno.worker.errors import LargerThanDataError
from worker.data.known_data import KnownExamples, KnownStream

CPU = torch.device("cpu")


def loader(
    source: PipelineSource, depth: Depth = "examples", skipped: SkippedExamples | None = None, **knobs: Any
) -> Flow:
    knobs = {"batch_size": 4, "num_workers": 2, **knobs}
    return Flow(source.endless(Settings(**knobs), seed=1, skipped=skipped, depth=depth, drawn=None))


def test_a_batch_is_bytes_of_one_size_with_their_labels() -> None:
    batch = Pipeline(KnownExamples(), size=16).batch([3, 7, 5])
    assert (batch.inputs.shape, batch.inputs.dtype) == ((3, 16, 16, 3), torch.uint8)
    assert (batch.labels.tolist(), batch.labels.dtype) == ([3, 7, 5], torch.int64)


def test_a_ticket_brings_the_same_crop_in_any_batch_and_another_in_the_next_epoch() -> None:
    pipeline = Pipeline(KnownExamples(), size=16, seed=5)
    alone = pipeline.batch([7]).inputs[0]
    among_others = pipeline.batch([1, 2, 7]).inputs[2]
    next_epoch = pipeline.batch([12 + 7])
    assert torch.equal(alone, among_others)
    assert next_epoch.labels.tolist() == [7]
    assert not torch.equal(alone, next_epoch.inputs[0])


def test_another_seed_brings_other_crops() -> None:
    first, other = (Pipeline(KnownExamples(), size=16, seed=seed).batch([7]).inputs for seed in (0, 1))
    assert not torch.equal(first, other)


def test_inference_sees_the_same_in_every_epoch() -> None:
    pipeline = Pipeline(KnownExamples(), size=16, mode="infer")
    assert torch.equal(pipeline.batch([7]).inputs, pipeline.batch([12 + 7]).inputs)


def test_a_pipeline_that_has_worked_can_still_travel() -> None:
    pipeline = Pipeline(KnownExamples(), size=16)
    expected = pipeline.batch([2]).inputs
    assert torch.equal(pickle.loads(pickle.dumps(pipeline)).batch([2]).inputs, expected)


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.integers(0, 2**31))
@settings(max_examples=30)
def test_tickets_have_randomness_of_their_own(ticket: int, other: int, seed: int) -> None:
    random = TicketRandom(seed)
    drawn = random.at(ticket).random(4)
    elsewhere = random.at(other).random(4)
    assert np.array_equal(random.at(ticket).random(4), drawn)
    assert (ticket == other) == bool(np.array_equal(drawn, elsewhere))


def test_reading_alone_hands_over_how_much_was_read() -> None:
    examples = KnownExamples()
    batch = BytesOnly(examples, size=16).batch([0, 1])
    assert batch.inputs.tolist() == [len(examples.fetch(0).content), len(examples.fetch(1).content)]


def test_of_stored_pixels_reading_alone_copies_the_crop_and_warming_up_all() -> None:
    examples = KnownExamples(as_pixels=True, augmentation="crop")
    for kind in (BytesOnly, PixelsOnly):
        assert kind(examples, size=16).batch([0]).inputs.tolist() == [16 * 16 * 3]
    assert WholeBytes(examples, size=16).batch([0]).inputs.tolist() == [24 * 32 * 3]


def test_decoding_alone_refuses_what_is_no_image_and_hands_over_next_to_nothing() -> None:
    batch = PixelsOnly(KnownExamples(), size=16).batch([0, 1])
    assert batch.inputs.shape == (2,)
    with pytest.raises(BadExampleError, match="image 1 cannot be used"):
        PixelsOnly(KnownExamples(bad=(1,)), size=16).batch([0, 1])


def test_for_the_gpu_the_bytes_of_a_batch_are_packed_into_one_tensor() -> None:
    examples = KnownExamples()
    with loader(PipelineSource(examples, 16, "train"), decoder="nvjpeg") as flow:
        _, batch = flow.start()
    assert isinstance(batch.inputs, PackedBatch)
    stored = [examples.fetch(index).content for index in batch.labels.tolist()]
    assert batch.inputs.content.numpy().tobytes() == b"".join(stored)  # type: ignore[arg-type]


def test_two_workers_deliver_every_example_of_an_epoch_once() -> None:
    with loader(PipelineSource(KnownExamples(), 16, "train")) as flow:
        batches = [flow.start()[1], flow.take(), flow.take()]
    assert sorted(torch.cat([batch.labels for batch in batches]).tolist()) == list(range(12))


def test_two_workers_share_a_stream_and_tell_how_long_its_buffer_took_to_fill() -> None:
    with loader(PipelineSource(KnownStream(fill_seconds=0.05), 16, "train"), batch_size=3) as flow:
        first, second, third, fourth = flow.start()[1], flow.take(), flow.take(), flow.take()
    assert sorted(torch.cat([batch.labels for batch in (first, second, third, fourth)]).tolist()) == list(range(12))
    assert min(first.fill_seconds, second.fill_seconds) >= 0.05
    assert third.fill_seconds is None


def test_a_stream_shorter_than_its_buffer_is_remarked() -> None:
    source = PipelineSource(KnownStream(), 16, "train")
    loader(source).close()
    assert "shuffle buffer of 4" in source.notes[0]
    assert source.notes[0].endswith("one at the start of each epoch, of which a trial may time none")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_bad_image_is_named_with_a_way_out_whichever_process_met_it(workers: int) -> None:
    source = PipelineSource(KnownExamples(bad=(5,)), 16, "train")
    with loader(source, num_workers=workers, batch_size=12) as flow, pytest.raises(BadExampleError) as raised:
        flow.start()
    assert "image 5 cannot be used" in raised.value.message
    assert "--skip-bad" in str(raised.value.hint)


def test_bad_images_are_replaced_and_counted_across_workers_if_that_is_wanted() -> None:
    source = PipelineSource(KnownExamples(bad=(5, 9)), 16, "train")
    with SkippedExamples() as skipped, loader(source, skipped=skipped) as flow:
        labels = torch.cat([flow.start()[1].labels, *(flow.take().labels for _ in range(5))]).tolist()
        assert (skipped.count, sorted(skipped.names)) == (2, ["image 5", "image 9"])
    assert len(labels) == 24
    assert not {5, 9} & set(labels)


def test_a_resident_batch_is_what_the_model_takes() -> None:
    images, labels = PipelineSource(KnownExamples(), 16, "train").batch(5, CPU, seed=3)
    assert (images.shape, images.dtype) == ((5, 3, 16, 16), torch.float32)
    assert images.mean().abs() < 3
    assert len(set(labels.tolist())) == 5


def test_a_resident_batch_tells_of_bad_images_left_out() -> None:
    source = PipelineSource(KnownExamples(bad=(5,)), 16, "train", skip_bad=True)
    source.batch(12, CPU, seed=3)
    assert "1 bad example" in source.notes[0]
    assert "image 5" in source.notes[0]


@pytest.mark.parametrize("data", [KnownExamples(), KnownStream()])
def test_a_batch_larger_than_the_data_is_refused(data: Any) -> None:
    source = PipelineSource(data, 16, "train")
    with pytest.raises(LargerThanDataError, match="12 examples"):
        source.batch(13, CPU, seed=0)
    with pytest.raises(LargerThanDataError, match="12 examples"):
        loader(source, batch_size=13)
