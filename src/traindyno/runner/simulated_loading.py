"""A simulated loader: what making, handing over and moving a batch would take on the machine of a profile.

Workers share the CPUs there are, and whoever asks them waits for the slower of making and handing over. The device
computes while the next batch is made, with or without workers, so training hides the loader while that keeps up; near
the point where both take as long, neither is wholly hidden.
"""

from traindyno.core.loading import GPU_DECODER, BatchIntervals, Loading, StageCost, StageName
from traindyno.core.records import TrialSpec
from traindyno.runner.profile import Profile

DECODING = {"pil": 1.0, "torchvision": 0.85, "simplejpeg": 0.6, "nvjpeg": 0.004}
SHARPNESS = 10
# A worker is slower than a lone process: a little by itself, more beside others, and more still when CPUs are short.
OVERHEAD, CROWDING, SHORTAGE = 0.03, 0.1, 0.01
DEFAULT_IMAGE_SIZE = 224


def batch_seconds(profile: Profile, spec: TrialSpec, resident_seconds: float) -> float:
    """Seconds from one batch, or fed step, to the next."""
    if spec.kind == "probe":
        return making_seconds(profile, spec)
    if spec.kind == "load":
        return _interval_seconds(profile, spec)
    transfer = exposed_transfer_seconds(profile, spec)
    if spec.feed.supply == "cached":
        return resident_seconds + transfer
    if spec.settings.num_workers == 0:
        return _slower_of(resident_seconds, making_seconds(profile, spec)) + transfer
    return _slower_of(resident_seconds + transfer, _interval_seconds(profile, spec))


def loading_of(profile: Profile, spec: TrialSpec, seconds: float, resident_seconds: float) -> Loading:
    """What such a trial would tell about loading, `seconds` being its time from batch to batch."""
    making, workers = making_seconds(profile, spec), spec.settings.num_workers
    first = profile.worker_start_seconds * workers + making + profile.hand_off_seconds
    side = spec.workload.image_size or DEFAULT_IMAGE_SIZE
    with_model = spec.kind == "feed" or (spec.kind == "probe" and spec.feed.supply == "resident")
    return Loading(
        start_up_seconds=first,
        next_epoch_seconds=making if spec.settings.persistent_workers or not workers else first,
        intervals=BatchIntervals(median=seconds, p95=seconds * 1.5, longest=seconds * 3, samples=100),
        batch_bytes=spec.settings.batch_size * 3 * side * side,
        stages=tuple(_costs(profile, spec)) if spec.kind == "probe" else (),
        resident_step_seconds=resident_seconds if with_model else None,
        resident_ci95=(resident_seconds * 0.99, resident_seconds * 1.01) if with_model else None,
        transfer_seconds=_transfer_seconds(profile, spec) if with_model else None,
        hand_off_seconds=profile.hand_off_seconds if workers else None,
        wait_seconds=max(0.0, seconds - resident_seconds) if spec.kind == "feed" else None,
        worker_cpu_seconds=making if workers else None,
        step_cpu_seconds=resident_seconds * 0.3 if with_model else None,
        cached_share=0.01 if spec.feed.cold else 1.0,
    )


def making_seconds(profile: Profile, spec: TrialSpec) -> float:
    """What one batch costs in one process."""
    return spec.settings.batch_size * sum(_stages(profile, spec).values())


def _stages(profile: Profile, spec: TrialSpec) -> dict[StageName, float]:
    """Seconds per example and stage. Prepared pixels need no decoding, and what lies in RAM is hardly fetched.

    Where the GPU decodes, it also crops.
    """
    source, depth = spec.workload.data.partition(":")[0], spec.feed.depth
    prepared = source == "prepared"
    cropping = 0.1 if prepared else float(spec.settings.decoder != GPU_DECODER)
    fetch = profile.fetch_seconds * (0.1 if source == "memory" else 1.0)
    stages: dict[StageName, float] = {
        "fetch": fetch + (profile.cold_seconds if spec.feed.cold else 0.0),
        "decode": 0.0 if prepared else profile.decode_seconds * DECODING[spec.settings.decoder],
        "augment": profile.augment_seconds * cropping,
        "collate": profile.collate_seconds,
    }
    left_out = {"bytes": ("decode", "augment"), "pixels": ("augment",), "examples": ()}[depth]
    return {stage: 0.0 if stage in left_out else seconds for stage, seconds in stages.items()}


def _costs(profile: Profile, spec: TrialSpec) -> list[StageCost]:
    return [
        StageCost(stage=stage, seconds=seconds, ci95=(seconds * 0.99, seconds * 1.01), cpu_seconds=seconds)
        for stage, seconds in _stages(profile, spec).items()
    ]


def _interval_seconds(profile: Profile, spec: TrialSpec) -> float:
    workers, cpus = spec.settings.num_workers, min(spec.feed.cpus or profile.cpus, profile.cpus)
    if workers == 0:
        return making_seconds(profile, spec)
    busy = min(workers, cpus)
    slowness = 1 + OVERHEAD + CROWDING * (busy - 1) / profile.cpus + SHORTAGE * (workers - busy)
    return _slower_of(making_seconds(profile, spec) / busy * slowness, profile.hand_off_seconds)


def _transfer_seconds(profile: Profile, spec: TrialSpec) -> float:
    return profile.transfer_seconds * spec.settings.batch_size


def exposed_transfer_seconds(profile: Profile, spec: TrialSpec) -> float:
    """From pinned memory most of the copy runs beside the step."""
    return _transfer_seconds(profile, spec) * (0.2 if spec.settings.pin_memory else 1.0)


def _slower_of(one: float, other: float) -> float:
    """The larger of two times, and a little more where they are alike."""
    slower, faster = max(one, other), min(one, other)
    ratio = faster / slower if slower else 0.0
    grown: float = (1 + ratio**SHARPNESS) ** (1 / SHARPNESS)
    return slower * grown
