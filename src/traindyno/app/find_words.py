"""What `find` is about to do, told before it does it."""

import shlex

from traindyno.analysis.commands import settings_words
from traindyno.app.loader_workload import data_of
from traindyno.app.trial_costs import at_most_seconds, count_of, expected_trials, longest_trial_seconds
from traindyno.core.requests import FindRequest
from traindyno.core.units import format_seconds
from traindyno.search.strategy import Strategy


def plan_lines(request: FindRequest, plan: Strategy, *, has_data: bool) -> list[str]:
    """How many trials, how long at most, what is looked at and in which order, and what is kept."""
    expected, budget = expected_trials(plan), request.bench.time_budget_seconds
    at_most = format_seconds(at_most_seconds(expected, longest_trial_seconds(request.trial_seconds), budget))
    return [
        f"plan: about {count_of(expected, 'trial')}, at most about {at_most}",
        *(f"  {line}" for line in search_lines(request, has_data=has_data)),
    ]


def search_lines(request: FindRequest, *, has_data: bool) -> list[str]:
    """What the search looks at, in its order, and what it leaves alone."""
    settings = request.settings
    words = shlex.join(["--batch-size", str(settings.batch_size), *settings_words(settings)])
    source = f"from {data_of(request.workload)}" if has_data else "on batches made on the device"
    data = "the loader (workers, prefetching, decoder, source) while it waits for data, " if has_data else ""
    return [
        f"baseline: {settings.precision} {words}, {source}",
        "1. the baseline as it is, and where its time goes",
        f"2. what that says is slow: {data}the switches of the step{' otherwise' if has_data else ''}; then the batch",
        f"3. the best by turns with the baseline, end to end, in {count_of(request.repeats, 'round')}",
        *_kept_lines(request),
    ]


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
    if "batch_size" in request.keep:
        return f"batch: {own}, kept"
    return f"batch: {own} in what is recommended; the best with any batch is shown beside it"
