"""Adopted switches as the lines of Python that they stand for."""

from collections.abc import Callable
from typing import Any

TF32_OF = {"all": (True, True), "convolutions": (True, False), "none": (False, False)}
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
KERNELS = {"fused": "fused=True", "foreach": "foreach=True", "loop": "foreach=False, fused=False", "auto": ""}


def switch_code(switches: dict[str, Any], device: str | None) -> str:
    """What to write into a training script, in the order in which it must stand there."""
    lines = [line for name, write in _WRITERS.items() if name in switches for line in write(switches[name])]
    if switches.get("precision") in DTYPES:
        lines += _autocast(switches["precision"], "cpu" if device == "cpu" else "cuda")
    elif "precision" in switches:
        lines.append("# without torch.autocast")
    return "\n".join(lines)


def _autocast(precision: str, device: str) -> list[str]:
    lines = [f'with torch.autocast("{device}", dtype=torch.{DTYPES[precision]}):', "    loss = criterion(model(x), y)"]
    return (
        [*lines, "scaler.scale(loss).backward()  # scaler = torch.amp.GradScaler()"] if precision == "fp16" else lines
    )


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


def _compile(value: str) -> list[str]:
    if value == "none":
        return ["# without torch.compile"]
    return [f"model = torch.compile(model{'' if value == 'default' else f', mode={value!r}'})".replace("'", '"')]


_WRITERS: dict[str, Callable[[Any], list[str]]] = {
    "expandable_segments": lambda value: [
        f'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:{value}"  # before torch touches the GPU'
    ],
    "cudnn_benchmark": lambda value: [f"torch.backends.cudnn.benchmark = {value}"],
    "tf32": _tf32,
    "threads": lambda value: [f"torch.set_num_threads({value})"],
    "memory_format": _memory_format,
    "compile": _compile,
    "optimizer_kernel": lambda value: [f"optimizer = Optimizer(model.parameters(), {KERNELS[value]})"],
    "pin_memory": lambda value: [f"loader = DataLoader(dataset, pin_memory={value})"],
}
