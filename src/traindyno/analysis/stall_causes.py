"""What a stall is made of: moving batches, and fetching, decoding, augmenting or handing them over.

Moving is the difference between cached and resident batches; with nvjpeg the GPU decodes the cached ones at every step,
and that is what the difference is called then. Loading is the difference between the loader and cached batches, as
far as it is waited for; it is divided by what each further stage cost the loader alone, or, where that was not
measured, by what the stages cost in one process. What a step takes longer without waiting is a cause of its own.
"""

from collections.abc import Mapping, Sequence

from traindyno.analysis.loader_parts import LoaderParts
from traindyno.analysis.stall_losses import Losses, storage_wait
from traindyno.analysis.stall_runs import (
    BYTES_ONLY,
    DECODE_ONLY,
    LOADER_ALONE,
    RESIDENT,
    WARM,
    Runs,
    measured,
    step_of,
    was_cold,
)
from traindyno.analysis.stall_shares import Difference
from traindyno.core.answers import StallCause
from traindyno.core.loading import StageCost

TRANSFER = "transfer"
GPU_DECODE = "GPU decode"
HAND_OFF = "hand-off"
PAGE_CACHE = "page cache"
SLOWER = "slower beside the loader"
UNEXPLAINED = "slower, not settled why"
NOT_WAITED = (SLOWER, UNEXPLAINED)
# Collating belongs to handing over: it puts the examples where the main process will find them.
CAUSE_OF_STAGE = {"fetch": "fetch", "decode": "decode", "augment": "augment", "example": "example", "collate": HAND_OFF}
_SUFFICES = 0.9
_MAIN_PROCESS_IS_THE_LIMIT = 0.8


def find_causes(runs: Runs, losses: Losses, stages: Sequence[StageCost], parts: LoaderParts) -> tuple[StallCause, ...]:
    """Every cause with its exposed share, the largest first; a cold run's last, as a share of the cold step."""
    loading, moving, cold = losses.loading, losses.moving, storage_wait(runs)
    weights = _weights(runs, stages, parts, loading.seconds)
    hidden = _hidden(runs, weights, loading.seconds, _spent(stages, parts))
    causes = [_part(cause, weight, loading, hidden.get(cause)) for cause, weight in weights.items()]
    if moving is not None:
        causes.append(_part(moving_cause(runs), 1.0, moving, _hidden_moving(runs, moving, parts)))
    if losses.slower is not None:
        causes.append(_part(SLOWER if losses.drift is None else UNEXPLAINED, 1.0, losses.slower, None))
    causes.sort(key=lambda cause: -cause.exposed_share)
    if cold is not None and was_cold(runs):
        causes.append(_part(PAGE_CACHE, 1.0, cold, None))
    return tuple(causes)


def moving_cause(runs: Runs) -> str:
    """What cached batches take longer than resident ones for."""
    return GPU_DECODE if _decodes_on_gpu(runs) else TRANSFER


def _decodes_on_gpu(runs: Runs) -> bool:
    return any(record.spec.settings.decoder == "nvjpeg" for record in measured(runs, WARM))


def _part(cause: str, weight: float, whole: Difference, hidden: float | None) -> StallCause:
    return StallCause(
        cause=cause,
        exposed_seconds=weight * whole.seconds,
        exposed_share=weight * whole.share,
        ci95=(weight * whole.ci95[0], weight * whole.ci95[1]),
        hidden_seconds=hidden,
    )


def _hidden(
    runs: Runs, weights: Mapping[str, float], stall_seconds: float, spent: Mapping[str, float]
) -> dict[str, float]:
    """Worker seconds per batch that nobody waits for.

    A second of waiting is one of every worker. Beside the step each of them can spend no more than the step takes.
    """
    workers = max([1, *(record.spec.settings.num_workers for record in measured(runs, WARM))])
    waited = workers * max(0.0, stall_seconds)
    hidden = {cause: max(0.0, spent[cause] - weight * waited) for cause, weight in weights.items() if cause in spent}
    resident, total = step_of(runs, RESIDENT), sum(hidden.values())
    fits = min(1.0, workers * resident[0] / total) if resident is not None and total > 0 else 1.0
    return {cause: fits * seconds for cause, seconds in hidden.items()}


def _hidden_moving(runs: Runs, moving: Difference, parts: LoaderParts) -> float | None:
    """What decoding on the GPU takes is only known as far as it is waited for."""
    if _decodes_on_gpu(runs):
        return None
    return max(0.0, parts.transfer_seconds + parts.decode_seconds - max(0.0, moving.seconds))


def _spent(stages: Sequence[StageCost], parts: LoaderParts) -> dict[str, float]:
    """Seconds per batch that each cause costs one process, waited for or not."""
    spent: dict[str, float] = {HAND_OFF: parts.hand_off_seconds}
    for stage in stages:
        cause = CAUSE_OF_STAGE[stage.stage]
        spent[cause] = spent.get(cause, 0.0) + stage.seconds * parts.batch_size
    return spent


def _weights(runs: Runs, stages: Sequence[StageCost], parts: LoaderParts, stall_seconds: float) -> dict[str, float]:
    """Which share of the loading stall each cause has; they add up to 1."""
    alone = step_of(runs, LOADER_ALONE)
    by_stage = _normalised(_by_depth(runs, stages) or _by_stage(stages) or {HAND_OFF: 1.0})
    handing = parts.hand_off_seconds
    if alone is not None and handing >= _MAIN_PROCESS_IS_THE_LIMIT * alone[0]:
        return {**dict.fromkeys(by_stage, 0.0), HAND_OFF: 1.0}
    warm = step_of(runs, WARM)
    fast_enough = alone is not None and warm is not None and alone[0] < _SUFFICES * warm[0]
    if not (parts.asynchronous and fast_enough and stall_seconds > 0):
        return by_stage
    first = min(1.0, handing / stall_seconds)
    rest = {cause: (1 - first) * weight for cause, weight in by_stage.items()}
    return {**rest, HAND_OFF: rest.get(HAND_OFF, 0.0) + first}


def _by_stage(stages: Sequence[StageCost]) -> dict[str, float]:
    costs: dict[str, float] = {}
    for stage in stages:
        cause = CAUSE_OF_STAGE[stage.stage]
        costs[cause] = costs.get(cause, 0.0) + stage.seconds
    return costs


def _by_depth(runs: Runs, stages: Sequence[StageCost]) -> dict[str, float] | None:
    """What the loader alone took longer the further it went; null without the runs that show it."""
    found = [step_of(runs, name) for name in (BYTES_ONLY, DECODE_ONLY, LOADER_ALONE)]
    reading, decoding, whole = (step[0] if step is not None else None for step in found)
    if reading is None or whole is None:
        return None
    pixels = decoding if decoding is not None else reading
    last = {stage.stage: stage.seconds for stage in stages if stage.stage in ("augment", "collate")}
    finishing, total = max(0.0, whole - pixels), sum(last.values())
    costs = {"fetch": reading, "decode": max(0.0, pixels - reading)}
    for stage, seconds in last.items():
        costs[CAUSE_OF_STAGE[stage]] = finishing * seconds / total if total > 0 else 0.0
    return costs


def _normalised(costs: Mapping[str, float]) -> dict[str, float]:
    total = sum(costs.values())
    if total <= 0:
        return {cause: 1 / len(costs) for cause in costs}
    return {cause: cost / total for cause, cost in costs.items()}
