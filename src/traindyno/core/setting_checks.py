"""Settings that make no sense together are refused before anything is built."""

from traindyno.core.errors import UsageError
from traindyno.core.records import Mode, Settings
from traindyno.core.settings_text import WHERE_DEVICES

UNKNOWN_DEVICE = "auto"
MOST_THREADS = 1024
"""More than any machine computes faster with; the system may refuse to start more, and with a crash."""
_DEFAULT = Settings(batch_size=1)
_ONLY_CUDA = ("cudnn_benchmark", "tf32", "expandable_segments")
_ONLY_CPU = ("threads",)
_ONLY_TRAINING = ("optimizer_kernel", "accumulation_steps", "activation_checkpointing", "read_metrics")


def check_settings(settings: Settings, mode: Mode, device: str, *, takes_devices: bool = False) -> None:
    """Raise for a knob that does nothing on this device or in this mode, rather than measure nothing of it.

    A simulated device is taken for a GPU; of one that is not known yet, nothing is said. Only trials that
    `takes_devices` is true of run on several.
    """
    _check_counts(settings)
    _check_sharing(settings)
    if settings.devices > 1 and not takes_devices:
        raise UsageError(f"this runs on one device, and {settings.devices} are asked for", WHERE_DEVICES)
    for name in _ONLY_TRAINING if mode == "infer" else ():
        if _turned(settings, name):
            raise UsageError(f"{name} only matters in training", f"leave {name} at its default, or use --mode train")
    if device != UNKNOWN_DEVICE:
        _check_device(settings, device)


def _check_device(settings: Settings, device: str) -> None:
    on_cpu = device.partition(":")[0] == "cpu"
    for name in _ONLY_CUDA if on_cpu else _ONLY_CPU:
        if _turned(settings, name):
            where = "a GPU" if on_cpu else "a CPU"
            raise UsageError(
                f"{name} only matters on {where}, and this runs on {device}", f"leave {name} at its default"
            )
    if on_cpu and (settings.determinism == "cudnn" or settings.compile == "reduce-overhead"):
        knob = "determinism=cudnn" if settings.determinism == "cudnn" else "compile=reduce-overhead"
        raise UsageError(f"{knob} only matters on a GPU, and this runs on {device}", "choose another value for it")


def _check_counts(settings: Settings) -> None:
    if settings.batch_size < 1:
        raise UsageError("a batch has at least one example", "batch sizes start at 1")
    if settings.num_workers < 0:
        raise UsageError(f"{settings.num_workers} loader workers are less than none", "use 0 workers or more")
    if settings.prefetch_factor < 1:
        raise UsageError(
            f"a prefetch factor of {settings.prefetch_factor} lets workers prepare nothing", "use 1 batch or more"
        )
    if settings.threads is not None and settings.threads < 1:
        raise UsageError(f"{settings.threads} threads cannot compute anything", "use at least 1, or leave it away")
    if settings.threads is not None and settings.threads > MOST_THREADS:
        raise UsageError(
            f"{settings.threads} threads are more than any machine computes with", f"use at most {MOST_THREADS}"
        )
    if settings.accumulation_steps < 1 or settings.batch_size % settings.accumulation_steps:
        raise UsageError(
            f"a batch of {settings.batch_size} cannot be computed in {settings.accumulation_steps} equal parts",
            "let accumulation_steps divide the batch size",
        )


def _check_sharing(settings: Settings) -> None:
    """Every device has as many examples, and computes them in as many parts."""
    if settings.devices < 1:
        raise UsageError("no devices cannot train anything", "counts start at 1: devices=1")
    if settings.batch_size % settings.devices:
        raise UsageError(
            f"a batch of {settings.batch_size} cannot be shared equally by {settings.devices} devices",
            f"let the batch size be a multiple of {settings.devices}: it is that of all devices together",
        )
    if settings.batch_size // settings.devices % settings.accumulation_steps:
        raise UsageError(
            f"{settings.batch_size // settings.devices} examples on each device cannot be computed in "
            f"{settings.accumulation_steps} equal parts",
            "let devices times accumulation_steps divide the batch size",
        )


def _turned(settings: Settings, name: str) -> bool:
    return bool(getattr(settings, name) != getattr(_DEFAULT, name))
