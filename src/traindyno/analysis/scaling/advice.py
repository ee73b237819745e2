"""What to do about batch and learning rate when devices are added."""

import math
from collections.abc import Iterator, Sequence

from traindyno.analysis.scaling.words import beginning, devices_words, number, times, way_words
from traindyno.core.answers.scaling import ScaleRow
from traindyno.core.requests import ScaleRequest

_RULES = {"linear": "linear", "sqrt": "square-root"}


def advice(request: ScaleRequest, rows: Sequence[ScaleRow], recommended: ScaleRow) -> tuple[str, ...]:
    """For the recommended way, or for the fastest with several devices where one is enough."""
    several = [row for row in rows if row.devices > 1 and row.examples_per_second is not None]
    row = recommended if recommended.devices > 1 else max(several, key=_rate, default=None)
    if row is None:
        return ()
    return (f"{_batch(row)}. {_rate_sentence(request, row)}", _tuning(row), *_keeping(rows, row))


def _batch(row: ScaleRow) -> str:
    changes = f"a batch of {row.batch_size} in all instead of {row.batch_per_device} on one device"
    return f"{beginning(way_words(row))} make {changes}, and {_part(row.devices)} as many steps in an epoch"


def _rate_sentence(request: ScaleRequest, row: ScaleRow) -> str:
    if row.learning_rate is None or request.learning_rate is None:
        root = times(math.sqrt(row.devices))
        rules = (
            f"{row.devices} times by the linear rule, usual with SGD, {root} by the square-root rule, usual with Adam"
        )
        return f"The learning rate must follow the batch: {rules}; --lr RATE@BATCH tells it for every row."
    if request.rate_rule not in _RULES:
        return (
            f"The learning rate of {row.learning_rate:g} is kept, as asked; a larger batch mostly wants a higher one."
        )
    rule, given = _RULES[request.rate_rule], f"{request.learning_rate:g} at batch {request.rate_batch}"
    unusual = request.rate_rule == "linear" and request.workload.optimizer != "sgd"
    usual = f"; with {request.workload.optimizer} the square-root rule is the usual one: --lr-rule sqrt" * unusual
    return f"By the {rule} rule the learning rate of {given} becomes {row.learning_rate:g} at {row.batch_size}{usual}."


def _tuning(row: ScaleRow) -> str:
    sizes = f"{row.batch_per_device},{row.batch_size}"
    return (
        "Warm the rate up over the first epochs, and tune momentum and regularisation anew; every rule fails at "
        f"batches large enough: `traindyno accuracy --batch-size {sizes}` shows whether accuracy is kept."
    )


def _keeping(rows: Sequence[ScaleRow], row: ScaleRow) -> Iterator[str]:
    """The other way, where it was measured: the batch in all stays, and every device has less to do."""
    kept, fewest = row.batch_per_device, min(each.devices for each in rows)
    like = (row.devices, kept, row.bucket_mib, row.accumulation_steps)
    same = next((r for r in rows if (r.devices, r.batch_size, r.bucket_mib, r.accumulation_steps) == like), None)
    if same is not None and same.speedup is not None:
        told = f"{times(same.speedup)} as fast as {number(fewest)}, as measured"
        instead = "" if row.efficiency is None else f", instead of {times(row.efficiency * row.devices / fewest)}"
        yield f"Or keep {kept} in all, and nothing needs tuning: {devices_words(row.devices)} are then {told}{instead}."


def _part(devices: int) -> str:
    return {2: "half", 3: "a third", 4: "a quarter", 8: "an eighth"}.get(devices, f"1/{devices}")


def _rate(row: ScaleRow) -> float:
    return row.examples_per_second or 0.0
