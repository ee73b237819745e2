"""Code that a report offers runs as it stands, and does what the settings say."""

import copy
import re
import sys
import types
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from traindyno.core.loading import Decoder
from traindyno.core.records import (
    CompileMode,
    Determinism,
    Mode,
    OptimizerKernel,
    OptimizerName,
    Precision,
    Settings,
    Tf32,
)
from traindyno.core.records import WorkloadSpec as Workload
from traindyno.core.setups import Setup
from traindyno.report.find_code import find_code
from worker.data.tiny_sets import write_folder

BATCH = 8
NAMED = Workload(model="torchvision:resnet50")
PLAIN = Settings(batch_size=BATCH)
SETTINGS = st.builds(
    Settings,
    batch_size=st.just(64),
    precision=st.sampled_from(get_args(Precision)),
    device=st.sampled_from(["cpu", "cuda:1", "simulated"]),
    num_workers=st.integers(0, 64),
    pin_memory=st.booleans(),
    decoder=st.sampled_from(get_args(Decoder)),
    memory_format=st.sampled_from(["contiguous", "channels_last"]),
    compile=st.sampled_from(get_args(CompileMode)),
    cudnn_benchmark=st.booleans(),
    determinism=st.sampled_from(get_args(Determinism)),
    tf32=st.sampled_from(get_args(Tf32)),
    optimizer_kernel=st.sampled_from(get_args(OptimizerKernel)),
    accumulation_steps=st.sampled_from([1, 4]),
    activation_checkpointing=st.booleans(),
    expandable_segments=st.booleans(),
    read_metrics=st.booleans(),
    threads=st.none() | st.integers(1, 64),
)
SETUPS = st.builds(Setup, data=st.sampled_from(["synthetic:", "folder:/a"]) | st.text(), settings=SETTINGS)
WORKLOADS = st.builds(
    Workload,
    model=st.sampled_from(["torchvision:resnet50", "job.py:make"]),
    mode=st.sampled_from(get_args(Mode)),
    optimizer=st.sampled_from(get_args(OptimizerName)),
    image_size=st.none() | st.just(96),
)


def code(title: str, settings: Settings, data: str = "synthetic:", **workload: Any) -> str:
    setup = Setup(data=data, settings=settings)
    spec = msgspec.structs.replace(NAMED, data=data, **workload)
    return {each.title: each.text for each in find_code(setup, Setup(data=data, settings=PLAIN), spec)}[title]


def tiny_model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


def examples() -> TensorDataset:
    """One batch, so that an epoch is the same in whatever order."""
    generator = torch.Generator().manual_seed(1)
    return TensorDataset(torch.randn(BATCH, 3, 8, 8, generator=generator), torch.arange(BATCH) % 3)


