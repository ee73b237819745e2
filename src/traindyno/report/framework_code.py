"""Settings as the arguments of Lightning's `Trainer` and of accelerate's `Accelerator`.

Only arguments that are not their defaults are written. Both compute a batch of several parts as several batches of the
loader, which is therefore made smaller. The names are those of Lightning since 2.0 and accelerate since 1.6.
"""

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.setups import Setup
from traindyno.report.code_text import (
    CHECKPOINTING,
    call_lines,
    compile_arguments,
    data_comment,
    device_of,
    flag_lines,
    imports,
    indented,
    loader_lines,
    optimizer_text,
    own_batch_lines,
    own_dataset,
    own_optimizer,
    read_by_us,
)

PRECISIONS = {"bf16": "bf16-mixed", "fp16": "16-mixed"}
NO_FP16 = {
    "Lightning": "# Lightning computes fp16 on a CPU as bf16.",
    "accelerate": "# accelerate computes fp16 on a CPU as fp32.",
}


def lightning_code(setup: Setup, baseline: Setup, workload: WorkloadSpec) -> str:
    """The trainer, the loader, and what the module must do itself."""
    settings, training = setup.settings, workload.mode == "train"
    own = [name for name, used in (("cudnn_benchmark", True), ("determinism", settings.determinism == "all")) if used]
    lines = [
        *flag_lines(settings, baseline.settings, but=own),
        *loader_lines(setup, workload, settings.batch_size // settings.accumulation_steps),
        *(["module = module.to(memory_format=torch.channels_last)"] if _channels_last(settings) else []),
        *(
            call_lines("module = torch.compile", ["module", *compile_arguments(settings)])
            if _compiled(settings)
            else []
        ),
        *call_lines("trainer = Trainer", _trainer_arguments(settings, baseline.settings, training)),
        *_fp16_on_cpu(settings, "Lightning"),
        f"trainer.{'fit' if training else 'predict'}(module, loader)",
        *_in_the_module(settings, workload),
    ]
    head = _yours(
        ["module", *(["epochs"] if training else []), *_for_the_optimizer(settings, workload)], setup, workload
    )
    return "\n".join([*head, *imports(lines, "from lightning.pytorch import Trainer"), *lines])


def accelerate_code(setup: Setup, baseline: Setup, workload: WorkloadSpec) -> str:
    """The accelerator, what it prepares, and the loop."""
    settings, training = setup.settings, workload.mode == "train"
    ours = read_by_us(setup, workload)
    prepared = ["model", *(["optimizer"] if training else []), *([] if ours else ["loader"])]
    arguments = _accelerator_arguments(settings, ours)
    lines = [
        *flag_lines(settings, baseline.settings),
        *call_lines("accelerator = Accelerator", arguments),
        *_fp16_on_cpu(settings, "accelerate"),
        *loader_lines(setup, workload, settings.batch_size // settings.accumulation_steps),
        *(CHECKPOINTING if settings.activation_checkpointing else ()),
        *(["model = model.to(memory_format=torch.channels_last)"] if _channels_last(settings) else []),
        *(
            [f"optimizer = {optimizer_text(workload, settings, 'model.parameters()')}"]
            if training
            else ["model.eval()"]
        ),
        f"{', '.join(prepared)} = accelerator.prepare({', '.join(prepared)})",
        "",
        *own_batch_lines(setup, workload),
        *(_accelerated_training(settings) if training else _accelerated_inference(settings)),
    ]
    trained = ["criterion", "learning_rate", "epochs", *own_optimizer(workload)]
    yours = ["model", *(trained if training else [])]
    plugins = [name for name in ("DataLoaderConfiguration", "TorchDynamoPlugin") if name in " ".join(arguments)]
    more = [f"from accelerate.utils import {', '.join(plugins)}"] if plugins else []
    head = _yours(yours, setup, workload)
    return "\n".join([*head, *imports(lines, "from accelerate import Accelerator", *more), *lines])


def _trainer_arguments(settings: Settings, baseline: Settings, training: bool) -> list[str]:
    """One device, as it was measured; `benchmark` also where it must be turned off again."""
    on_cpu = device_of(settings) == "cpu"
    benchmark = settings.cudnn_benchmark or baseline.cudnn_benchmark
    wanted = {
        "max_epochs=epochs": training,
        'accelerator="cpu"': on_cpu,
        "devices=1": not on_cpu,
        f'precision="{PRECISIONS.get(settings.precision)}"': settings.precision in PRECISIONS,
        f"accumulate_grad_batches={settings.accumulation_steps}": settings.accumulation_steps > 1,
        f"benchmark={settings.cudnn_benchmark}": benchmark,
        "deterministic=True": settings.determinism == "all",
    }
    return [argument for argument, used in wanted.items() if used]


def _in_the_module(settings: Settings, workload: WorkloadSpec) -> list[str]:
    """Comments on what no argument of the trainer does."""
    where = "training_step" if workload.mode == "train" else "predict_step"
    layout = f"# In {where}: x = x.to(memory_format=torch.channels_last)"
    optimizer = f"# In configure_optimizers: return {optimizer_text(workload, settings, 'self.parameters()')}"
    return [
        *([layout] if _channels_last(settings) else []),
        *([optimizer] if _sets_optimizer(settings, workload) else []),
        *(CHECKPOINTING if settings.activation_checkpointing else ()),
    ]


def _sets_optimizer(settings: Settings, workload: WorkloadSpec) -> bool:
    return workload.mode == "train" and settings.optimizer_kernel != "auto"


def _for_the_optimizer(settings: Settings, workload: WorkloadSpec) -> list[str]:
    return ["learning_rate", *own_optimizer(workload)] if _sets_optimizer(settings, workload) else []


def _accelerator_arguments(settings: Settings, ours: bool) -> list[str]:
    dynamo = ", ".join(['backend="inductor"', *compile_arguments(settings)])
    wanted = {
        "cpu=True": device_of(settings) == "cpu",
        f'mixed_precision="{settings.precision}"': settings.precision != "fp32",
        f"gradient_accumulation_steps={settings.accumulation_steps}": settings.accumulation_steps > 1,
        "dataloader_config=DataLoaderConfiguration(non_blocking=True)": settings.pin_memory and not ours,
        f"dynamo_plugin=TorchDynamoPlugin({dynamo})": _compiled(settings),
    }
    return [argument for argument, used in wanted.items() if used]


def _accelerated_training(settings: Settings) -> list[str]:
    step = ["loss = criterion(model(x), y)", "accelerator.backward(loss)", "optimizer.step()", "optimizer.zero_grad()"]
    if settings.accumulation_steps > 1:
        step = ["with accelerator.accumulate(model):", *indented(step)]
    inside = [*_laid_out(settings), *step]
    return ["for epoch in range(epochs):", *indented(["for x, y in loader:", *indented(inside)])]


def _accelerated_inference(settings: Settings) -> list[str]:
    step = [*_laid_out(settings), "output = model(x)"]
    return ["with torch.inference_mode():", *indented(["for x, _ in loader:", *indented(step)])]


def _laid_out(settings: Settings) -> list[str]:
    return ["x = x.to(memory_format=torch.channels_last)"] if _channels_last(settings) else []


def _yours(names: list[str], setup: Setup, workload: WorkloadSpec) -> list[str]:
    given = [*names, *own_dataset(setup, workload)]
    return [f"# Yours: {', '.join(given)}.", *data_comment(setup, workload)]


def _channels_last(settings: Settings) -> bool:
    return settings.memory_format == "channels_last"


def _compiled(settings: Settings) -> bool:
    return settings.compile != "none"


def _fp16_on_cpu(settings: Settings, framework: str) -> list[str]:
    return [NO_FP16[framework]] if settings.precision == "fp16" and device_of(settings) == "cpu" else []
