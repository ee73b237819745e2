"""The options that repeat a workload and its settings in another command, ready to be typed."""

from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench
from traindyno.core.settings_text import format_knobs
from traindyno.core.units import bytes_word

SYNTHETIC = "synthetic:"


def workload_words(workload: WorkloadSpec, bench: Bench) -> list[str]:
    """The same workload and bench as options of the next command; what is a default there is left out.

    The device is the caller's to add: some commands find it by themselves.
    """
    options = {
        "--data": None if workload.data == SYNTHETIC else workload.data,
        "--model": workload.model or None,
        "--image-size": workload.image_size,
        "--classes": workload.classes,
        "--optimizer": None if workload.optimizer == "sgd" else workload.optimizer,
        "--mode": None if workload.mode == "train" else workload.mode,
        "--conv1-stride": workload.conv1_stride,
        "--precision": None if bench.precision == "fp32" else bench.precision,
        "--memory-limit": None if bench.memory_limit_bytes is None else bytes_word(bench.memory_limit_bytes),
    }
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return [*words, "--skip-bad"] if workload.skip_bad else words


def device_words(bench: Bench) -> list[str]:
    """The device, if one was named."""
    return [] if bench.device == "auto" else ["--device", bench.device]


def settings_words(settings: Settings, always_workers: bool = False) -> list[str]:
    """The same settings as options; what is a default is left out.

    Batch size, precision and device are the caller's to add. `always_workers` is for commands that insist on a number.
    """
    words = ["--workers", str(settings.num_workers)] if settings.num_workers or always_workers else []
    words += [] if settings.prefetch_factor == 2 else ["--prefetch-factor", str(settings.prefetch_factor)]
    words += ["--pin-memory"] if settings.pin_memory else []
    words += [] if settings.decoder == "pil" else ["--decoder", settings.decoder]
    return [*words, *(word for knob in format_knobs(settings) for word in ("--set", knob))]
