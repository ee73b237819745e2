"""A training job of the user's own: what it is offered, what it tells on its way, and what it returns."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.learning import FIRST_STEP, LEARNING
from traindyno.core.records import TrialSpec
from traindyno.core.rounds import UNTOLD, JobPoint, JobResult
from traindyno.worker.channel import Channel
from traindyno.worker.user_arguments import check_arguments, names, takes
from traindyno.worker.user_file import load_function, place_of

OFFERED = ("seed", "report", "device")
RETURN = "return the metric as a number, or a dict of names and numbers with the metric first"
REPORT = "write report(step, value, training_loss=..., validation_loss=..., of=...) with plain numbers"


class Reports:
    """The function that a job is handed as `report`; it keeps what it is told, and shows that the job goes on."""

    def __init__(self, channel: Channel, clock: Callable[[], float] = time.monotonic) -> None:
        self._channel, self._clock = channel, clock
        self._start = clock()
        self.points: list[JobPoint] = []

    @property
    def seconds(self) -> float:
        return self._clock() - self._start

    def begin(self, promised: bool) -> None:
        """A job that has a parameter `report` by name is expected to use it."""
        self._start = self._clock()
        self._channel.phase(FIRST_STEP if promised else UNTOLD)

    def __call__(
        self,
        step: int,
        value: float,
        training_loss: float | None = None,
        validation_loss: float | None = None,
        of: int | None = None,
    ) -> None:
        """Tell the metric after so many steps, `of` so many in all if that is known."""
        point = JobPoint(
            step=int(number(step, "the step", REPORT)),
            value=number(value, "the value", REPORT),
            seconds=self.seconds,
            training_loss=None if training_loss is None else number(training_loss, "training_loss", REPORT),
            validation_loss=None if validation_loss is None else number(validation_loss, "validation_loss", REPORT),
        )
        if not self.points:
            self._channel.phase(LEARNING)
        self.points.append(point)
        self._channel.step(point.step, planned_steps=None if of is None else int(of))


def load_job(spec: TrialSpec, reports: Reports) -> tuple[Callable[[], Any], bool]:
    """The user's function with all that it is called with, and whether it promises to report."""
    workload, place = spec.workload, place_of(spec.workload.model)
    function = load_function(workload.model, workload.source_sha256, RETURN)
    offered = {"seed": spec.seed, "report": reports, "device": spec.settings.device}
    own = {name: offered[name] for name in OFFERED if takes(function, name)}
    for name in OFFERED:
        if name in workload.arguments:
            raise UsageError(f"{name} is no hyperparameter of {place}", "leave it away: every run is handed its own")
    check_arguments(function, place, [*workload.arguments, *own])
    return lambda: function(**workload.arguments, **own), names(function, "report")


def job_result(returned: Any, place: str, reports: Reports, seconds: float) -> JobResult:
    """A metric that is not finite is what a job came to as well: it lost its numbers."""
    others = _figures(returned, place) if isinstance(returned, Mapping) else {}
    value = next(iter(others.values())) if others else number(returned, f"what {place} returned", RETURN)
    return JobResult(
        value=value if math.isfinite(value) else math.nan,
        points=tuple(reports.points),
        seconds=seconds,
        others=others,
    )


def _figures(returned: Mapping[Any, Any], place: str) -> dict[str, float]:
    return {str(name): number(value, f"the {name} that {place} returned", RETURN) for name, value in returned.items()}


def number(value: Any, what: str, hint: str) -> float:
    """A number of Python's, numpy's or torch's as a plain one."""
    if not hasattr(value, "__float__") or getattr(value, "ndim", 0) != 0:
        raise TraindynoError(f"{what} is a {type(value).__name__}, not a number", hint)
    return float(value)
