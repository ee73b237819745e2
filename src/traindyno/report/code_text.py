"""Pieces of Python that several snippets are made of: calls, the loader, the optimiser."""

from collections.abc import Sequence
from typing import Any

import msgspec

from traindyno.core.loading import GPU_DECODER
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.setups import Setup
from traindyno.report.switch_code import FLAGS, KERNELS, lines_of

WIDTH = 100
ENCODED = ("folder", "shards")
"""Sources of images that must be decoded; others hold pixels."""
OPTIMIZERS = {
    "sgd": ("torch.optim.SGD", ", momentum=0.9"),
    "adam": ("torch.optim.Adam", ""),
    "adamw": ("torch.optim.AdamW", ""),
}
LOADING = (
    "batch_size",
    "num_workers",
    "prefetch_factor",
    "pin_memory",
    "persistent_workers",
    "decoder",
    "memory_format",
)
OF_A_LOADER = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers")
"""What `traindyno.apply` takes from a user's `DataLoader` where the settings do not name it."""
QUEUES_TO_DECODE = (
    "# Before CUDA starts: with fewer queues the GPU decodes and computes by turns.",
    'os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")',
)
OWN_LOADER = ("# Give it the collate_fn, sampler and worker_init_fn of your own DataLoader too.",)
OWN_ORDER = ("# A sampler or a stream (IterableDataset) takes no shuffle: leave that away.",)
OWN_BATCHES = ("# Batches that are no pairs (x, y) are taken apart as your own loop or training_step does it.",)
CHECKPOINTING = (
    "# Activation checkpointing: in the model's forward, write torch.utils.checkpoint.checkpoint(block, x,",
    "# use_reentrant=False) for block(x), for each block of every outermost row (nn.Sequential, nn.ModuleList)",
    "# that does not work in place.",
)


def call_lines(head: str, arguments: Sequence[str]) -> list[str]:
    """A call on one line, or with an argument on each where it is long."""
    line = f"{head}({', '.join(arguments)})"
    return [line] if len(line) <= WIDTH else [f"{head}(", *(f"    {argument}," for argument in arguments), ")"]


