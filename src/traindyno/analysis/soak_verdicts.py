"""What a long run has shown, in sentences: each with its numbers, and with what to do about it."""

from collections.abc import Iterator

from traindyno.analysis.intervals import median
from traindyno.analysis.soak_change import Change
from traindyno.analysis.soak_drift import FEWEST_SPANS, LEAST_SECONDS, decimals_of, is_shown
from traindyno.analysis.soak_epochs import FirstEpoch, Pause
from traindyno.analysis.soak_neighbours import Neighbours
from traindyno.analysis.soak_run import SoakRun, known_values
from traindyno.analysis.soak_stalls import PeriodicStall
from traindyno.analysis.soak_throttle import LEAST_SHARE, POWER, is_thermal, other_reasons
from traindyno.core.answers import Throttle
from traindyno.core.answers.interval import Interval
from traindyno.core.records import Settings
from traindyno.core.units import format_percent, format_seconds

LEAST_CLOCK_CHANGE = 0.02
LEAST_PAUSE_SHARE = 0.01
LEAST_WAIT_SHARE = 0.05
ENDS = 0.2
COSTLY_SAMPLING = 0.01
CROWDED = 0.5


def drift_verdict(
    run: SoakRun, drift: tuple[float, Interval] | None, change: Change | None, bend: float | None, throttle: Throttle
) -> Iterator[str]:
    """How the rate changed, at once, bit by bit or otherwise, or why that cannot be said.

    With a `change` the `drift` is what there is besides. `bend` is the rate at the end by that at the beginning, of a
    change that is no line.
    """
    if change is not None:
        how = f"{_by(change.ratio, ' all at once,')} after {format_seconds(change.at_seconds)}"
        yield f"Throughput {how}{_meanwhile(run, throttle, change.ratio < 1)}."
    since = f"after the first {format_seconds(run.settled_from)}"
    if drift is None:
        left = run.seconds - run.settled_from
        yield (
            f"Too short to tell a drift: {format_seconds(left)} are left {since}, and at least "
            f"{format_seconds(_needed_seconds(left, len(run.settled_points)))} are needed. Give more --minutes."
        )
        return
    if bend is not None:
        how = f"{_by(bend)} from the first to the last fifth of what came {since}, not along a line"
        yield f"Throughput {how}{_meanwhile(run, throttle, bend < 1)}."
        return
    meanwhile = _meanwhile(run, throttle, drift[0] < 0) if change is None and is_shown(drift) else ""
    yield f"{_steady(drift, since, besides=change is not None)}{meanwhile}."


def _needed_seconds(seconds: float, points: int) -> float:
    """How long a run must be for a drift, where slow steps made so few points in so many seconds."""
    return max(LEAST_SECONDS, seconds * FEWEST_SPANS / points if points else 0.0)


def _steady(drift: tuple[float, Interval], since: str, *, besides: bool) -> str:
    """The drift in words, with as many figures as its interval leaves."""
    value, (low, high) = drift
    digits = decimals_of(drift[1])
    if not is_shown(drift):
        none = "Besides, no steady drift is shown" if besides else "No drift is shown"
        ends = f"{low:+.{digits}f} to {high:+.{digits}f}"
        return f"{none}: throughput changed by {value:+.{digits}f} % per minute ({ends}) {since}"
    how = f"{'Besides, throughput' if besides else 'Throughput'} {'fell' if value < 0 else 'rose'}"
    least, most = sorted((abs(low), abs(high)))
    return f"{how} {abs(value):.{digits}f} % per minute ({least:.{digits}f} to {most:.{digits}f}) {since}"


def throttle_verdicts(throttle: Throttle, on_gpu: bool) -> Iterator[str]:
    """Heat, the power limit, and whatever else held the clocks, each for itself."""
    if not throttle.known:
        why = "the driver does not tell" if on_gpu else "no GPU was read"
        yield f"Whether clocks were held back by heat or power is unknown: {why}."
        return
    thermal = [reason for reason in _reasons(throttle) if is_thermal(reason)]
    power = [reason for reason in _reasons(throttle) if reason in POWER]
    others = other_reasons(throttle)
    if throttle.thermal:
        yield (
            f"Heat held the clocks back: {_extent(throttle, thermal)}. Check fans and airflow "
            "(nvidia-smi -q -d TEMPERATURE), or lower the power limit so that the clocks stay even."
        )
    if throttle.power_cap:
        yield f"The power limit set the clocks: {_extent(throttle, power)}. That is no heat, and no fault by itself."
    if others:
        yield f"Something else held the clocks: {_extent(throttle, others)}."
    if not (throttle.thermal or throttle.power_cap or others):
        rare = [*thermal, *power]
        seen = f" Seen too rarely to matter: {_extent(throttle, rare)}." if rare else ""
        yield f"The clocks were held back by neither heat nor the power limit.{seen}"


