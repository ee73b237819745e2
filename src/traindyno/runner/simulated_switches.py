"""What switches do to a simulated device: planted effects, some of which show only together.

Lower precision pays only with channels_last; graphs of kernels pay where the host is the limit; fp16 is the fastest
and spoils the loss; what compiling takes at first is on disk the next time.
"""

import math
import random
from collections.abc import Callable

import msgspec

from traindyno.analysis.switch_effects import pair_apart
from traindyno.core.records import Measurement, Settings, TrialSpec

DEFAULT_LOSS_STEPS = 100
_COMPILED_DEVICE = {"none": 1.0, "default": 0.85, "reduce-overhead": 0.86, "max-autotune": 0.84}
_COMPILED_HOST = {"none": 1.0, "default": 0.75, "reduce-overhead": 0.15, "max-autotune": 0.15}
_COMPILING_SECONDS = {"none": 0.0, "default": 30.0, "reduce-overhead": 36.0, "max-autotune": 300.0}
_FROM_DISK = 0.1
_OPTIMIZER_HOST = {"auto": 1.0, "foreach": 1.0, "fused": 0.96, "loop": 1.25}
_DETERMINISTIC = {"none": 1.0, "cudnn": 1.03, "all": 1.12}
_TF32 = {"none": 1.7, "convolutions": 1.0, "all": 0.98}
_BROKEN_LOSS = 0.5


def device_share(settings: Settings) -> float:
    """What the device takes for a step, as a share of what it takes without any switch."""
    share = _arithmetic(settings) * _COMPILED_DEVICE[settings.compile] * _DETERMINISTIC[settings.determinism]
    share *= 0.99 if settings.cudnn_benchmark else 1.0
    return share * (1.3 if settings.activation_checkpointing else 1.0) * (1.03 if settings.read_metrics else 1.0)


def _arithmetic(settings: Settings) -> float:
    last = settings.memory_format == "channels_last"
    if settings.precision == "fp32":
        return _TF32[settings.tf32] * (1.01 if last else 1.0)
    return (0.5 if settings.precision == "fp16" else 0.52) if last else 0.99


def host_share(settings: Settings) -> float:
    """The same of what the host takes to launch a step; computed in parts, it launches each of them."""
    share = _COMPILED_HOST[settings.compile] * _OPTIMIZER_HOST[settings.optimizer_kernel]
    share *= 1.15 if settings.precision != "fp32" else 1.0
    return share * settings.accumulation_steps * (1.3 if settings.activation_checkpointing else 1.0)


def memory_share(settings: Settings) -> float:
    share = 0.6 if settings.precision != "fp32" else 1.0
    share *= 0.5 if settings.activation_checkpointing else 1.0
    return share * (0.1 + 0.9 / settings.accumulation_steps) * (0.98 if settings.expandable_segments else 1.0)


def warming_seconds(spec: TrialSpec) -> float:
    """What the first step takes on top; a compiler's results are on disk from the first round on."""
    compiling = _COMPILING_SECONDS[spec.settings.compile] * (1.0 if spec.repeat == 0 else _FROM_DISK)
    return compiling + (2.0 if spec.settings.cudnn_benchmark else 0.0)


def paired(spec: TrialSpec, measure: Callable[[TrialSpec], Measurement]) -> Measurement:
    """Both arms of a pair, each as if it were a trial of its own."""
    assert spec.against is not None
    kind = "speed" if spec.feed.supply == "resident" else "feed"
    candidate = measure(msgspec.structs.replace(spec, kind=kind))
    baseline = measure(msgspec.structs.replace(spec, kind=kind, settings=spec.against, against=spec.settings))
    blocks = zip(baseline.blocks, candidate.blocks, strict=True)
    turns = tuple((one.seconds / one.steps, other.seconds / other.steps) for one, other in blocks)
    return msgspec.structs.replace(
        candidate, pair=msgspec.structs.replace(pair_apart(baseline, candidate), turns=turns)
    )


def losses_of(spec: TrialSpec) -> tuple[float, ...]:
    """A loss that falls towards where the seed lets it; rounding moves it a little, fp16 far."""
    ends = 0.3 + 0.1 * random.Random(f"loss {spec.seed}").random()
    settings = spec.settings
    rounded = (settings.precision == "bf16") * 0.01 + (settings.compile != "none") * 0.002
    broken = _BROKEN_LOSS if settings.precision == "fp16" else 0.0
    steps = spec.budget.steps or DEFAULT_LOSS_STEPS
    return tuple(ends + rounded + broken + 2.0 * math.exp(-step / 20) for step in range(steps))
