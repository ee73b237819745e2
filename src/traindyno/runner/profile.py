"""What a simulated device is like, and how a user describes one: `limit=100,noise=0.02,fail=64:crash`."""

import math

from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.outcomes import Outcome

MAY_BE_BELOW_ZERO = ("drift_percent", "depth_gain")
MAY_BE_ENDLESS = ("hot_after_seconds", "bandwidth")


class Profile(Record, frozen=True):
    """What is simulated. Bytes and seconds; `limit` is the largest batch that fits, `noise` a relative spread.

    The times of the loader's stages are per example and in one process; `cold_seconds` is what fetching costs on top
    when the page cache is empty. `hand_off_seconds` is per batch, `worker_start_seconds` per worker.

    A long run drifts by `drift_percent` per minute, pauses after each epoch, tells of heat from `hot_after_seconds` on,
    runs at its power limit if `power_capped` is 1, and has a neighbour that takes so much of the CPUs now and then.

    Training that learns needs `least_steps` times 1 + `noise_scale` / batch for each stretch of its way, at the best
    rate; that is `best_rate` for very large batches. It comes near `best_accuracy`, which varies by `seed_spread`
    and is `depth_gain` higher for an `mlp:` with a second layer.

    Several devices hand `gradient_bytes` around a ring: each of its hops takes `latency` seconds, and bytes over
    `bandwidth`. `overlap` is the share of it that goes on beside computing. The last of the devices is slower than the
    others by the share `straggler`.
    """

    limit: int = 1704
    intercept_bytes: float = 1.2e9
    slope_bytes: float = 86e6
    floor_seconds: float = 0.0175
    alpha_seconds: float = 0.0036
    beta_seconds: float = 1 / 2272
    noise: float = 0.004
    sleep: float = 0.0
    cpus: int = 8
    examples: int = 50_000
    fetch_seconds: float = 0.00015
    decode_seconds: float = 0.0031
    augment_seconds: float = 0.0012
    collate_seconds: float = 0.00004
    cold_seconds: float = 0.003
    transfer_seconds: float = 0.00003
    hand_off_seconds: float = 0.001
    worker_start_seconds: float = 0.09
    drift_percent: float = 0.0
    pause_seconds: float = 0.0
    hot_after_seconds: float = math.inf
    power_capped: int = 0
    neighbour_share: float = 0.0
    noise_scale: float = 128.0
    least_steps: float = 150.0
    best_rate: float = 0.25
    best_accuracy: float = 0.95
    seed_spread: float = 0.004
    depth_gain: float = 0.01
    latency: float = 5e-5
    bandwidth: float = 10e9
    overlap: float = 0.5
    straggler: float = 0.0
    gradient_bytes: float = 102e6
    fail: tuple[tuple[int, Outcome], ...] = ()


def parse_profile(text: str) -> Profile:
    """Read `limit=100,noise=0.02`; a wrong name or value is answered with what there is."""
    values: dict[str, object] = {}
    failures: list[tuple[int, Outcome]] = []
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            if name == "fail":
                size, _, outcome = value.partition(":")
                failures.append((int(size), Outcome(outcome)))
            elif name in ("limit", "cpus", "examples", "power_capped"):
                values[name] = int(value)
            elif name in Profile.__struct_fields__:
                values[name] = float(value)
            else:
                raise ValueError(name)
        except ValueError:
            known = ", ".join(field for field in Profile.__struct_fields__)
            raise UsageError(
                f"{part!r} does not describe a simulated device", f"use name=value with one of: {known}"
            ) from None
    profile = Profile(**values, fail=tuple(failures))  # type: ignore[arg-type]
    _check_links(profile)
    _check_numbers(profile)
    return profile


def _check_numbers(profile: Profile) -> None:
    """Times, bytes and counts that no device could have."""
    counts = min(profile.limit, profile.cpus, profile.examples)
    numbers = {name: value for name in Profile.__struct_fields__ if isinstance(value := getattr(profile, name), float)}
    wrong = [name for name, value in numbers.items() if not _may_be(name, value)]
    if counts < 1 or wrong:
        told = f"{wrong[0]}={numbers[wrong[0]]:g}" if wrong else "a limit, CPUs or examples below 1"
        raise UsageError(
            f"{told} is of no device",
            "limit, cpus and examples start at 1; all others have an end, and only "
            f"{' and '.join(MAY_BE_BELOW_ZERO)} may be below 0",
        )


def _may_be(name: str, value: float) -> bool:
    return (value >= 0 or name in MAY_BE_BELOW_ZERO) and (
        math.isfinite(value) or (value > 0 and name in MAY_BE_ENDLESS)
    )


def _check_links(profile: Profile) -> None:
    """Devices that no group of them could be like."""
    least = {"latency": profile.latency, "straggler": profile.straggler}
    if not (all(0 <= value < math.inf for value in least.values()) and 0 <= profile.overlap <= 1):
        raise UsageError("such links are of no devices", "latency and straggler are from 0 on, overlap from 0 to 1")
    if not (profile.bandwidth > 0 and 0 < profile.gradient_bytes < math.inf):
        raise UsageError("such links are of no devices", "bandwidth and gradient_bytes are above 0")
