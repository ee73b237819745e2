"""Studies of scaling on simulated devices, and single trials with planted readings."""

from collections.abc import Sequence
from typing import Any

from traindyno.analysis.scaling.conclude import conclude_scale
from traindyno.core.answers.scaling import ScaleAnswer, ScaleRow
from traindyno.core.loading import Feed
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, Measurement, Memory, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, ScaleRequest
from traindyno.core.scaling import ExchangeReading, Group, RankReading, Scaling, Turn
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.scale import ScaleSweep, points_of

MODEL = WorkloadSpec(model="torchvision:resnet50")
PERFECT = "latency=0,bandwidth=inf"


def a_request(device: str = "cuda", workload: WorkloadSpec = MODEL, **fields: Any) -> ScaleRequest:
    fields = {"devices": (1, 2), **fields}
    settings = Settings(batch_size=1, device=device)
    return ScaleRequest(workload=workload, bench=Bench(device=device), settings=settings, **fields)


def trials(profile: str, request: ScaleRequest) -> list[TrialRecord]:
    """All that the sweep asks for, as the simulated devices of a profile answer it."""
    feed = Feed(supply="loader") if request.from_loader else Feed(supply="resident")
    template = TrialSpec(kind="scale", workload=request.workload, settings=request.settings, feed=feed)
    sweep = ScaleSweep(template, points_of(request)[0], request.repeats, seed=0)
    runner, history = SimulatedRunner(parse_profile(profile)), list[TrialRecord]()
    while (proposal := sweep.ask(history)) is not None:
        assert len(history) < 300, "the sweep does not come to an end"
        history.append(runner.run(proposal.spec, Watcher(), None))
    return history


def concluded(profile: str, **fields: Any) -> ScaleAnswer:
    request = a_request(**fields)
    return conclude_scale(request, trials(profile, request), seconds=1.0, simulated=True)


def row_of(answer: ScaleAnswer, devices: int, batch_per_device: int, **fields: Any) -> ScaleRow:
    wanted = {"devices": devices, "batch_per_device": batch_per_device, **fields}
    return next(row for row in answer.rows if all(getattr(row, name) == value for name, value in wanted.items()))


def said(sentences: Sequence[str], *words: str) -> bool:
    """Whether one sentence has all the words."""
    return any(all(word in sentence for word in words) for sentence in sentences)


def a_trial(
    batch_size: int = 64,
    rank_seconds: Sequence[float] = (0.1, 0.1),
    *,
    exposed: float = 0.01,
    exchange: float | None = 0.02,
    loads: Sequence[float | None] | None = None,
    together_loads: Sequence[float | None] | None = None,
    means: Sequence[float] | None = None,
    exchanges: Sequence[tuple[int, float]] = ((4096, 1e-3), (1 << 20, 2e-3), (1 << 26, 65e-3)),
    nodes: Sequence[str] | None = None,
    repeat: int = 0,
    group: Group | None = None,
) -> TrialRecord:
    """A group whose ranks took so long without communication, each always the same."""
    devices = len(rank_seconds)
    alone, mean = max(rank_seconds), sum(rank_seconds) / devices
    names, waits = nodes or ["here"] * devices, loads or [None] * devices
    ranks = tuple(
        RankReading(
            rank=rank,
            node=names[rank],
            device="cpu",
            step_seconds=own,
            ci95=_around(own),
            load_seconds=waits[rank],
            together_load_seconds=(together_loads or waits)[rank],
        )
        for rank, own in enumerate(rank_seconds)
    )
    together, several = alone + exposed, devices > 1
    scaling = Scaling(
        devices=devices,
        nodes=1,
        backend="gloo" if several else None,
        ranks=ranks,
        turns=tuple(Turn(together=together, alone=alone, mean=each) for each in means or [mean] * 6),
        alone_seconds=alone,
        alone_ci95=_around(alone),
        exposed_seconds=exposed,
        exposed_ci95=_around(exposed),
        gradient_bytes=1 << 24,
        bucket_bytes=(1 << 20, 15 << 20) if several else (),
        exchange_seconds=exchange if several else None,
        exchanges=tuple(ExchangeReading(bytes=size, seconds=took, ci95=_around(took)) for size, took in exchanges)
        if several
        else (),
        threads=1,
    )
    measurement = Measurement(
        batch_size=batch_size,
        steps=60,
        step_seconds=together,
        ci95=_around(together),
        steady=True,
        blocks=(),
        memory=Memory(peak_bytes=10**9),
        start_up_seconds=1.0,
        first_step_seconds=1.0,
        warm_up_seconds=1.0,
        warm_up_steps=1,
        scaling=scaling,
    )
    spec = _spec(batch_size, group or Group(devices=devices), repeat)
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=5.0, measurement=measurement)


def one_device(batch_size: int, seconds: float, repeat: int = 0) -> TrialRecord:
    return a_trial(batch_size, (seconds,), exposed=0.0, repeat=repeat)


def a_failure(devices: int, batch_size: int, outcome: Outcome, message: str = "it broke") -> TrialRecord:
    failure = Failure(outcome=outcome, message=message, remedy=REMEDIES[outcome])
    spec = _spec(batch_size, Group(devices=devices), 0)
    return TrialRecord(spec=spec, outcome=outcome, seconds=1.0, failure=failure)


def _spec(batch_size: int, group: Group, repeat: int) -> TrialSpec:
    settings = Settings(batch_size=batch_size)
    return TrialSpec(kind="scale", workload=MODEL, settings=settings, group=group, repeat=repeat)


def _around(value: float) -> tuple[float, float]:
    return value * 0.995, value * 1.005
