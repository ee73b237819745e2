"""The conclusion of a search for the largest batch."""

from collections.abc import Sequence

from traindyno.analysis.accumulation import split_batch
from traindyno.analysis.memory_model import (
    fit_memory,
    memory_limit_bytes,
    peak_bytes_by_batch,
    predict_batch,
)
from traindyno.analysis.probes import Probes, examples_in_data, read_probes
from traindyno.core.answers import MaxBatchAnswer, MemoryModel
from traindyno.core.records import Mode, TrialRecord
from traindyno.core.units import format_percent


def conclude_max_batch(
    model: str,
    mode: Mode,
    history: Sequence[TrialRecord],
    *,
    margin: float,
    tolerance: float,
    limit: int | None = None,
    effective_batch: int | None = None,
    seconds: float | None = None,
    simulated: bool = False,
) -> MaxBatchAnswer:
    """The three limits, each a size that ran, with what stands behind them.

    The largest without allocator retries is null where the device does not report them (on a CPU). `seconds`
    defaults to the sum of the trials'.
    """
    records = [record for record in history if record.spec.kind == "fit"]
    probes = read_probes(records)
    safe_batch = probes.safe_ran[-1] if probes.safe_ran else None
    memory_model = fit_memory(peak_bytes_by_batch(records))
    limit_bytes = memory_limit_bytes(records)
    examples = examples_in_data(records)
    limited = limit is not None and probes.largest_ran == limit
    data_limited = not limited and examples is not None and probes.largest_ran == examples
    split = split_batch(effective_batch, safe_batch) if effective_batch and safe_batch else None
    no_retry = probes.without_retries[-1] if probes.without_retries else None
    return MaxBatchAnswer(
        model=model,
        mode=mode,
        max_batch=probes.largest_ran,
        safe_batch=safe_batch,
        no_retry_batch=no_retry,
        first_failed_batch=probes.failed[0] if probes.failed else None,
        probes=len(records),
        out_of_memory_probes=sum(record.outcome.out_of_memory for record in records),
        memory_model=memory_model,
        seconds=sum(record.seconds for record in records) if seconds is None else seconds,
        margin=margin,
        tolerance=tolerance,
        memory_limit_bytes=limit_bytes,
        limited_by="limit" if limited else "data" if data_limited else _ended_by(probes, records),
        micro_batch=split.micro_batch if split else None,
        accumulation_steps=split.accumulation_steps if split else None,
        effective_batch=split.effective_batch if split else None,
        verdicts=(
            *_limits(probes, margin, mode, records),
            *_limited(f"limit of {limit} it was given" if limited else None, limit, memory_model, limit_bytes),
            *_limited(
                f"{examples} examples of the data" if data_limited else None, examples, memory_model, limit_bytes
            ),
            *([split.sentence(effective_batch)] if split and effective_batch else []),
        ),
        simulated=simulated,
    )


def _limits(probes: Probes, margin: float, mode: Mode, records: Sequence[TrialRecord]) -> list[str]:
    if probes.largest_ran is None:
        return [f"No batch size ran; the smallest tried was {probes.failed[0]}."] if probes.failed else []
    return [
        _safe(probes, margin, mode),
        _largest(probes, records),
        *_retries(probes),
    ]


def _safe(probes: Probes, margin: float, mode: Mode) -> str:
    held_back = f"with {format_percent(margin, 0)} of the memory held back"
    if not probes.safe_ran:
        return f"No batch size was shown to be safe: none ran {held_back}."
    step = ", an evaluation step included" if mode == "train" else ""
    return f"Batch {probes.safe_ran[-1]} is safe: it ran in a fresh process {held_back}{step}."


def _largest(probes: Probes, records: Sequence[TrialRecord]) -> str:
    text = f"Batch {probes.largest_ran} is the largest that ran"
    high = probes.smallest_failed_above
    if high is None:
        return f"{text}; no larger one failed."
    reason = _ended_by(probes, records)
    if reason == "memory":
        return f"{text}; {high} ran out of memory."
    return f"{text}; {high} ended in {reason}, which may be memory in disguise."


def _ended_by(probes: Probes, records: Sequence[TrialRecord]) -> str | None:
    """What stopped the sizes above the largest that ran: memory, or how the first of them ended."""
    high = probes.smallest_failed_above
    for record in records:
        if record.batch_size == high and not record.ok and record.spec.margin == 0:
            return "memory" if record.outcome.out_of_memory else record.outcome.value.replace("_", " ")
    return None


def _retries(probes: Probes) -> list[str]:
    quiet = probes.without_retries[-1] if probes.without_retries else 0
    if not probes.reports_retries or quiet == probes.largest_ran:
        return []
    if quiet == 0:
        return ["Every size tried made the allocator free its cache and try again: they run, but slowly."]
    noisy = min(size for size in probes.ran if size > quiet)
    return [
        f"Batch {quiet} ran without allocator retries. At {noisy}, the next size tried, the allocator had to free its "
        f"cache and try again: such sizes run, but slowly."
    ]


def _limited(end: str | None, size: int | None, model: MemoryModel | None, limit_bytes: int | None) -> list[str]:
    if end is None or size is None:
        return []
    text = f"The search ended at the {end}, not at the memory's"
    if model is None or limit_bytes is None or predict_batch(model, limit_bytes) <= size:
        return [f"{text}."]
    return [f"{text}, which would hold about {predict_batch(model, limit_bytes):,}."]
