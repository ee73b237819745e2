"""What a study of scaling says, in words."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.plan import CAUTION
from traindyno.analysis.scaling.choice import NEAR_FASTEST
from traindyno.analysis.scaling.communicating import communication, loading, stragglers, wrapper_words
from traindyno.analysis.scaling.paying import growing, linear, paying
from traindyno.analysis.scaling.points import Point, point_of_row
from traindyno.analysis.scaling.predicting import foretold, predicted_words
from traindyno.analysis.scaling.rows import usual_rows
from traindyno.analysis.scaling.variants import variants
from traindyno.analysis.scaling.ways import Way
from traindyno.analysis.scaling.words import beginning, devices_words, number, way_words
from traindyno.core.answers.scaling import ScaleAnswer, ScaleRow
from traindyno.core.records import TrialRecord
from traindyno.core.requests import ScaleRequest
from traindyno.core.units import count_of, format_percent, format_rate, format_seconds


def scale_verdicts(
    request: ScaleRequest, answer: ScaleAnswer, ways: Sequence[Way], failed: dict[Point, TrialRecord], shown: Way
) -> tuple[str, ...]:
    """Whether devices pay first, then where the step goes, what more of them would do, and what to know besides.

    What stands in a table is said of the most devices alone, and what is as one would expect is not said at all.
    `shown` is the way of which the ranks are told.
    """
    rows = usual_rows(request, answer.rows)
    shown_row = next(row for row in answer.rows if point_of_row(row) == shown.point)
    on_cpu = request.bench.device == "cpu"
    return (
        *_not_reached(request, ways, failed),
        *paying(rows, answer.break_even),
        *linear(rows, on_cpu, request.from_loader),
        *growing(rows),
        *_fastest(answer),
        *communication(rows, ways),
        *stragglers(answer.ranks, shown_row),
        *loading(shown_row),
        *predicted_words(answer.predicted, answer.link, shown),
        *foretold(answer.rows),
        *variants(request, answer.rows),
        *wrapper_words(answer.ddp_cost, answer.ddp_cost_ci95, several=shown.point.devices > 1),
        *_training(answer.rows),
        *_base(rows),
        *_measured_once(ways),
        *_on_cpu(answer, on_cpu),
        *_failures(failed, {way.point.devices for way in ways}),
    )


def _fastest(answer: ScaleAnswer) -> Iterator[str]:
    """Where another way is recommended, which is told by itself."""
    assert answer.fastest is not None
    assert answer.recommended is not None
    fastest, recommended = answer.rows[answer.fastest], answer.rows[answer.recommended]
    rate = f"{format_rate(fastest.examples_per_second or 0.0)} examples/s"
    if recommended.devices < fastest.devices:
        come = "comes" if recommended.devices == 1 else "come"
        near = f"{way_words(recommended)} {come} within {format_percent(1 - NEAR_FASTEST, 0)} of it"
        yield f"The fastest way measured is {way_words(fastest)}, {rate}; {near}."


def _training(rows: Sequence[ScaleRow]) -> Iterator[str]:
    """The shortest training, and the cheapest where there is a price."""
    timed = [row for row in rows if row.training_seconds is not None]
    if not timed:
        return
    shortest = min(timed, key=lambda row: row.training_seconds or 0.0)
    cheapest = min(timed, key=lambda row: row.cost or 0.0)
    yield f"Training is the shortest on {way_words(shortest)}: {_time_and_cost(shortest)}."
    if cheapest.cost is not None and cheapest is not shortest:
        yield f"It costs the least on {way_words(cheapest)}: {_time_and_cost(cheapest)}."
    yield CAUTION


def _time_and_cost(row: ScaleRow) -> str:
    cost = "" if row.cost is None else f", which costs {row.cost:,.2f}"
    return f"{format_seconds(row.training_seconds)}{cost}"


def _base(rows: Sequence[ScaleRow]) -> Iterator[str]:
    fewest = min((row.devices for row in rows), default=1)
    if fewest > 1:
        against = f"{number(fewest)}, the fewest that were measured"
        yield f"Efficiency and speed-up are against {against}: give --devices 1 besides to have them against one."


def _measured_once(ways: Sequence[Way]) -> Iterator[str]:
    if all(len(way.scalings) == 1 for way in ways):
        yield "Every way was measured once: intervals leave out how processes differ, which --repeats covers."


def _on_cpu(answer: ScaleAnswer, on_cpu: bool) -> Iterator[str]:
    if not on_cpu or max(row.devices for row in answer.rows) == 1:
        return
    threads = answer.threads_per_device
    has = "" if threads is None else f" with {count_of(threads, 'thread')}"
    yield (
        f"A device is a process{has} here, a share of one processor: all share its memory bandwidth and caches, so "
        "what they lose together is not communication alone, and machines of their own would lose less of it."
    )


def _not_reached(request: ScaleRequest, ways: Sequence[Way], failed: dict[Point, TrialRecord]) -> Iterator[str]:
    """Counts that were asked for and have neither a number nor a failure, as where the study ended before them."""
    seen = {way.point.devices for way in ways} | {point.devices for point in failed}
    for devices in sorted(set(request.devices) - seen):
        were = "was" if devices == 1 else "were"
        yield f"{beginning(devices_words(devices))} {were} not measured: what is recommended leaves that open."


def _failures(failed: dict[Point, TrialRecord], measured_counts: set[int]) -> Iterator[str]:
    for point, record in failed.items():
        who = f"{devices_words(point.devices)} with {point.batch_per_device}{'' if point.devices == 1 else ' each'}"
        if record.outcome.out_of_memory:
            left_out = "larger batches, and as large ones on more devices, were left out"
            yield f"{beginning(who)} ran out of memory: {left_out}."
        else:
            yield f"{beginning(who)} could not be measured: {record.outcome.value.replace('_', ' ')}."
    for devices in sorted({point.devices for point in failed} - measured_counts):
        yield f"Nothing could be measured with {devices_words(devices)}; whatever failures ruled out was not tried."
