"""Following a strategy that feeds a model, where it is not known from outside whether a user's file has data."""

from collections.abc import Callable
from typing import TypeVar

from traindyno.analysis.probes import nothing_to_load
from traindyno.app.attempt import TrialFailedError
from traindyno.app.loader_workload import has_data
from traindyno.app.study import Study
from traindyno.core.records import TrialRecord, WorkloadSpec
from traindyno.search.strategy import Strategy

S = TypeVar("S", bound=Strategy)


def drive_fed(
    study: Study,
    workload: WorkloadSpec,
    plan_of: Callable[[bool], S],
    stops: Callable[[TrialRecord], bool] | None = None,
) -> tuple[S, list[TrialRecord]]:
    """The strategy and its trials. `plan_of` is asked with a loader, and without one if a trial found no data."""
    if has_data(workload) and not any(map(nothing_to_load, study.records)):
        plan = plan_of(True)
        try:
            return plan, study.drive(plan, stops=stops)
        except TrialFailedError as error:
            if not nothing_to_load(error.record):
                raise
    plan = plan_of(False)
    return plan, study.drive(plan, stops=stops)