def indented(lines: Sequence[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]


def device_of(settings: Settings) -> str:
    """`cpu` or `cuda`; which of several GPUs it was does not matter."""
    return "cpu" if settings.device.partition(":")[0] == "cpu" else "cuda"


def flag_lines(settings: Settings, baseline: Settings, *, but: Sequence[str] = ()) -> list[str]:
    """What holds for the process, as far as it is not torch's default or not what the baseline had."""
    plain = Settings(batch_size=1)
    told = {name: getattr(settings, name) for name in FLAGS if name not in but}
    wanted = {
        name: value for name, value in told.items() if value != getattr(plain, name) or value != getattr(baseline, name)
    }
    return [*(QUEUES_TO_DECODE if settings.decoder == GPU_DECODER else ()), *lines_of(wanted)]


def is_named(setup: Setup) -> bool:
    """Whether the examples come by a name such as `folder:PATH`, and not from a dataset of the user's."""
    return setup.data.partition(":")[0] not in ("synthetic", "")


def read_by_us(setup: Setup, workload: WorkloadSpec) -> bool:
    """Whether no dataset but ours reads the examples so: from a store of ours, or by a decoder of our choice."""
    only_by_us = not setup.data.startswith("folder:") or setup.settings.decoder != "pil"
    return is_named(setup) and workload.mode == "train" and only_by_us


def brings_own_data(setup: Setup, workload: WorkloadSpec) -> bool:
    """Whether the examples come from the user's file, whose `DataLoader` may have more than is known here."""
    return workload.runs_user_code and not is_named(setup)


def own_dataset(setup: Setup, workload: WorkloadSpec) -> list[str]:
    """The dataset that the user must give to a `DataLoader` of the code, if any, with what goes with it."""
    if read_by_us(setup, workload):
        return []
    own = " (with the collate_fn, sampler and worker_init_fn of your DataLoader)"
    return [f"dataset{own if brings_own_data(setup, workload) else ''}"]


def own_loader_lines(training: bool) -> list[str]:
    """What to mind above a `DataLoader` over the user's own data."""
    return [*OWN_LOADER, *(OWN_ORDER if training else ())]


def own_batch_lines(setup: Setup, workload: WorkloadSpec) -> list[str]:
    """What to mind above a loop over the user's own data."""
    return [*OWN_BATCHES] if brings_own_data(setup, workload) else []


def data_comment(setup: Setup, workload: WorkloadSpec) -> list[str]:
    """What the examples came from when this was measured; a user's own data needs no word."""
    if setup.data.startswith("synthetic:"):
        return []
    scheme = setup.data.removeprefix("memory:").partition(":")[0]
    decoded = f"decoded by {setup.settings.decoder}, " if scheme in ENCODED else ""
    size = "" if workload.image_size is None else f"as images of {workload.image_size} px, "
    measured = [f"# Measured on {quoted(setup.data)}, {decoded}{size}moved as bytes and normalised on the device."]
    if read_by_us(setup, workload):
        return measured
    decoder = setup.settings.decoder
    own = scheme in ENCODED and decoder != "pil"
    return [
        *measured,
        "# The batches of your dataset must come as your model takes them: normalised floats, as a rule.",
        *([f"# It must decode by {decoder} itself, or that part of the gain is lost."] if own else []),
    ]


def loader_lines(setup: Setup, workload: WorkloadSpec, batch_size: int) -> list[str]:
    """The loader: torch's over the user's dataset, or ours where nothing else reads the examples so."""
    settings = msgspec.structs.replace(setup.settings, batch_size=batch_size)
    if read_by_us(setup, workload):
        wanted = {name: getattr(settings, name) for name in LOADING}
        arguments = ["loading", "None", quoted(setup.data), *apply_arguments(setup, workload)]
        return [
            "# Batches on the device, normalised; no dataset of your own is needed.",
            *settings_lines("loading", wanted),
            f"loader = traindyno.apply({', '.join(arguments)}).loader",
        ]
    training = workload.mode == "train"
    order = ["shuffle=True", "drop_last=True"] if training else ["shuffle=False"]
    workers = [f"prefetch_factor={settings.prefetch_factor}", f"persistent_workers={settings.persistent_workers}"]
    made = call_lines(
        "loader = DataLoader",
        [
            "dataset",
            f"batch_size={batch_size}",
            *order,
            f"num_workers={settings.num_workers}",
            f"pin_memory={settings.pin_memory}",
            *(workers if settings.num_workers else []),
        ],
    )
    return [*(own_loader_lines(training) if brings_own_data(setup, workload) else []), *made]


def apply_arguments(setup: Setup, workload: WorkloadSpec) -> list[str]:
    """What `traindyno.apply` must be told beside the settings to do what was measured."""
    wanted = {
        f"image_size={workload.image_size}": is_named(setup) and workload.image_size is not None,
        "skip_bad=True": is_named(setup) and workload.skip_bad,
        'device="cpu"': device_of(setup.settings) == "cpu",
    }
    return [argument for argument, used in wanted.items() if used]


def settings_lines(name: str, values: dict[str, Any], always: Sequence[str] = ()) -> list[str]:
    """A dict of those that are not torch's defaults, and of `always`, in one line or one for each."""
    plain = msgspec.to_builtins(Settings(batch_size=0))
    told = {key: value for key, value in values.items() if key in always or value != plain[key]}
    items = [
        f'"{key}": {quoted(value) if isinstance(value, str) else value}'
        for key, value in told.items()
        if key != "device"
    ]
    line = f"{name} = {{{', '.join(items)}}}"
    return [line] if len(line) <= WIDTH else [f"{name} = {{", *(f"    {item}," for item in items), "}"]


def quoted(text: str) -> str:
    """Any text as a literal on one line, in double quotes where it has none itself."""
    literal = repr(text)
    return literal if '"' in text or "'" in text else f'"{literal[1:-1]}"'


def optimizer_text(workload: WorkloadSpec, settings: Settings, parameters: str) -> str:
    """Makes the optimiser; of a user's own file only its class is named, for the user to put in."""
    kind, more = ("Optimizer", "") if workload.runs_user_code else OPTIMIZERS[workload.optimizer]
    return f"{kind}({parameters}, lr=learning_rate{more}{KERNELS[settings.optimizer_kernel]})"


def own_optimizer(workload: WorkloadSpec) -> list[str]:
    """What a user must bring where the code names the class of their own optimiser."""
    return ["Optimizer (the class of your optimiser, with its other arguments)"] if workload.runs_user_code else []


def compile_arguments(settings: Settings) -> list[str]:
    """Arguments as they were measured; no shape is taken to vary."""
    mode = [] if settings.compile == "default" else [f'mode="{settings.compile}"']
    return [*mode, "dynamic=False"]


def imports(lines: Sequence[str], *more: str) -> list[str]:
    """What the lines need of the standard library and of torch, then `more`."""
    text = "\n".join(line.partition("#")[0] for line in lines)
    wanted = {"os.": "import os", "torch.": "import torch", "traindyno.": "import traindyno"}
    plain = [line for use, line in wanted.items() if use in text]
    loader = ["from torch.utils.data import DataLoader"] if "DataLoader(" in text else []
    return [*plain, *more, *loader, ""]