def trained(text: str, **more: Any) -> dict[str, torch.Tensor]:
    """The weights after the code has run."""
    bound = {
        "model": tiny_model(),
        "dataset": examples(),
        "criterion": nn.CrossEntropyLoss(),
        "learning_rate": 0.1,
        "epochs": 3,
        **more,
    }
    exec(compile(text, "snippet", "exec"), bound)
    state: dict[str, torch.Tensor] = bound["model"].state_dict()
    return state


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stand-ins for Lightning and accelerate that write down what they are given."""
    given: dict[str, Any] = {}

    class Trainer:
        def __init__(self, **arguments: Any) -> None:
            given["Trainer"] = arguments

        def fit(self, module: Any, loader: Any) -> None:
            given["fit"] = module, loader

        predict = fit

    class Accelerator:
        def __init__(self, **arguments: Any) -> None:
            given["Accelerator"] = arguments

        def prepare(self, *parts: Any) -> Any:
            return parts if len(parts) > 1 else parts[0]

        def backward(self, loss: torch.Tensor) -> None:
            loss.backward()

        def accumulate(self, model: nn.Module) -> Any:
            given["accumulate"] = True
            return torch.enable_grad()

    for name, content in {
        "lightning": {},
        "lightning.pytorch": {"Trainer": Trainer},
        "accelerate": {"Accelerator": Accelerator},
        "accelerate.utils": {"DataLoaderConfiguration": dict, "TorchDynamoPlugin": dict},
    }.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return given


@given(SETUPS, SETUPS, WORKLOADS)
def test_every_snippet_is_python(setup: Setup, baseline: Setup, workload: Workload) -> None:
    snippets = find_code(setup, baseline, workload)
    titles = ["PyTorch", "traindyno.apply", "Lightning", "accelerate"]
    assert [each.title for each in snippets] == [each for each in titles if workload.mode == "train" or "." not in each]
    for snippet in snippets:
        compile(snippet.text, snippet.title, "exec")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"accumulation_steps": 4},
        {"memory_format": "channels_last", "num_workers": 1, "persistent_workers": True},
        {"optimizer_kernel": "fused"},
        {"precision": "bf16", "read_metrics": True},
        {"precision": "fp16"},
    ],
)
def test_plain_code_and_apply_train_to_the_same_weights(changes: dict[str, Any]) -> None:
    settings = msgspec.structs.replace(PLAIN, **changes)
    plain, applied = (trained(code(title, settings)) for title in ("PyTorch", "traindyno.apply"))
    assert not torch.equal(plain["0.weight"], tiny_model().state_dict()["0.weight"])
    for name, weight in plain.items():
        torch.testing.assert_close(weight, applied[name], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("optimizer", get_args(OptimizerName))
def test_each_optimiser_is_written_with_its_class(optimizer: OptimizerName) -> None:
    named = trained(code("PyTorch", PLAIN, optimizer=optimizer))
    own = trained(code("PyTorch", PLAIN, model="job.py:make"), Optimizer=torch.optim.Adagrad)
    before = tiny_model().state_dict()["0.weight"]
    assert not any(torch.equal(weights["0.weight"], before) for weights in (named, own))


def test_inference_runs_without_loss_and_gradients() -> None:
    settings = msgspec.structs.replace(PLAIN, precision="bf16", memory_format="channels_last")
    text = code("PyTorch", settings, mode="infer")
    bound: dict[str, Any] = {"model": tiny_model(), "dataset": examples()}
    exec(compile(text, "snippet", "exec"), bound)
    assert bound["output"].shape == (BATCH, 3)
    assert bound["output"].is_inference()


@pytest.mark.parametrize("title", ["PyTorch", "traindyno.apply"])
def test_data_that_only_traindyno_reads_needs_no_dataset(title: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "it's a set", [f"{name}/{number}.jpg" for name in "abc" for number in range(4)])
    settings = msgspec.structs.replace(PLAIN, decoder="torchvision")
    text = code(title, settings, data=f"folder:{folder}", image_size=8)
    weights = trained(text, dataset=None)
    assert not torch.equal(weights["0.weight"], tiny_model().state_dict()["0.weight"])


@pytest.mark.parametrize("title", ["PyTorch", "traindyno.apply"])
def test_bad_examples_are_left_out_as_in_the_trials(title: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [f"{name}/{number}.jpg" for name in "abc" for number in range(4)])
    (folder / "a" / "1.jpg").write_bytes(b"no image")
    settings = msgspec.structs.replace(PLAIN, decoder="torchvision")
    weights = trained(code(title, settings, data=f"folder:{folder}", image_size=8, skip_bad=True), dataset=None)
    assert not torch.equal(weights["0.weight"], tiny_model().state_dict()["0.weight"])


def test_what_data_by_name_takes_is_not_told_of_a_dataset() -> None:
    text = code("traindyno.apply", PLAIN, image_size=8)
    assert "image_size" not in text
    trained(text)


def test_a_loader_given_as_dataset_gets_the_workers_that_were_found() -> None:
    own = DataLoader(examples(), batch_size=2, num_workers=1, pin_memory=True)
    bound: dict[str, Any] = {"model": tiny_model(), "dataset": own, "learning_rate": 0.1, "epochs": 1}
    exec(code("traindyno.apply", PLAIN), bound)
    assert bound["applied"].settings == PLAIN


def test_a_loader_given_as_dataset_keeps_what_is_the_user_s_own() -> None:
    text = code("traindyno.apply", PLAIN, model="job.py:make")
    assert "dataset may be your own DataLoader" in text
    seen: list[int] = []

    def collate(items: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
        seen.append(len(items))
        return torch.stack([x for x, _ in items]), torch.stack([y for _, y in items])

    own = DataLoader(examples(), batch_size=2, sampler=[0] * BATCH, collate_fn=collate)
    bound: dict[str, Any] = {"model": tiny_model(), "dataset": own, "learning_rate": 0.1, "epochs": 1}
    exec(text, {**bound, "criterion": nn.CrossEntropyLoss(), "Optimizer": torch.optim.SGD}, bound)
    assert seen == [BATCH]
    assert torch.equal(bound["batch"][1], torch.zeros(BATCH, dtype=torch.int64))


@pytest.mark.parametrize("title", ["PyTorch", "Lightning", "accelerate"])
def test_own_data_are_told_to_need_what_their_loader_has(title: str) -> None:
    own = code(title, PLAIN, model="job.py:make").splitlines()
    made = next(number for number, line in enumerate(own) if line.startswith("loader = DataLoader("))
    assert own[made - 2] == "# Give it the collate_fn, sampler and worker_init_fn of your own DataLoader too."
    assert own[made - 1] == "# A sampler or a stream (IterableDataset) takes no shuffle: leave that away."
    assert "dataset (with the collate_fn, sampler and worker_init_fn of your DataLoader)" in own[0]
    assert "shuffle" not in " ".join(_commented(code(title, PLAIN, model="job.py:make", mode="infer")))


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("title", ["PyTorch", "accelerate"])
def test_a_loop_over_own_data_tells_what_its_batches_may_be(title: str, mode: str) -> None:
    own = code(title, PLAIN, model="job.py:make", mode=mode).splitlines()
    loop = next(number for number, line in enumerate(own) if line.startswith(("for epoch", "with torch.inference")))
    assert (
        own[loop - 1] == "# Batches that are no pairs (x, y) are taken apart as your own loop or training_step does it."
    )
    assert "no pairs" not in code(title, PLAIN, model="job.py:make", mode=mode, data="folder:/a")


@pytest.mark.parametrize("title", ["PyTorch", "traindyno.apply", "Lightning", "accelerate"])
@pytest.mark.parametrize(("model", "data"), [("torchvision:resnet50", "synthetic:"), ("job.py:make", "folder:/a")])
def test_other_data_have_no_loader_to_be_kept(title: str, model: str, data: str) -> None:
    assert not any("worker_init_fn" in line for line in _commented(code(title, PLAIN, model=model, data=data)))


def _commented(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def test_a_loss_of_the_user_s_own_is_applied() -> None:
    asked: list[torch.Tensor] = []

    def criterion(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        asked.append(target)
        return output.square().mean()

    text = code("traindyno.apply", PLAIN, model="job.py:make")
    trained(text, criterion=criterion, Optimizer=torch.optim.SGD)
    assert len(asked) == 3
    assert "criterion" in text.splitlines()[0]
    assert "training_step=..." in text


def test_the_value_of_a_loss_in_parts_is_that_of_the_whole_batch() -> None:
    values = []
    for parts in (1, 4):
        settings = msgspec.structs.replace(PLAIN, read_metrics=True, accumulation_steps=parts)
        bound = {"model": tiny_model(), "dataset": examples(), "criterion": nn.CrossEntropyLoss()}
        bound |= {"learning_rate": 0.1, "epochs": 1}
        exec(code("PyTorch", settings), bound)
        values.append(bound["loss_value"])
    assert values[1] == pytest.approx(values[0], rel=1e-5)


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        ("folder:/a", True),
        ("shards:/a", True),
        ("memory:folder:/a", True),
        ("prepared:/a", False),
        ("cifar10:/a", False),
        ("memory:prepared:/a", False),
    ],
)
@pytest.mark.parametrize("title", ["PyTorch", "Lightning", "accelerate"])
def test_a_decoder_is_named_where_one_runs(title: str, data: str, decoded: bool) -> None:
    assert ("decoded by pil" in code(title, PLAIN, data=data)) == decoded


@pytest.mark.parametrize("title", ["PyTorch", "traindyno.apply", "Lightning", "accelerate"])
def test_whatever_the_code_takes_for_given_is_listed_first(title: str) -> None:
    settings = msgspec.structs.replace(PLAIN, optimizer_kernel="fused")
    for model in ("job.py:make", "torchvision:resnet50"):
        first, *others = code(title, settings, model=model).splitlines()
        for name in ("Optimizer", "learning_rate", "criterion", "epochs", "dataset"):
            used = any(name in re.findall(r"\w+", line) for line in others)
            assert used == (name in re.findall(r"\w+", first)), name


def test_checkpointing_is_described_as_it_was_measured() -> None:
    settings = msgspec.structs.replace(PLAIN, activation_checkpointing=True)
    for title in ("PyTorch", "Lightning", "accelerate"):
        assert "every outermost row (nn.Sequential, nn.ModuleList)" in code(title, settings)


def test_a_baseline_s_flags_are_turned_back() -> None:
    before = Setup(data="synthetic:", settings=msgspec.structs.replace(PLAIN, device="cuda:0", cudnn_benchmark=True))
    after = msgspec.structs.replace(before, settings=msgspec.structs.replace(PLAIN, device="cuda:0"))
    torch_text, _, lightning, _ = (each.text for each in find_code(after, before, NAMED))
    assert "torch.backends.cudnn.benchmark = False" in torch_text
    assert "benchmark=False" in lightning


def test_lightning_is_given_what_differs_from_its_defaults(frameworks: dict[str, Any]) -> None:
    bound = {"module": tiny_model(), "dataset": examples(), "epochs": 3}
    exec(code("Lightning", msgspec.structs.replace(PLAIN, device="cuda:0")), copy.copy(bound))
    assert frameworks["Trainer"] == {"max_epochs": 3, "devices": 1}
    tuned = msgspec.structs.replace(
        PLAIN,
        precision="bf16",
        accumulation_steps=2,
        cudnn_benchmark=True,
        determinism="all",
        memory_format="channels_last",
        optimizer_kernel="fused",
        compile="max-autotune",
    )
    text = code("Lightning", tuned)
    exec(text, bound)
    assert frameworks["Trainer"] == {
        "max_epochs": 3,
        "accelerator": "cpu",
        "precision": "bf16-mixed",
        "accumulate_grad_batches": 2,
        "benchmark": True,
        "deterministic": True,
    }
    assert frameworks["fit"][1].batch_size == BATCH // 2
    assert "# In training_step: x = x.to(memory_format=torch.channels_last)" in text.splitlines()
    assert "# In configure_optimizers: return torch.optim.SGD(self.parameters(), lr=learning_rate" in text
    assert "os.environ" not in text


def test_accelerate_is_given_what_differs_from_its_defaults(frameworks: dict[str, Any]) -> None:
    plain = trained(code("PyTorch", PLAIN))
    assert torch.equal(trained(code("accelerate", PLAIN))["0.weight"], plain["0.weight"])
    assert frameworks["Accelerator"] == {"cpu": True}
    tuned = msgspec.structs.replace(
        PLAIN, precision="bf16", accumulation_steps=2, pin_memory=True, compile="reduce-overhead", device="cuda:0"
    )
    trained(code("accelerate", tuned))
    assert frameworks["Accelerator"] == {
        "mixed_precision": "bf16",
        "gradient_accumulation_steps": 2,
        "dataloader_config": {"non_blocking": True},
        "dynamo_plugin": {"backend": "inductor", "mode": "reduce-overhead", "dynamic": False},
    }
    assert frameworks["accumulate"]


def test_fp16_on_a_cpu_is_told_where_a_framework_does_not_have_it() -> None:
    settings = msgspec.structs.replace(PLAIN, precision="fp16")
    assert "# Lightning computes fp16 on a CPU as bf16." in code("Lightning", settings).splitlines()
    assert "# accelerate computes fp16 on a CPU as fp32." in code("accelerate", settings).splitlines()


@pytest.mark.parametrize("title", ["PyTorch", "Lightning", "accelerate"])
def test_queues_for_a_gpu_that_decodes_are_there_before_anything_can_start_cuda(title: str) -> None:
    setup = Setup(data="folder:/a", settings=msgspec.structs.replace(PLAIN, device="cuda:0", decoder="nvjpeg"))
    text = next(each.text for each in find_code(setup, setup, NAMED) if each.title == title)
    code = [line for line in text.splitlines() if line and not line.startswith(("#", "import", "from"))]
    assert code[0] == 'os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")'
    assert "import os" in text
