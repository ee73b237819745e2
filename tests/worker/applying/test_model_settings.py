"""Precision, layout, accumulation and the like hold in the steps that `traindyno.apply` sets up."""

import pytest
import torch
from torch.utils.data import DataLoader

from traindyno.worker.applying import apply
from traindyno.worker.knobs.checkpointing import TWICE
from worker.applying.small_trainings import image_model, images, numbers, on_cpu, sgd, small_model


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
