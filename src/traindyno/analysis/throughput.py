"""The conclusion of a throughput study: curve, choices, verdicts."""

from collections.abc import Sequence

from traindyno.analysis.choice import choose_batch
from traindyno.analysis.curve import build_curve, failures_besides_memory, out_of_memory_from
from traindyno.analysis.drift import drift_percent
from traindyno.analysis.intervals import median
from traindyno.analysis.memory_model import (
    fit_memory,
    memory_limit_bytes,
    peak_bytes_by_batch,
    predict_batch,
)
from traindyno.analysis.probes import examples_in_data, larger_than_data, needs_two_examples
from traindyno.analysis.step_model import fit_step_model
from traindyno.analysis.switch_starts import excess_seconds
from traindyno.analysis.verdicts import throughput_verdicts
from traindyno.core.answers import ThroughputAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import Mode, TrialRecord
from traindyno.core.requests import Choice


def conclude_throughput(
    model: str,
    mode: Mode,
    history: Sequence[TrialRecord],
    *,
    choose: Choice = "recommended",
    margin: float = 0.05,
    seconds: float | None = None,
    simulated: bool = False,
) -> ThroughputAnswer:
    """Everything the trials, in the order they ran, say about throughput. `seconds` defaults to their sum."""
    records = [record for record in history if record.spec.kind == "speed"]
    curve = build_curve(records)
    if not curve:
        raise NothingMeasuredError("not one batch size could be measured", _why(records))
    end = out_of_memory_from(records)
    choice = choose_batch(curve, margin, end)
    drift = drift_percent(records)
    memory_model = fit_memory(peak_bytes_by_batch(records))
    limit_bytes = memory_limit_bytes(records)
    on_gpu = records[0].spec.settings.device.startswith("cuda")
    return ThroughputAnswer(
        model=model,
        mode=mode,
        curve=curve,
        best_batch=choice.best,
        recommended_batch=choice.recommended,
        fastest_batch=choice.fastest,
        largest_batch=choice.largest,
        chosen_batch={
            "recommended": choice.recommended,
            "fastest": choice.fastest,
            "largest": choice.largest,
        }[choose],
        choose=choose,
        saturated_from=choice.saturated_from,
        verdicts=(*throughput_verdicts(curve, choice, on_gpu, end, drift), *_other_failures(records)),
        out_of_memory_from=end,
        predicted_memory_limit_batch=(
            predict_batch(memory_model, limit_bytes) if memory_model is not None and limit_bytes is not None else None
        ),
        memory_limit_bytes=limit_bytes,
        memory_model=memory_model,
        step_model=fit_step_model(curve),
        drift_percent=drift[0] if drift is not None else None,
        drift_ci95=drift[1] if drift is not None else None,
        start_up_seconds=start_up_seconds(records),
        seconds=sum(record.seconds for record in records) if seconds is None else seconds,
        simulated=simulated,
    )


def start_up_seconds(records: Sequence[TrialRecord]) -> float | None:
    """What a run costs before its steps take their usual time: building, and the extra time of its first steps."""
    costs = [
        found.start_up_seconds + max(0.0, excess_seconds(found))
        for found in (record.measurement for record in records)
        if found is not None
    ]
    return median(costs) if costs else None


def _other_failures(records: Sequence[TrialRecord]) -> list[str]:
    sentences = [
        f"Batch {size} could not be measured: {outcome.value.replace('_', ' ')}."
        for size, outcome in sorted(failures_besides_memory(records).items())
    ]
    if any(needs_two_examples(record) for record in records):
        sentences.append("Batch 1 was left out: the model's batch normalisation needs two examples to train on.")
    examples = examples_in_data(records)
    if any(larger_than_data(record) or (record.ok and record.batch_size == examples) for record in records):
        sentences.append(f"Larger batches were left out: the data has only {examples} examples.")
    return sentences


def _why(records: Sequence[TrialRecord]) -> str | None:
    return next((record.failure.remedy for record in records if record.failure is not None), None)
