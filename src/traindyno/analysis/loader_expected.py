"""What every worker count should give, once the study is over: measured where it was, predicted elsewhere."""

from collections.abc import Sequence

from traindyno.analysis.loader_budget import LoaderRoom, with_data
from traindyno.analysis.loader_trials import chosen_settings, known_from, rate_interval, read_loader_trials
from traindyno.analysis.worker_choice import worker_counts
from traindyno.analysis.worker_estimates import estimate_counts
from traindyno.core.answers import ExpectedRate
from traindyno.core.records import TrialRecord
from traindyno.core.requests import LoaderRequest


def expected_rates(
    request: LoaderRequest, history: Sequence[TrialRecord], usable_cpus: float
) -> tuple[ExpectedRate, ...]:
    """The curve over the counts that the search considered; a grid has measured its own."""
    trials = read_loader_trials(history, request.batch_size, request.with_model)
    known, chosen = known_from(trials, usable_cpus), chosen_settings(trials)
    if request.grid or known is None or chosen is None:
        return ()
    measured = {record.spec.settings.num_workers for record in trials.goal}
    room = with_data(LoaderRoom(), trials.probe)
    considered = request.workers or worker_counts(usable_cpus)
    fitting = {each for each in considered if room.most_workers is None or each <= room.most_workers}
    return tuple(
        ExpectedRate(
            num_workers=estimate.num_workers,
            examples_per_second=request.batch_size / estimate.seconds,
            ci95=rate_interval(request.batch_size, (estimate.low, estimate.high)),
            measured=estimate.measured,
        )
        for estimate in estimate_counts(known, sorted(fitting | measured), chosen)
    )
