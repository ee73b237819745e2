"""Settings as code to copy: plain PyTorch, `traindyno.apply`, Lightning and accelerate."""

import msgspec

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.setups import Setup
from traindyno.report.code_text import (
    CHECKPOINTING,
    OF_A_LOADER,
    apply_arguments,
    brings_own_data,
    call_lines,
    compile_arguments,
    data_comment,
    device_of,
    flag_lines,
    imports,
    indented,
    is_named,
    loader_lines,
    optimizer_text,
    own_batch_lines,
    own_dataset,
    own_optimizer,
    quoted,
    settings_lines,
)
from traindyno.report.framework_code import accelerate_code, lightning_code
from traindyno.report.switch_code import DTYPES, autocast_text
from traindyno.report.view import Snippet

WITH_GRAPHS = ("reduce-overhead", "max-autotune")
OWN_LOSS = (
    "# criterion(output, target) is the loss of your Workload; leave it away if that has none. If it has a",
    "# training_step, give training_step=... instead.",
)
OWN_DATA = (
    "# dataset may be your own DataLoader, and must be one for a stream (IterableDataset): its collate_fn,",
    "# sampler and worker_init_fn are kept.",
)


def find_code(setup: Setup, baseline: Setup, workload: WorkloadSpec) -> tuple[Snippet, ...]:
    """Every way to write the settings down; the baseline's flags are turned back where they were others."""
    snippets = [
        Snippet(title="PyTorch", text=torch_code(setup, baseline, workload)),
        Snippet(title="Lightning", text=lightning_code(setup, baseline, workload)),
        Snippet(title="accelerate", text=accelerate_code(setup, baseline, workload)),
    ]
    if workload.mode == "train":
        snippets.insert(1, Snippet(title="traindyno.apply", text=apply_code(setup, workload)))
    return tuple(snippets)


def torch_code(setup: Setup, baseline: Setup, workload: WorkloadSpec) -> str:
    """A whole training loop, or one of inference."""
    settings, device = setup.settings, device_of(setup.settings)
    training = workload.mode == "train"
    lines = [
        *flag_lines(settings, baseline.settings),
        f'device = torch.device("{device}")',
        *loader_lines(setup, workload, settings.batch_size),
        *(CHECKPOINTING if settings.activation_checkpointing else ()),
        *_model_lines(settings),
        *(_optimizer_lines(settings, workload, device) if training else ["model.eval()"]),
        "",
        *own_batch_lines(setup, workload),
        *(_training_loop(settings, device) if training else _inference_loop(settings, device)),
    ]
    return "\n".join([*_head(setup, workload), *imports(lines), *lines])


def apply_code(setup: Setup, workload: WorkloadSpec) -> str:
    """The same in a few lines, with the loader, the step and the flags by traindyno."""
    settings = msgspec.structs.replace(setup.settings, optimizer_kernel="auto")
    named, own = is_named(setup), workload.runs_user_code
    arguments = [
        "settings",
        "model",
        quoted(setup.data) if named else "dataset",
        f"optimizer=lambda parameters: {optimizer_text(workload, settings, 'parameters')}",
        *(["loss=criterion"] if own else []),
        *apply_arguments(setup, workload),
    ]
    lines = [
        *settings_lines("settings", msgspec.to_builtins(setup.settings), () if named else OF_A_LOADER),
        *(OWN_LOSS if own else ()),
        *(OWN_DATA if brings_own_data(setup, workload) else ()),
        *call_lines("applied = traindyno.apply", arguments),
        "for epoch in range(epochs):",
        "    for batch in applied.loader:",
        "        loss = applied.step(batch)",
    ]
    needed = ["model", *([] if named else ["dataset"]), *(["criterion"] if own else []), "learning_rate", "epochs"]
    needed += own_optimizer(workload)
    return "\n".join(
        [f"# Yours: {', '.join(needed)}. Instead of `settings` the settings file does.", *imports(lines), *lines]
    )


def _head(setup: Setup, workload: WorkloadSpec) -> list[str]:
    """What the code needs to be given, and what the examples were."""
    dataset = own_dataset(setup, workload)
    training = ["criterion", "learning_rate", "epochs", *own_optimizer(workload)] if workload.mode == "train" else []
    return [f"# Yours: {', '.join(['model', *dataset, *training])}.", *data_comment(setup, workload)]


def _model_lines(settings: Settings) -> list[str]:
    layout = ", memory_format=torch.channels_last" if settings.memory_format == "channels_last" else ""
    compiled = call_lines("model.compile", compile_arguments(settings)) if settings.compile != "none" else []
    return [f"model = model.to(device{layout})", *compiled]


def _optimizer_lines(settings: Settings, workload: WorkloadSpec, device: str) -> list[str]:
    made = f"optimizer = {optimizer_text(workload, settings, 'model.parameters()')}"
    return [made, *([f'scaler = torch.amp.GradScaler("{device}")'] if settings.precision == "fp16" else [])]


def _training_loop(settings: Settings, device: str) -> list[str]:
    step = [*_placed(settings), *_graphs(settings), "optimizer.zero_grad()", *_gradients(settings, device)]
    scaled = settings.precision == "fp16"
    step += ["scaler.step(optimizer)", "scaler.update()"] if scaled else ["optimizer.step()"]
    step += [f"{_loss_value(settings)}  # waits for the device, as it was measured"] if settings.read_metrics else []
    return ["for epoch in range(epochs):", *indented(["for x, y in loader:", *indented(step)])]


def _gradients(settings: Settings, device: str) -> list[str]:
    """Forward and backward, of the batch or of each of its parts."""
    parts = settings.accumulation_steps
    if parts == 1:
        return _forward_and_backward(settings, device, "criterion(model(x), y)")
    share = f"criterion(model(part_x), part_y) / {parts}"
    loop = f"for part_x, part_y in zip(x.chunk({parts}), y.chunk({parts}), strict=True):"
    part = _forward_and_backward(settings, device, share)
    if not settings.read_metrics:
        return [loop, *indented(part)]
    return ["losses = []", loop, *indented([*part, "losses.append(loss.detach())"])]


def _loss_value(settings: Settings) -> str:
    """The loss of the whole batch as a number."""
    return f"loss_value = {'loss' if settings.accumulation_steps == 1 else 'sum(losses)'}.item()"


def _forward_and_backward(settings: Settings, device: str, loss: str) -> list[str]:
    backward = "scaler.scale(loss).backward()" if settings.precision == "fp16" else "loss.backward()"
    return [*_in_precision(f"loss = {loss}", settings, device), backward]


def _inference_loop(settings: Settings, device: str) -> list[str]:
    step = [*_placed(settings, labels=False), *_graphs(settings), *_in_precision("output = model(x)", settings, device)]
    return ["with torch.inference_mode():", *indented(["for x, _ in loader:", *indented(step)])]


def _in_precision(line: str, settings: Settings, device: str) -> list[str]:
    if settings.precision not in DTYPES:
        return [line]
    return [f"with {autocast_text(settings.precision, device)}:", *indented([line])]


def _placed(settings: Settings, labels: bool = True) -> list[str]:
    later = ", non_blocking=True" if settings.pin_memory else ""
    layout = ", memory_format=torch.channels_last" if settings.memory_format == "channels_last" else ""
    return [f"x = x.to(device{later}{layout})", *([f"y = y.to(device{later})"] if labels else [])]


def _graphs(settings: Settings) -> list[str]:
    return ["torch.compiler.cudagraph_mark_step_begin()"] if settings.compile in WITH_GRAPHS else []
