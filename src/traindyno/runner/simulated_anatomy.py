"""A simulated step, taken apart: the arithmetic of a profile's line, under the floor that the host sets.

The device computes as long as the line says. Where the floor is higher the host is the limit: the phases are as long
as the floor, and the device is idle in between.
"""

from collections.abc import Iterator

from traindyno.core.anatomy import Anatomy, Phase, PhaseName, Transfer, Work
from traindyno.core.records import TrialSpec
from traindyno.runner.profile import Profile
from traindyno.runner.simulated_loading import DEFAULT_IMAGE_SIZE, exposed_transfer_seconds, making_seconds

OF_TRAINING: dict[PhaseName, float] = {"forward": 0.32, "backward": 0.62, "optimizer": 0.05, "other": 0.01}
OF_INFERENCE: dict[PhaseName, float] = {"forward": 0.99, "other": 0.01}
INSTRUMENT_COST = 0.002
PINNED_TRANSFER = 0.35
HOST_OF_FLOOR = 0.97
FLOPS_PER_EXAMPLE, BYTES_PER_EXAMPLE = 12.3e9, 0.51e9
FLOPS_CEILING, BYTES_CEILING = 5.1e13, 3.9e12


def anatomy_of(profile: Profile, spec: TrialSpec, step_seconds: float, resident_seconds: float) -> Anatomy:
    """What such a trial would tell, `step_seconds` being its time per step and `resident_seconds` without feeding."""
    infer, size = spec.workload.mode == "infer", spec.settings.batch_size
    line = (profile.alpha_seconds + profile.beta_seconds * size) / (3 if infer else 1)
    host = HOST_OF_FLOOR * profile.floor_seconds / (3 if infer else 1)
    transfer = exposed_transfer_seconds(profile, spec)
    load = max(0.0, step_seconds - resident_seconds - transfer) if spec.feed.supply == "loader" else 0.0
    computing = step_seconds - load - transfer
    parts = OF_INFERENCE if infer else OF_TRAINING
    lengths: dict[PhaseName, float] = {"load": load, "transfer": transfer}
    lengths |= {phase: share * computing for phase, share in parts.items()}
    waited = making_seconds(profile, spec) if spec.settings.num_workers == 0 else load
    return Anatomy(
        phases=tuple(_phases(lengths, host)),
        plain_step_seconds=step_seconds,
        plain_ci95=_around(step_seconds),
        instrumented_step_seconds=step_seconds * (1 + INSTRUMENT_COST),
        instrument_cost=INSTRUMENT_COST,
        instrument_cost_ci95=(INSTRUMENT_COST - 0.003, INSTRUMENT_COST + 0.003),
        load_wait_seconds=waited if spec.feed.supply == "loader" else 0.0,
        host_step_seconds=host,
        busy_seconds=min(line, computing) + transfer,
        transfers=tuple(_transfers(profile, spec)),
        work=Work(
            flops_per_step=FLOPS_PER_EXAMPLE * size / (3 if infer else 1),
            bytes_per_step=BYTES_PER_EXAMPLE * size / (3 if infer else 1),
            flops_per_second_ceiling=FLOPS_CEILING,
            bytes_per_second_ceiling=BYTES_CEILING,
        ),
    )


def _phases(lengths: dict[PhaseName, float], host_seconds: float) -> Iterator[Phase]:
    """The host queues each phase in the proportion in which the device computes it."""
    computed = sum(seconds for name, seconds in lengths.items() if name not in ("load", "transfer"))
    for name, seconds in lengths.items():
        queued = seconds if name in ("load", "transfer") else host_seconds * seconds / computed
        yield Phase(phase=name, seconds=seconds, ci95=_around(seconds), host_seconds=queued)


def _transfers(profile: Profile, spec: TrialSpec) -> Iterator[Transfer]:
    side, size = spec.workload.image_size or DEFAULT_IMAGE_SIZE, spec.settings.batch_size
    for pinned in (False, True):
        seconds = profile.transfer_seconds * size * (PINNED_TRANSFER if pinned else 1.0)
        yield Transfer(pinned=pinned, seconds=seconds, ci95=_around(seconds), bytes=4 * 3 * side * side * size)


def _around(seconds: float) -> tuple[float, float]:
    return seconds * 0.99, seconds * 1.01
