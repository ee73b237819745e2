"""What a throughput curve says, in words."""

from collections.abc import Sequence
from itertools import pairwise

from traindyno.analysis.choice import NEAR_BEST, BatchChoice, noisy_rivals, trusted
from traindyno.analysis.curve import ALLOCATOR_RETRIES, step_interval
from traindyno.analysis.intervals import ratio_interval
from traindyno.core.answers import CurvePoint
from traindyno.core.answers.interval import Interval
from traindyno.core.units import format_percent, format_rate, format_seconds

_FLAT_STEP = 1.15
_FLAT_STEP_UPPER_END = 1.7
_FLAT_OVERALL = 1.35
_DROP = 0.03
_MOST_DROPS = 3
_NOTABLE_DRIFT_PERCENT = 2.0


def throughput_verdicts(
    curve: Sequence[CurvePoint],
    choice: BatchChoice,
    on_gpu: bool,
    out_of_memory_from: int | None = None,
    drift: tuple[float, Interval] | None = None,
) -> tuple[str, ...]:
    """Everything worth saying about the curve, the most important first."""
    sentences = [
        saturation(curve, choice, out_of_memory_from),
        fixed_cost(curve, on_gpu),
        *drops(curve),
        retries(curve),
        drifting(drift),
    ]
    return tuple(sentence for sentence in sentences if sentence is not None)


def saturation(curve: Sequence[CurvePoint], choice: BatchChoice, out_of_memory_from: int | None) -> str:
    """From which batch on throughput is saturated, and whether memory was the limit."""
    best = _at(curve, choice.best)
    rate = f"{format_rate(best.examples_per_second)} examples/s at {best.batch_size}"
    if choice.saturated_from is None:
        return _unsaturated(curve, choice, rate, out_of_memory_from)
    near = f"{format_percent(NEAR_BEST, 0)} of the best, {rate}"
    text = f"Throughput is saturated from batch {choice.saturated_from} on ({near})"
    share = _at(curve, choice.saturated_from).memory_share
    if share is None:
        return f"{text}."
    return f"{text}, while memory is {format_percent(share, 0)} full: memory is not the limit."


def fixed_cost(curve: Sequence[CurvePoint], on_gpu: bool) -> str | None:
    """Whether small batches all take the same time per step."""
    flat = _flat_beginning(curve)
    if len(flat) < 2:
        return None
    times = [point.step_seconds for point in flat]
    text = f"Up to batch {flat[-1].batch_size} a step takes {_span(min(times), max(times))} whatever the batch"
    if on_gpu:
        return f"{text}: small batches are launch-bound, the host launches work slower than the device does it."
    return f"{text}: a fixed cost per step outweighs the examples."


def drops(curve: Sequence[CurvePoint]) -> list[str]:
    """Where throughput falls from one measured size to the next by more than 3 % and more than chance."""
    found = []
    for before, after in pairwise(curve):
        ratio, (_, high) = ratio_interval(
            before.examples_per_second, before.ci95, after.examples_per_second, after.ci95
        )
        if ratio < 1 - _DROP and high < 1 and trusted(before) and trusted(after):
            cause = ", where the allocator has to retry" if ALLOCATOR_RETRIES in after.marks else ""
            sizes = f"from {before.batch_size} to {after.batch_size}"
            found.append((ratio, f"Throughput drops {format_percent(1 - ratio, 0)} {sizes}{cause}."))
    return [text for _, text in sorted(found)[:_MOST_DROPS]]


def retries(curve: Sequence[CurvePoint]) -> str | None:
    """Whether the allocator had to free its cache and try again near the memory limit."""
    sizes = [str(point.batch_size) for point in curve if ALLOCATOR_RETRIES in point.marks]
    if not sizes:
        return None
    return f"At batch {_listed(sizes)} memory is so full that the allocator has to free its cache and retry."


def drifting(drift: tuple[float, Interval] | None) -> str | None:
    """Whether the machine became slower or faster by a notable amount while it was measured."""
    if drift is None or drift[1][0] <= 0 <= drift[1][1] or abs(drift[0]) < _NOTABLE_DRIFT_PERCENT:
        return None
    percent, (low, high) = drift
    word = "longer" if percent > 0 else "shorter"
    least, most = sorted((abs(low), abs(high)))
    return (
        f"Steps became {abs(percent):.1f} % {word} while the study ran ({least:.1f} to {most:.1f} %): "
        "the machine drifted. The sizes took turns, so no size had it alone."
    )


def _unsaturated(curve: Sequence[CurvePoint], choice: BatchChoice, rate: str, out_of_memory_from: int | None) -> str:
    if rivals := noisy_rivals(curve):
        sizes = _listed([str(point.batch_size) for point in rivals])
        return (
            f"Too noisy to tell where throughput saturates: batch {sizes} may be faster than the {rate}. "
            "Measure again while the machine is quiet, or with more --repeats."
        )
    if choice.best != curve[-1].batch_size:
        return f"The curve does not show where throughput saturates; the best is {rate}."
    if len(curve) == 1:
        return f"One batch size alone shows no saturation: {rate}."
    if out_of_memory_from is None:
        return f"Throughput still rises at the largest batch measured ({rate}): larger ones may be faster."
    return f"Throughput still rises at the largest batch that fits ({rate}): memory is the limit."


def _flat_beginning(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """The smallest sizes, as long as a size at least 1.9 times the last one costs barely more per step."""
    flat = list(curve[:1])
    for point in curve[1:]:
        if point.batch_size < 1.9 * flat[-1].batch_size:
            continue
        if not _barely_slower(flat[-1], point) or point.step_seconds > _FLAT_OVERALL * flat[0].step_seconds:
            break
        flat.append(point)
    return flat


def _barely_slower(before: CurvePoint, after: CurvePoint) -> bool:
    ratio, (_, high) = ratio_interval(
        before.step_seconds, step_interval(before), after.step_seconds, step_interval(after)
    )
    return ratio < _FLAT_STEP and high < _FLAT_STEP_UPPER_END


def _span(low: float, high: float) -> str:
    first, last = format_seconds(low), format_seconds(high)
    if first == last:
        return last
    same_unit = first.split(" ")[1:] == last.split(" ")[1:]
    return f"{first.split(' ')[0]}–{last}" if same_unit and first.count(" ") == 1 else f"{first} to {last}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _at(curve: Sequence[CurvePoint], batch_size: int) -> CurvePoint:
    return next(point for point in curve if point.batch_size == batch_size)
