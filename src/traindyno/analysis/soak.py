"""The conclusion of a long run: drift and its causes, epochs, neighbours, energy and cost."""

from collections.abc import Iterator

from traindyno.analysis.soak_change import sudden_change, without_drift
from traindyno.analysis.soak_drift import drift_of, is_shown
from traindyno.analysis.soak_ends import ends_ratio
from traindyno.analysis.soak_energy import cost_of_epoch, joules_per_example
from traindyno.analysis.soak_epochs import first_epoch, pause_between
from traindyno.analysis.soak_neighbours import neighbours_of
from traindyno.analysis.soak_run import SoakRun, ranges_of
from traindyno.analysis.soak_stalls import periodic_stall
from traindyno.analysis.soak_throttle import throttle_of
from traindyno.analysis.soak_verdicts import (
    drift_verdict,
    epoch_verdicts,
    neighbour_verdicts,
    sampling_verdict,
    stall_verdicts,
    throttle_verdicts,
)
from traindyno.core.answers import SoakAnswer
from traindyno.core.answers.interval import Interval
from traindyno.core.records import TrialRecord
from traindyno.core.requests import SoakRequest
from traindyno.core.units import format_seconds

CUT_SHORT = 0.98


def conclude_soak(request: SoakRequest, record: TrialRecord, *, seconds: float, simulated: bool = False) -> SoakAnswer:
    """Everything that one run says, also one that ended early."""
    run = SoakRun.of(record)
    change, throttle = sudden_change(run.settled_points), throttle_of(run)
    drift = drift_of(run.settled_points, None if change is None else change.at_seconds)
    if change is not None and _shown(drift):
        change = without_drift(change, run.settled_points, _shown(drift))
    bend = ends_ratio(run.settled_points) if drift is not None and not _shown(drift) and change is None else None
    first, pause = first_epoch(run, _shown(drift)), pause_between(run)
    joules = joules_per_example(run)
    epoch_examples = request.epoch_examples or run.soak.epoch_examples
    own_epoch = run.soak.epoch_examples or request.epoch_examples
    cost = None if record.series is None else record.series.cost
    return SoakAnswer(
        model=request.workload.model,
        mode=request.workload.mode,
        batch_size=run.batch_size,
        examples_per_second=run.examples_per_second,
        drift_percent_per_minute=None if drift is None else drift[0],
        ci95=None if drift is None else drift[1],
        ends_ratio=bend,
        change_ratio=None if change is None else change.ratio,
        change_seconds=None if change is None else change.at_seconds,
        throttle=throttle,
        energy_joules_per_example=joules,
        energy_joules_per_epoch=None if joules is None or epoch_examples is None else joules * epoch_examples,
        cost_per_epoch=cost_of_epoch(run, epoch_examples, request.price_per_hour, request.price_per_kwh),
        first_epoch_ratio=None if first is None else first.ratio,
        epoch_pause_seconds=None if pause is None else pause.seconds,
        epochs=0 if own_epoch is None else run.examples // own_epoch,
        run_seconds=run.seconds,
        sampling_cost=cost,
        ranges=ranges_of(run),
        verdicts=(
            *_shortened(request, run),
            *drift_verdict(run, drift, change, bend, throttle),
            *throttle_verdicts(throttle, simulated or request.bench.device.startswith("cuda")),
            *epoch_verdicts(first, pause, request.settings),
            *stall_verdicts(run, periodic_stall(run), on_gpu=request.bench.device.startswith("cuda")),
            *neighbour_verdicts(neighbours_of(run)),
            *_unpriced(request, epoch_examples, joules),
            *sampling_verdict(cost),
        ),
        seconds=seconds,
        simulated=simulated,
    )


def _shown(drift: tuple[float, Interval] | None) -> float:
    """The drift, if it is more than chance."""
    return drift[0] if drift is not None and is_shown(drift) else 0.0


def _shortened(request: SoakRequest, run: SoakRun) -> Iterator[str]:
    if run.seconds < CUT_SHORT * request.run_seconds:
        yield (
            f"The run ended after {format_seconds(run.seconds)} of {format_seconds(request.run_seconds)}; "
            "all that follows is about these."
        )


def _unpriced(request: SoakRequest, epoch_examples: int | None, joules: float | None) -> Iterator[str]:
    """Why a price that was given came to nothing, or is not in the cost."""
    if request.price_per_hour is None and request.price_per_kwh is None:
        return
    if epoch_examples is None:
        yield "There is no cost per epoch: an epoch has no length. Give --epoch-examples."
    elif request.price_per_kwh is not None and joules is None:
        if request.price_per_hour is None:
            yield "There is no cost per epoch: the energy is unknown, so its price cannot be counted."
        else:
            yield "The cost per epoch is the machine's alone: the energy is unknown, so its price is not in it."
