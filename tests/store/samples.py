"""Records for the tests of the ledger: plain ones, and hypothesis strategies for all there may be."""

from typing import Any

from hypothesis import strategies as st

from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import (
    Block,
    Budget,
    Conditions,
    Failure,
    Measurement,
    Memory,
    Settings,
    TrialRecord,
    TrialSpec,
    WorkloadSpec,
)
from traindyno.core.requests import Bench, MaxBatchRequest, PlanRequest, Request, ThroughputRequest

RESNET = WorkloadSpec(model="torchvision:resnet18")
# The fixture database holds this request: its values are written out, so that new defaults do not change it.
REQUEST = ThroughputRequest(workload=RESNET, bench=Bench(), trial_seconds=10.0)
MACHINE = MachineFacts(hostname="gpu-box", system="Linux", python="3.11.2", traindyno="0.1.0")


class FakeClock:
    """A clock that a test moves by hand."""

    def __init__(self, seconds: float = 1_700_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def spec_of(batch_size: int, **changes: Any) -> TrialSpec:
    return TrialSpec(kind="speed", workload=RESNET, settings=Settings(batch_size=batch_size), **changes)


def measured(spec: TrialSpec, step_seconds: float = 0.25, loss: float | None = None) -> TrialRecord:
    measurement = Measurement(
        batch_size=spec.settings.batch_size,
        steps=8,
        step_seconds=step_seconds,
        ci95=(step_seconds * 0.99, step_seconds * 1.01),
        steady=True,
        blocks=(Block(steps=4, seconds=4 * step_seconds), Block(steps=4, seconds=4 * step_seconds)),
        memory=Memory(peak_bytes=10_000_000),
        start_up_seconds=1.5,
        first_step_seconds=0.5,
        warm_up_seconds=2.0,
        warm_up_steps=6,
        loss=loss,
    )
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=9.5, measurement=measurement)


def failed(spec: TrialSpec, outcome: Outcome) -> TrialRecord:
    failure = Failure(outcome=outcome, message=f"ended as {outcome}", remedy=REMEDIES[outcome])
    return TrialRecord(spec=spec, outcome=outcome, seconds=3.0, failure=failure)


any_float = st.floats(allow_nan=True, allow_infinity=True)
any_count = st.integers(min_value=-(2**62), max_value=2**62)
any_text = st.text(max_size=30)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def tuples_of(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=4).map(tuple)


workloads = st.builds(
    WorkloadSpec,
    model=any_text,
    mode=st.sampled_from(["train", "infer"]),
    image_size=maybe(any_count),
    optimizer=st.sampled_from(["sgd", "adam", "adamw"]),
    source_sha256=maybe(any_text),
)
specs = st.builds(
    TrialSpec,
    kind=st.sampled_from(["fit", "speed", "train"]),
    workload=workloads,
    settings=st.builds(Settings, batch_size=any_count, precision=st.sampled_from(["fp32", "bf16", "fp16"])),
    budget=st.builds(Budget, steps=maybe(any_count), seconds=maybe(any_float), relative_interval=any_float),
    seed=any_count,
    margin=any_float,
)
measurements = st.builds(
    Measurement,
    batch_size=any_count,
    steps=any_count,
    step_seconds=any_float,
    ci95=st.tuples(any_float, any_float),
    steady=st.booleans(),
    blocks=tuples_of(st.builds(Block, steps=any_count, seconds=any_float)),
    memory=st.builds(Memory, peak_bytes=any_count, limit_bytes=maybe(any_count)),
    start_up_seconds=any_float,
    first_step_seconds=any_float,
    warm_up_seconds=any_float,
    warm_up_steps=any_count,
    loss=maybe(any_float),
    notes=tuples_of(any_text),
)
failures = st.builds(
    Failure,
    outcome=st.sampled_from(Outcome),
    message=any_text,
    remedy=any_text,
    traceback=maybe(any_text),
    details=st.dictionaries(any_text, any_text, max_size=3),
)
conditions = st.builds(
    Conditions,
    samples=any_count,
    sm_clock_mhz=maybe(st.tuples(any_count, any_count)),
    power_watts=maybe(st.tuples(any_float, any_float)),
    throttle_reasons=tuples_of(any_text),
)
records = st.builds(
    TrialRecord,
    spec=specs,
    outcome=st.sampled_from(Outcome),
    seconds=any_float,
    measurement=maybe(measurements),
    failure=maybe(failures),
    conditions=conditions,
)
benches = st.builds(Bench, seed=any_count, time_budget_seconds=maybe(any_float))
curves = st.builds(
    ThroughputRequest, workload=workloads, bench=benches, sizes=maybe(tuples_of(any_count)), margin=any_float
)
requests: st.SearchStrategy[Request] = (
    st.builds(MaxBatchRequest, workloads=tuples_of(workloads), bench=benches, tolerance=any_float)
    | curves
    | st.builds(PlanRequest, examples=any_count, epochs=any_float, curve=maybe(curves))
)
gpus = st.builds(GpuFacts, index=any_count, name=any_text, uuid=any_text, memory_bytes=any_count)
machines = maybe(
    st.builds(
        MachineFacts,
        hostname=any_text,
        system=any_text,
        python=any_text,
        traindyno=any_text,
        cpus_usable=maybe(any_float),
        gpus=tuples_of(gpus),
    )
)
answers = st.recursive(
    st.none() | st.booleans() | any_count | any_float | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
