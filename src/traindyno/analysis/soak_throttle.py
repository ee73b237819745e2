"""What held the clocks of a GPU during a run, by the driver's own words and counters; never by temperature."""

from collections import Counter

from traindyno.analysis.soak_run import SoakRun
from traindyno.core.answers import Throttle
from traindyno.core.machine import APPLICATIONS_CLOCKS, GPU_IDLE, POWER_CAP

POWER = (POWER_CAP, "hardware power brake")
HARMLESS = (GPU_IDLE, APPLICATIONS_CLOCKS)
FEWEST_READINGS = 2
LEAST_SHARE = 0.01
"""A reason named in fewer readings, or in a smaller share of them, is listed but no verdict."""
LEAST_COUNTED = 0.001
"""A counter that grew by less than this share of the run tells of no event that matters."""


def throttle_of(run: SoakRun) -> Throttle:
    """Shares of the busy readings by reason, and what the counters grew by."""
    told = [reading.clock_reasons for reading in run.busy_readings if reading.clock_reasons is not None]
    seconds = _counted_seconds(run)
    if not told and not _both_counted(seconds):
        return Throttle(known=False)
    seen = Counter(reason for reasons in told for reason in reasons if reason not in HARMLESS)
    shares = {reason: count / len(told) for reason, count in seen.most_common()}
    grown = {reason: grown for reason, grown in seconds.items() if grown > LEAST_COUNTED * run.seconds}
    often = {reason for reason, count in seen.items() if count >= max(FEWEST_READINGS, LEAST_SHARE * len(told))}
    reasons = often | set(grown)
    return Throttle(
        known=True,
        thermal=any(is_thermal(reason) for reason in reasons),
        power_cap=any(reason in POWER for reason in reasons),
        shares=shares,
        seconds=grown,
    )


def other_reasons(throttle: Throttle) -> list[str]:
    """What held the clocks for a while and is neither heat nor power."""
    often = (reason for reason, share in throttle.shares.items() if share >= LEAST_SHARE)
    named = dict.fromkeys((*often, *throttle.seconds))
    return [reason for reason in named if not is_thermal(reason) and reason not in POWER]


def is_thermal(reason: str) -> bool:
    return reason.startswith("thermal")


def _both_counted(seconds: dict[str, float]) -> bool:
    """Whether counters alone would have told of heat and of the power limit."""
    return any(map(is_thermal, seconds)) and any(reason in POWER for reason in seconds)


def _counted_seconds(run: SoakRun) -> dict[str, float]:
    """What each counter grew by; none where there are no two readings of it."""
    counted = [reading.throttle_counters for reading in run.readings if reading.throttle_counters is not None]
    if len(counted) < 2:
        return {}
    first, last = counted[0], counted[-1]
    return {reason: (last[reason] - first[reason]) / 1e9 for reason in last if reason in first}
