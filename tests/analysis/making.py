"""Records and curve points with everything filled in that a test does not care about."""

from traindyno.core.answers import CurvePoint
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import (
    Block,
    Conditions,
    Failure,
    Measurement,
    Memory,
    Settings,
    TrialKind,
    TrialRecord,
    TrialSpec,
    WorkloadSpec,
)


def spec(
    batch_size: int,
    kind: TrialKind = "speed",
    repeat: int = 0,
    margin: float = 0.0,
    evaluate: bool = False,
    device: str = "cuda",
) -> TrialSpec:
    return TrialSpec(
        kind=kind,
        workload=WorkloadSpec(model="torchvision:resnet50"),
        settings=Settings(batch_size=batch_size, device=device),
        repeat=repeat,
        margin=margin,
        evaluate=evaluate,
    )


def ran(
    batch_size: int,
    step_seconds: float = 0.1,
    *,
    kind: TrialKind = "speed",
    repeat: int = 0,
    margin: float = 0.0,
    evaluate: bool = False,
    device: str = "cuda",
    half_width: float = 0.002,
    steady: bool = True,
    peak_bytes: int = 10**9,
    limit_bytes: int | None = 10**11,
    reserved_bytes: int | None = None,
    retries: int | None = 0,
    throttle_reasons: tuple[str, ...] = (),
    seconds: float = 10.0,
    evaluation_step_seconds: float | None = None,
    start_up_seconds: float = 2.0,
    first_step_seconds: float = 0.0,
    warm_up_seconds: float | None = None,
) -> TrialRecord:
    measurement = Measurement(
        batch_size=batch_size,
        steps=100,
        step_seconds=step_seconds,
        ci95=(step_seconds * (1 - half_width), step_seconds * (1 + half_width)),
        steady=steady,
        blocks=(Block(steps=10, seconds=10 * step_seconds),),
        memory=Memory(
            peak_bytes=peak_bytes,
            limit_bytes=limit_bytes,
            peak_reserved_bytes=reserved_bytes,
            allocator_retries=retries,
        ),
        start_up_seconds=start_up_seconds,
        first_step_seconds=first_step_seconds,
        warm_up_seconds=10 * step_seconds if warm_up_seconds is None else warm_up_seconds,
        warm_up_steps=10,
        evaluation_step_seconds=evaluation_step_seconds,
    )
    return TrialRecord(
        spec=spec(batch_size, kind, repeat, margin, evaluate, device),
        outcome=Outcome.OK,
        seconds=seconds,
        measurement=measurement,
        conditions=Conditions(throttle_reasons=throttle_reasons),
    )


def failed(
    batch_size: int,
    outcome: Outcome = Outcome.OUT_OF_DEVICE_MEMORY,
    *,
    kind: TrialKind = "speed",
    repeat: int = 0,
    margin: float = 0.0,
    evaluate: bool = False,
    code: str | None = None,
) -> TrialRecord:
    failure = Failure(
        outcome=outcome,
        message=outcome.value,
        remedy=REMEDIES.get(outcome, ""),
        details={} if code is None else {"code": code},
    )
    return TrialRecord(
        spec=spec(batch_size, kind, repeat, margin, evaluate), outcome=outcome, seconds=2.0, failure=failure
    )


def point(
    batch_size: int,
    examples_per_second: float,
    *,
    half_width: float = 0.01,
    steady: bool = True,
    memory_share: float | None = 0.1,
    marks: tuple[str, ...] = (),
) -> CurvePoint:
    return CurvePoint(
        batch_size=batch_size,
        examples_per_second=examples_per_second,
        ci95=(examples_per_second * (1 - half_width), examples_per_second * (1 + half_width)),
        step_seconds=batch_size / examples_per_second,
        peak_memory_bytes=10**9,
        steady=steady,
        processes=3,
        memory_share=memory_share,
        marks=marks,
    )


def curve(rates: dict[int, float], **options: object) -> tuple[CurvePoint, ...]:
    return tuple(point(size, rate, **options) for size, rate in sorted(rates.items()))  # type: ignore[arg-type]


RESNET50_H200 = {1: 59.0, 8: 419, 32: 1682, 64: 2002, 128: 2138, 256: 2214, 512: 2257, 1024: 2251}