def epoch_verdicts(first: FirstEpoch | None, pause: Pause | None, settings: Settings) -> Iterator[str]:
    if first is not None and first.clear:
        how = "slower" if first.ratio < 1 else "faster"
        why = " Data read for the first time, and caches still empty, do that." if first.ratio < 1 else ""
        yield f"The first epoch was {format_percent(abs(1 - first.ratio))} {how} than the later ones.{why}"
    if pause is None:
        return
    share = "" if pause.share is None else f", {format_percent(pause.share)} of the epoch"
    edges = f"median of {pause.edges}" if pause.edges > 1 else "seen once"
    text = f"After each epoch training paused for {format_seconds(pause.seconds)} ({edges}{share})"
    if (pause.share or 0.0) < LEAST_PAUSE_SHARE:
        yield f"{text}, which hardly counts."
    elif settings.num_workers and not settings.persistent_workers:
        yield f"{text}: workers start anew and fill up. Try --set persistent_workers=true."
    else:
        yield f"{text}: the first batches of an epoch are waited for."


def stall_verdicts(run: SoakRun, stall: PeriodicStall | None, *, on_gpu: bool) -> Iterator[str]:
    """On a GPU the host may wait for batches while there is work queued: that alone holds nothing up."""
    if stall is not None:
        yield (
            f"Every {format_seconds(stall.period_seconds)} a stall of about {format_seconds(stall.lost_seconds)} came "
            f"back ({stall.count} times): look for something that runs at that pace, such as writing logs or "
            "checkpoints, or another program's timer."
        )
    waits = [block.wait_seconds for block in run.soak.blocks if block.wait_seconds is not None]
    if waits and sum(waits) / run.seconds >= LEAST_WAIT_SHARE:
        share = format_percent(sum(waits) / run.seconds, 0)
        if on_gpu:
            yield (
                f"For {share} of the run the host waited for batches. That holds the GPU up only as far as it has no "
                "work queued: `traindyno stalls` says whether, and by what."
            )
        else:
            yield f"{share} of the run was spent waiting for batches: `traindyno stalls` says for what."


def neighbour_verdicts(neighbours: Neighbours) -> Iterator[str]:
    if neighbours.gpu_processes:
        many = "another process" if neighbours.gpu_processes == 1 else f"{neighbours.gpu_processes} other processes"
        yield f"Noisy neighbour: {many} used the GPU during the run. Wait for a quiet machine, or choose another GPU."
    if neighbours.slowed is not None:
        yield (
            f"Noisy neighbour: while other programs took up to {format_percent(neighbours.highest_share or 0.0, 0)} of "
            f"the CPUs, training was {format_percent(neighbours.slowed)} slower. Run them elsewhere or at another time."
        )
    elif (neighbours.usual_share or 0.0) >= CROWDED:
        yield (
            f"Not alone: other programs took {format_percent(neighbours.usual_share or 0.0, 0)} of the CPUs all along. "
            "On a quiet machine training may be faster, and steadier."
        )


def sampling_verdict(cost: float | None) -> Iterator[str]:
    if cost is not None and cost > COSTLY_SAMPLING:
        yield f"Reading the machine took {format_percent(cost)} of one CPU, which is more than it should."


def _by(ratio: float, how: str = "") -> str:
    """`fell by 12 %`."""
    return f"{'fell' if ratio < 1 else 'rose'}{how} by {format_percent(abs(1 - ratio))}"


def _meanwhile(run: SoakRun, throttle: Throttle, fell: bool) -> str:
    """What goes with a change: the clocks, and for a fall what the driver says of heat."""
    return f"{_clock_words(run)}{_cause_words(throttle) if fell else ''}"


def _clock_words(run: SoakRun) -> str:
    """What the clocks did meanwhile, from the first readings to the last."""
    settled = [reading for reading in run.busy_readings if run.seconds_of(reading) >= run.settled_from]
    clocks = known_values(settled, "sm_clock_mhz")
    part = max(1, round(ENDS * len(clocks)))
    if len(clocks) < 2 * part:
        return ""
    before, after = median(clocks[:part]), median(clocks[-part:])
    if abs(after - before) < LEAST_CLOCK_CHANGE * before:
        return f": the clocks stayed at {after:.0f} MHz"
    return f": the clocks {'fell' if after < before else 'rose'} from {before:.0f} to {after:.0f} MHz"


def _cause_words(throttle: Throttle) -> str:
    thermal = [reason for reason in _reasons(throttle) if is_thermal(reason)]
    if not throttle.known:
        return ""
    if throttle.thermal:
        return f"; the driver reports {_extent(throttle, thermal)}"
    return "; the driver hardly reports heat" if thermal else "; the driver reports no heat"


def _reasons(throttle: Throttle) -> list[str]:
    return list(dict.fromkeys((*throttle.shares, *throttle.seconds)))


def _extent(throttle: Throttle, reasons: list[str]) -> str:
    """`thermal software slowdown for 43 % of the time (41 s by the driver's counter)`."""
    return ", ".join(_one_extent(throttle, reason) for reason in reasons)


def _one_extent(throttle: Throttle, reason: str) -> str:
    share, seconds = throttle.shares.get(reason), throttle.seconds.get(reason)
    counted = "" if seconds is None else f"{format_seconds(seconds)} by the driver's counter"
    if share is None:
        return f"{reason} ({counted})"
    part = format_percent(share, 0 if share >= LEAST_SHARE else 1)
    return f"{reason} for {part} of the time{f' ({counted})' if counted else ''}"
