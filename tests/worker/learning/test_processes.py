"""Several processes that learn together, as torchrun starts them."""

import pytest
import torch

from traindyno.core.codec import decode
from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings
from traindyno.worker.devices import CpuDevice, CudaDevice
from traindyno.worker.learning.processes import ALONE, Processes, device_of, place_of
from traindyno.worker.learning.story import Story
from worker.learning.children import run_together
from worker.learning.small_learners import learnt, run_keeping, spec_of
from worker.learning.test_checkpoints import exact_spec, told

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "localhost"}


def test_a_process_finds_its_place_in_the_environment():
    assert place_of(TORCHRUN) == Processes(rank=3, world_size=8, local_rank=1)


@pytest.mark.parametrize("missing", TORCHRUN)
def test_without_all_of_torchruns_variables_a_process_is_alone(missing):
    assert place_of({name: value for name, value in TORCHRUN.items() if name != missing}) is ALONE


def test_each_process_of_a_machine_has_a_gpu_of_its_own():
    third = Processes(rank=3, world_size=8, local_rank=1)
    assert str(device_of(third, CudaDevice("cuda:0")).torch_device) == "cuda:1"
    assert device_of(third, CpuDevice()).torch_device.type == "cpu"
    assert str(device_of(ALONE, CudaDevice("cuda:2")).torch_device) == "cuda:2"


def test_a_batch_must_be_shared_equally(monkeypatch):
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="a batch of 12 cannot be shared equally by 8 processes"):
        learnt(spec_of("plain", settings=Settings(batch_size=12)))


def test_two_processes_learn_what_one_does_with_the_whole_batch(tmp_path):
    recipe = Recipe(learning_rate=0.1, epochs=3, clip_norm=0.5, label_smoothing=0.1)
    spec = spec_of("plain", recipe, Settings(batch_size=16, accumulation_steps=2))
    alone, weights, _ = run_keeping(spec, tmp_path / "alone")
    results = run_together(spec, tmp_path / "together", processes=2)
    for result in results:
        for name, value in weights.items():
            torch.testing.assert_close(result["weights"][name], value, rtol=1e-4, atol=1e-5)
    stories = [decode(result["story"], Story) for result in results]
    assert told(stories[0]) == told(stories[1])
    for ours, theirs in zip(alone.evaluations, stories[0].evaluations, strict=True):
        assert theirs.loss == pytest.approx(ours.loss, rel=1e-4)
        assert theirs.accuracy == ours.accuracy
        assert theirs.training_loss == pytest.approx(ours.training_loss, rel=1e-4)


def test_processes_that_go_on_together_have_the_same_weights_bit_for_bit(tmp_path):
    spec = exact_spec()
    first, second = run_together(spec, tmp_path / "whole", processes=2)
    assert run_together(spec, tmp_path / "pieces", processes=2, stop_at=8) == [None, None]
    assert sorted(path.name for path in (tmp_path / "pieces").glob("*.pt")) == ["best.pt", "last.pt", "previous.pt"]
    results = run_together(spec, tmp_path / "pieces", processes=2)
    assert decode(results[0]["story"], Story).resumed_from == (6,)
    for result in (second, *results):
        assert all(torch.equal(result["weights"][name], value) for name, value in first["weights"].items())
