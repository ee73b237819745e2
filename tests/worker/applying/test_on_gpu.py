"""What `traindyno.apply` sets up trains on a GPU, with the settings that matter there alone."""

from pathlib import Path

import pytest
import torch
from torch import nn

from traindyno.worker.applying import apply
from worker.applying.small_trainings import image_model, labels_of, refused, sgd
from worker.data.tiny_sets import write_folder


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
