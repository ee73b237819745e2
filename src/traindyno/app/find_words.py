"""What `find` is about to do, told before it does it."""

import shlex

from traindyno.analysis.commands import settings_words
from traindyno.analysis.find.rounds import FEWEST_ROUNDS
from traindyno.app.loader_workload import data_of
from traindyno.app.trial_costs import USUAL_COMPILING_SECONDS, expected_trials, longest_trial_seconds
from traindyno.core.requests import FindRequest
from traindyno.core.units import count_of, format_seconds
from traindyno.search.strategy import Strategy


def plan_lines(request: FindRequest, plan: Strategy, *, has_data: bool) -> list[str]:
    """How many trials, how long, what is looked at and in which order, and what is kept."""
    return [
        f"plan: {find_cost_words(request, expected_trials(plan))}",
        *(f"  {line}" for line in search_lines(request, has_data=has_data)),
    ]


def find_cost_words(request: FindRequest, expected: int) -> str:
    """About how many trials, and the time budget; without one, about how long they take."""
    budget = request.bench.time_budget_seconds
    if budget is None:
        return f"about {count_of(expected, 'trial')}, about {format_seconds(find_seconds(request, expected))}"
    return f"about {count_of(expected, 'trial')}, within the time budget of {format_seconds(budget)}"


def find_seconds(request: FindRequest, expected: int) -> float:
    """The time budget, which a search may use up; without one, what trials usually take, with one compiling."""
    budget = request.bench.time_budget_seconds
    compiling = 0.0 if "compile" in request.keep else USUAL_COMPILING_SECONDS
    return expected * longest_trial_seconds(request.trial_seconds) + compiling if budget is None else budget


def search_lines(request: FindRequest, *, has_data: bool) -> list[str]:
    """What the search looks at, in its order, and what it leaves alone."""
    settings = request.settings
    words = shlex.join(["--batch-size", str(settings.batch_size), *settings_words(settings)])
    source = f"from {data_of(request.workload)}" if has_data else "on batches made on the device"
    size = "" if request.workload.image_size is None else f", at {request.workload.image_size} px"
    data = "the loader (workers, prefetching, decoder, source) while it waits for data, " if has_data else ""
    batch = "" if "batch_size" in request.keep else "; then the batch"
    rounds = count_of(max(request.repeats, FEWEST_ROUNDS), "round")
    return [
        f"baseline: {settings.precision} {words}, {source}{size}",
        "1. the baseline as it is, and where its time goes",
        f"2. what that says is slow: {data}the switches of the step{' otherwise' if has_data else ''}{batch}",
        f"3. the best by turns with the baseline, end to end, in {rounds}, more if they differ",
        *_objective_lines(request),
        *_kept_lines(request),
    ]


def _objective_lines(request: FindRequest) -> list[str]:
    """What a batch is judged by, and how that becomes known."""
    if request.objective == "throughput":
        return []
    known = f"{request.noise_scale:g}" if request.noise_scale is not None else "read first, in runs that learn"
    return [f"objective: time to the same loss, predicted from the gradients' noise scale ({known})"]


def _kept_lines(request: FindRequest) -> list[str]:
    """Constraints in words; whether the batch may change is always said."""
    kept = [name for name in request.keep if name != "batch_size"]
    lines = [_batch_line(request), f"kept: {', '.join(kept)}" if kept else ""]
    if request.also:
        lines.append(f"may also read {', '.join(request.also)}")
    if request.prepare is not None:
        lines.append(f"may prepare the data into {request.prepare}, which changes its augmentation")
    return [line for line in lines if line]


def _batch_line(request: FindRequest) -> str:
    own = request.settings.batch_size
    if request.batch_range is not None:
        return f"batch: {own}, may change between {request.batch_range[0]} and {request.batch_range[1]}"
    if request.objective == "time-to-accuracy":
        return f"batch: {own}, may change if another should reach the same loss clearly sooner"
    if "batch_size" in request.keep:
        return f"batch: {own}, kept"
    return f"batch: {own} in what is recommended; the best with any batch is shown beside it"
