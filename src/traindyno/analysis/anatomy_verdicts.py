"""What an anatomy study says, in words."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from traindyno.analysis.anatomy_bounds import COMPUTE, DATA, LAUNCH, MEMORY, TRANSFER, copying_share
from traindyno.analysis.anatomy_coverage import coverage_cautions
from traindyno.core.answers import AnatomyAnswer, AnatomySize, TransferCost
from traindyno.core.answers.interval import Interval
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AnatomyRequest
from traindyno.core.units import format_percent, format_scaled, format_seconds

NOTABLE_COST = 0.01
NOTABLE_COPYING = 0.02
NO_INTERVAL = "too uneven for an interval"
WIDEST = 10.0
_COMPUTING = ("forward", "backward", "optimizer", "communication")
_OPTIMISER = {"optimizer": "the optimiser"}


def anatomy_verdicts(request: AnatomyRequest, answer: AnatomyAnswer, records: Sequence[TrialRecord]) -> tuple[str, ...]:
    """The bound first, then waiting, moving, what is achieved, what the batch size changes, and what was left out."""
    chosen = next(size for size in answer.sizes if size.batch_size == answer.batch_size)
    return (
        headline(answer),
        *waiting(request, answer),
        *moving(chosen),
        *achieved(answer),
        *over_sizes(answer.sizes),
        *left_out(request, answer, records),
    )


def anatomy_cautions(answer: AnatomyAnswer) -> tuple[str, ...]:
    """What a reader must know about the instruments themselves."""
    found = []
    if answer.instrument_cost > NOTABLE_COST:
        settled = answer.instrument_cost_ci95[0] > 0
        make = "make" if settled else "may make"
        cost = f"{format_percent(answer.instrument_cost)} ({shares_between(answer.instrument_cost_ci95)})"
        more = "phases are as much too long" if settled else "more --repeats or a quieter machine would settle it"
        found.append(f"The instruments {make} the step {cost} longer; {more}.")
    return (*found, *coverage_cautions(answer.sizes))


def headline(answer: AnatomyAnswer) -> str:
    """The bound and the figures it rests on."""
    step = f"a step of {answer.batch_size} examples takes {format_seconds(answer.step_seconds)}"
    whole = f"{step} ({seconds_between(answer.ci95)})"
    if answer.bound == DATA:
        part = _phase(answer, "load")
        return f"Data-bound: {whole}, and for {part} of it the device stands still because its batch is not there."
    if answer.bound == TRANSFER:
        return f"Transfer-bound: {whole}, and {_phase(answer, 'transfer')} of it is moving the batch to the device."
    if answer.bound == LAUNCH:
        idle = f"the device is idle {_part(answer.idle_share or 0.0)} of the time"
        why = f"{_host_needs(answer)}, and {idle}" if answer.host_share is not None else idle
        return f"Launch-bound: {whole}; {why}. A larger batch, or fewer and larger kernels, would use the device."
    if answer.bound == MEMORY:
        moved = format_percent(answer.utilization.bytes_share or 0.0, 0)
        return f"Memory-bound: {whole}, at {moved} of the rate at which this device copies its memory."
    assert answer.bound == COMPUTE
    return f"Compute-bound: {whole}, {_longest(answer)}."


def _host_needs(answer: AnatomyAnswer) -> str:
    copying = copying_share(answer.phases)
    more = f" and {_part(copying)} to copy the batch" if copying >= NOTABLE_COPYING else ""
    return f"the host needs {_part(answer.host_share or 0.0)} of it to queue the work{more}"


def waiting(request: AnatomyRequest, answer: AnatomyAnswer) -> Iterator[str]:
    """The two numbers that are easily taken for one another: what the host waits, and what the device does."""
    if request.from_loader and request.bench.device == "cpu":
        yield f"For each batch the step waits {format_seconds(answer.stall_seconds)}."
    elif request.from_loader:
        host, device = format_seconds(answer.host_wait_seconds), format_seconds(max(0.0, answer.stall_seconds))
        yield f"For each batch the host waits {host}, and the device stands still {device}."


def moving(size: AnatomySize) -> Iterator[str]:
    """What pinned memory saves in moving a batch."""
    pageable, pinned = (next((each for each in size.transfers if each.pinned == kind), None) for kind in (False, True))
    if pageable is None or pinned is None:
        return
    yield f"Moving one batch takes {_transfer(pinned)} from pinned memory, and {_transfer(pageable)} from pageable."


def achieved(answer: AnatomyAnswer) -> Iterator[str]:
    """The share of the hardware, or why there is none to tell."""
    use = answer.utilization
    if use.flops_share is not None and use.flops_per_second is not None:
        rate = format_scaled(use.flops_per_second, "FLOP/s")
        yield f"It computes {rate}: {_part(use.flops_share)} of what a large matrix product reaches here."
    if use.bytes_share is not None and use.bytes_per_second is not None:
        rate = format_scaled(use.bytes_per_second, "B/s")
        yield f"It moves {rate} in memory: {_part(use.bytes_share)} of what a large copy reaches here."
    if use.flops_share is None or use.bytes_share is None:
        what = "arithmetic" if use.bytes_share is not None else "memory traffic" if use.flops_share else "hardware"
        yield f"The share of the {what} that is used is N/A: {use.unknown_because or 'it was not counted'}."


def over_sizes(sizes: Sequence[AnatomySize]) -> Iterator[str]:
    if len(sizes) < 2:
        return
    first, last = sizes[0], sizes[-1]
    small, large = (format_seconds(each.step_seconds / each.batch_size) for each in (first, last))
    yield f"Per example the step takes {small} at batch {first.batch_size} and {large} at batch {last.batch_size}."
    turned = [(one, other) for one, other in pairwise(sizes) if one.bound != other.bound]
    for one, other in turned:
        yield f"From {one.bound} at batch {one.batch_size} it turns {other.bound} at batch {other.batch_size}."


def left_out(request: AnatomyRequest, answer: AnatomyAnswer, records: Sequence[TrialRecord]) -> Iterator[str]:
    """Sizes without figures: those that failed, and those that were then not tried."""
    measured = {size.batch_size for size in answer.sizes}
    asked = sorted({request.settings.batch_size, *request.sizes} - measured)
    failed = {record.batch_size: record for record in records if record.batch_size in asked and not record.ok}
    for size, record in sorted(failed.items()):
        why = "it does not fit in memory" if record.outcome.out_of_memory else record.outcome.replace("_", " ")
        yield f"Batch {size} is left out: {why}."
    untried = [size for size in asked if size not in failed]
    if untried:
        yield f"Not tried: batch {', '.join(map(str, untried))}."
    if answer.batch_size != request.settings.batch_size:
        yield f"The answer is about batch {answer.batch_size}, the largest that was measured."


def seconds_between(interval: Interval) -> str:
    """`26.9 ms to 27.3 ms`; ends that are worlds apart tell nothing."""
    low, high = interval
    return f"{format_seconds(low)} to {format_seconds(high)}" if high <= WIDEST * low else NO_INTERVAL


def shares_between(interval: Interval) -> str:
    low, high = interval
    return f"{low * 100:.1f} to {high * 100:.1f} %" if high - low <= 1 else NO_INTERVAL


def _part(share: float) -> str:
    """In whole percent; what rounds to nothing is not nothing."""
    return "under 1 %" if 0 < share < 0.005 else format_percent(share, 0)


def _phase(answer: AnatomyAnswer, name: str) -> str:
    cost = answer.phases[name]
    low, high = (end * cost.share / cost.seconds for end in cost.ci95)
    return f"{format_percent(cost.share, 0)} ({shares_between((low, high))})"


def _longest(answer: AnatomyAnswer) -> str:
    """`of which forward is 31 %, backward 62 % and the optimiser 5 %`."""
    parts = [(name, answer.phases[name].share) for name in _COMPUTING if name in answer.phases]
    shown = [f"{_OPTIMISER.get(name, name)} {format_percent(share, 0)}" for name, share in parts if share >= 0.005]
    if not shown:
        return "nearly all of it computing"
    return f"of which {' and '.join(filter(None, (', '.join(shown[:-1]), shown[-1])))}"


def _transfer(cost: TransferCost) -> str:
    rate = format_scaled(cost.bytes_per_second, "B/s")
    return f"{format_seconds(cost.seconds)} ({rate})"
