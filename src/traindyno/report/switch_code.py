"""Adopted switches as the lines of Python that they stand for."""

import re
from collections.abc import Callable
from typing import Any

FLAGS = ("expandable_segments", "determinism", "cudnn_benchmark", "tf32", "threads")
"""Settings that hold for the whole process; their lines stand before all else."""
TF32_OF = {"all": (True, True), "convolutions": (True, False), "none": (False, False)}
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
KERNELS = {"fused": ", fused=True", "foreach": ", foreach=True", "loop": ", foreach=False, fused=False", "auto": ""}
STAND_FOR = {
    "device": "your device",
    "x": "a batch of inputs",
    "y": "its labels",
    "criterion": "your loss function",
    "Optimizer": "your optimiser's class, with its own arguments",
    "optimizer": "your optimiser",
}


def switch_code(switches: dict[str, Any], device: str | None, *, training: bool = True) -> str:
    """What to write into a training script, in the order in which it must stand there."""
    scales = training and switches.get("precision") == "fp16"
    lines = ["scaler = torch.amp.GradScaler()  # once, before the loop"] if scales else []
    lines += lines_of(switches)
    if switches.get("precision") in DTYPES:
        autocast = autocast_text(switches["precision"], "cpu" if device == "cpu" else "cuda")
        lines += _training(switches["precision"], autocast) if training else _inference(autocast)
    elif "precision" in switches:
        lines.append("# without torch.autocast")
    return "\n".join([*_legend(lines), *lines])


def lines_of(switches: dict[str, Any]) -> list[str]:
    """The lines of those switches that have some of their own; what is null stays as torch has it."""
    known = {name: write for name, write in _WRITERS.items() if switches.get(name) is not None}
    return [line for name, write in known.items() for line in write(switches[name])]


def autocast_text(precision: str, device: str) -> str:
    return f'torch.autocast("{device}", dtype=torch.{DTYPES[precision]})'


def _legend(lines: list[str]) -> list[str]:
    """A comment that says what the names stand for which the lines use and have not made before."""
    used, made = set[str](), set[str]()
    for line in lines:
        code = line.partition("#")[0]
        target, _, value = code.rpartition(" = ")
        used |= set(re.findall(r"\w+", value)) - made
        made.add(target)
    told = [f"{name}: {what}" for name, what in STAND_FOR.items() if name in used]
    return [f"# {'; '.join(told)}"] if told else []


def _training(precision: str, autocast: str) -> list[str]:
    """The loss; in fp16 it is scaled, or small gradients would be lost."""
    loss = [f"with {autocast}:", "    loss = criterion(model(x), y)"]
    if precision != "fp16":
        return [*loss, "loss.backward()"]
    step = ["scaler.scale(loss).backward()", "scaler.step(optimizer)  # instead of optimizer.step()", "scaler.update()"]
    return [*loss, *step]


def _inference(autocast: str) -> list[str]:
    return [f"with torch.inference_mode(), {autocast}:", "    output = model(x)"]


def _determinism(value: str) -> list[str]:
    cublas = ['os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before torch touches the GPU']
    everywhere = [f"torch.use_deterministic_algorithms({value == 'all'})"]
    cudnn = [f"torch.backends.cudnn.deterministic = {value != 'none'}"]
    return [*(cublas if value == "all" else []), *cudnn, *(everywhere if value != "cudnn" else [])]


def _tf32(value: str) -> list[str]:
    convolutions, products = TF32_OF[value]
    return [
        f"torch.backends.cudnn.allow_tf32 = {convolutions}",
        f"torch.backends.cuda.matmul.allow_tf32 = {products}",
    ]


def _memory_format(value: str) -> list[str]:
    name = "channels_last" if value == "channels_last" else "contiguous_format"
    return [
        f"model = model.to(memory_format=torch.{name})",
        f"x = x.to(device, memory_format=torch.{name}, non_blocking=True)",
    ]


def _optimizer(value: str) -> list[str]:
    why = "  # without fused and foreach: torch chooses" if value == "auto" else ""
    return [f"optimizer = Optimizer(model.parameters(){KERNELS[value]}){why}"]


def _compile(value: str) -> list[str]:
    if value == "none":
        return ["# without torch.compile"]
    return [f"model = torch.compile(model{'' if value == 'default' else f', mode={value!r}'})".replace("'", '"')]


_WRITERS: dict[str, Callable[[Any], list[str]]] = {
    "expandable_segments": lambda value: [
        f'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:{value}"  # before torch touches the GPU'
    ],
    "determinism": _determinism,
    "cudnn_benchmark": lambda value: [f"torch.backends.cudnn.benchmark = {value}"],
    "tf32": _tf32,
    "threads": lambda value: [f"torch.set_num_threads({value})"],
    "memory_format": _memory_format,
    "compile": _compile,
    "optimizer_kernel": _optimizer,
    "pin_memory": lambda value: [f"loader = DataLoader(dataset, pin_memory={value})"],
}
