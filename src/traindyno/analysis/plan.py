"""How long training takes at each batch size: time per step times steps, start-up and evaluation added."""

import math
from collections.abc import Mapping, Sequence

from traindyno.analysis.choice import doubts, soonest
from traindyno.analysis.curve import marks_of, step_interval
from traindyno.core.answers import CurvePoint, PlanAnswer, PlanRow
from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.units import format_percent, format_seconds

_NEAR_FASTEST = 1.03
_EVALUATION_STEP_GUESS = 1 / 3
CAUTION = (
    "These are times for equal numbers of examples, not for equal accuracy: "
    "how many steps reach a target changes with the batch size."
)


class TrainingJob(Record, frozen=True):
    """What is to be planned. Evaluation runs over `eval_examples` every `eval_every_epochs` (default 1)."""

    examples: int
    epochs: float
    eval_every_epochs: float | None = None
    eval_examples: int | None = None
    price_per_hour: float | None = None


def conclude_plan(
    curve: Sequence[CurvePoint],
    job: TrainingJob,
    *,
    start_up_seconds: float = 0.0,
    evaluation_step_seconds: Mapping[int, float] | None = None,
    margin: float = 0.0,
    from_study: str | None = None,
    seconds: float = 0.0,
    simulated: bool = False,
) -> PlanAnswer:
    """A row per measured batch size no larger than the data, the fastest of them, and what to make of it."""
    if not math.isfinite(job.epochs):
        raise UsageError(f"{job.epochs} is not a number of epochs", "give --epochs 90, or a part such as 0.5")
    usable = [point for point in curve if point.batch_size <= job.examples]
    if not usable:
        raise UsageError(
            f"{job.examples} examples are fewer than the smallest batch measured ({curve[0].batch_size})",
            "measure smaller batches with --batch-size, or plan for more examples",
        )
    known = evaluation_step_seconds or {}
    rows = tuple(plan_row(point, job, start_up_seconds, known.get(point.batch_size)) for point in usable)
    fastest = soonest(rows, lambda row: row.training_seconds, lambda row: row.ci95[1], _is_sound)
    return PlanAnswer(
        examples=job.examples,
        epochs=job.epochs,
        rows=rows,
        fastest=fastest.batch_size,
        verdicts=tuple(_verdicts(rows, fastest, usable, job, known, margin)),
        from_study=from_study,
        seconds=seconds,
        simulated=simulated,
    )


def evaluated_examples(examples: int, every_epochs: float | None, given: int | None) -> int | None:
    """How many an evaluation runs over: as many as were given, or a tenth where only its epochs were."""
    return max(1, examples // 10) if given is None and every_epochs is not None else given


def plan_row(
    point: CurvePoint, job: TrainingJob, start_up_seconds: float, evaluation_step_seconds: float | None
) -> PlanRow:
    """One batch size. The partial batch at the end of an epoch is not dropped and counts as a whole step."""
    steps = _whole(math.ceil(job.examples / point.batch_size) * job.epochs)
    evaluation = _evaluation_seconds(point, job, evaluation_step_seconds)
    fixed = start_up_seconds + evaluation
    total = fixed + steps * point.step_seconds
    low, high = step_interval(point)
    return PlanRow(
        batch_size=point.batch_size,
        steps=steps,
        training_seconds=total,
        ci95=(fixed + steps * low, fixed + steps * high),
        cost=None if job.price_per_hour is None else total / 3600 * job.price_per_hour,
        step_seconds=point.step_seconds,
        start_up_seconds=start_up_seconds,
        evaluation_seconds=evaluation,
        marks=marks_of(point),
    )


def _evaluation_seconds(point: CurvePoint, job: TrainingJob, step_seconds: float | None) -> float:
    if not job.eval_examples:
        return 0.0
    passes = math.floor(job.epochs / (job.eval_every_epochs or 1.0) + 1e-9)
    if step_seconds is None:
        step_seconds = point.step_seconds * _EVALUATION_STEP_GUESS
    return passes * math.ceil(job.eval_examples / point.batch_size) * step_seconds


def _whole(steps: float) -> int:
    """Rounded up, but not because of the last bit of a product such as 10 × 0.1."""
    return math.ceil(steps - 1e-9 * max(1.0, steps))


def _verdicts(
    rows: Sequence[PlanRow],
    fastest: PlanRow,
    curve: Sequence[CurvePoint],
    job: TrainingJob,
    known: Mapping[int, float],
    margin: float,
) -> list[str]:
    sentences = [
        _fastest(fastest),
        _distrusted(rows, fastest),
        _near_equal(rows, fastest),
        _nearly_full(fastest, curve, margin),
        _evaluation_source(curve, job, known),
        CAUTION,
    ]
    return [sentence for sentence in sentences if sentence is not None]


def _fastest(row: PlanRow) -> str:
    low, high = (format_seconds(end) if math.isfinite(end) else "unknown" for end in row.ci95)
    return f"Batch {row.batch_size} is the fastest: {format_seconds(row.training_seconds)} ({low} to {high})."


def _distrusted(rows: Sequence[PlanRow], fastest: PlanRow) -> str | None:
    """What looks faster and yet was not chosen."""
    faster = [row for row in rows if row.training_seconds < fastest.training_seconds]
    if not faster:
        return None
    named = " and ".join(
        f"{row.batch_size} ({format_seconds(row.training_seconds)}; {', '.join(doubts(row.marks))})" for row in faster
    )
    return (
        f"Batch {named} {'looks' if len(faster) == 1 else 'look'} faster, but cannot be trusted: "
        "measure again while the machine is quiet, or with more --repeats."
    )


def _is_sound(row: PlanRow) -> bool:
    return not doubts(row.marks)


def _near_equal(rows: Sequence[PlanRow], fastest: PlanRow) -> str | None:
    comparable = [row for row in rows if row == fastest or _is_sound(row)]
    near = next(row for row in comparable if row.training_seconds <= _NEAR_FASTEST * fastest.training_seconds)
    if near.batch_size >= fastest.batch_size:
        return None
    longer = format_percent(near.training_seconds / fastest.training_seconds - 1)
    return f"Batch {near.batch_size} takes only {longer} longer and leaves more memory free."


def _nearly_full(fastest: PlanRow, curve: Sequence[CurvePoint], margin: float) -> str | None:
    share = next(point.memory_share for point in curve if point.batch_size == fastest.batch_size)
    if share is None or share <= 1 - margin:
        return None
    full = format_percent(share, 0)
    return f"Batch {fastest.batch_size} fills {full} of the memory: a long run may not survive at it."


def _evaluation_source(curve: Sequence[CurvePoint], job: TrainingJob, known: Mapping[int, float]) -> str | None:
    if job.eval_every_epochs is not None and not job.eval_examples:
        return "Evaluation is not counted: the number of evaluation examples was not given."
    if not job.eval_examples or all(point.batch_size in known for point in curve):
        return None
    which = "" if not known else " where it was not measured"
    return f"An evaluation step is taken as one third of a training step{which}."
