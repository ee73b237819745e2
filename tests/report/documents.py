"""Documents as real studies would leave them, with the figures of real cards."""

from typing import Any

import msgspec

from report.anatomy_documents import anatomy_cpu_document, anatomy_document
from report.loader_documents import grid_document, loader_document, stalls_document
from report.machines import GIB, bench, machine
from report.scale_documents import one_device_document, scale_document, weak_document
from traindyno.core.answers import (
    CompareAnswer,
    CompareRow,
    CurvePoint,
    Document,
    MaxBatchAnswer,
    MemoryModel,
    PlanAnswer,
    PlanRow,
    StepModel,
    ThroughputAnswer,
    Validation,
)
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import (
    Block,
    Conditions,
    Failure,
    Measurement,
    Memory,
    Settings,
    TrialRecord,
    TrialSpec,
    WorkloadSpec,
)
from traindyno.core.requests import MaxBatchRequest, PlanRequest, ThroughputRequest
from traindyno.report.document import trial_entry

LIMIT = int(139.1 * GIB)
MODEL = MemoryModel(intercept_bytes=0.62 * GIB, slope_bytes=0.0816 * GIB, relative_error=0.011)
HOSTILE = "</pre><script>alert('owned')</script>\x1b[31m<img src=http://evil.example/x.png>"
RATES = {
    1: 59.2, 2: 117.0, 4: 231.0, 8: 419.0, 16: 846.0, 32: 1682.0,
    64: 2002.0, 128: 2138.0, 256: 2214.0, 512: 2257.0, 1024: 2251.0,
}  # fmt: skip


def trial(
    batch_size: int,
    outcome: Outcome = Outcome.OK,
    kind: str = "speed",
    model: str = "torchvision:resnet50",
    repeat: int = 0,
    failure: Failure | None = None,
    margin: float = 0.0,
    retries: int = 0,
    blocks: int = 12,
) -> TrialRecord:
    """One record of the ledger: a measurement when it is ok, and otherwise a failure with its evidence."""
    spec = TrialSpec(
        kind=kind,
        workload=WorkloadSpec(model=model),
        settings=Settings(batch_size=batch_size, precision="fp32", device="cuda:0"),
        repeat=repeat,
        margin=margin,
    )
    if outcome is not Outcome.OK:
        return TrialRecord(spec=spec, outcome=outcome, seconds=2.4, failure=failure or out_of_memory(batch_size))
    rate = RATES.get(batch_size, 2200.0) * (1 + 0.002 * repeat)
    return TrialRecord(
        spec=spec,
        outcome=outcome,
        seconds=7.9,
        measurement=measurement(batch_size, batch_size / rate, retries, blocks),
        conditions=Conditions(
            samples=40, sm_clock_mhz=(1830, 1980), temperature_celsius=(41, 63), power_watts=(310.0, 655.5)
        ),
    )


def measurement(batch_size: int, step_seconds: float, retries: int, blocks: int) -> Measurement:
    peak = int(MODEL.intercept_bytes + MODEL.slope_bytes * batch_size)
    return Measurement(
        batch_size=batch_size,
        steps=blocks * 20,
        step_seconds=step_seconds,
        ci95=(step_seconds * 0.996, step_seconds * 1.005),
        steady=True,
        blocks=tuple(Block(steps=20, seconds=step_seconds * 20 * (1 + index % 3 / 1000)) for index in range(blocks)),
        memory=Memory(
            peak_bytes=peak,
            limit_bytes=LIMIT,
            peak_reserved_bytes=int(peak * 1.04),
            allocator_retries=retries,
            device_total_bytes=int(139.8 * GIB),
        ),
        start_up_seconds=0.6,
        first_step_seconds=0.9,
        warm_up_seconds=1.4,
        warm_up_steps=40,
        loss=6.9,
    )


def out_of_memory(batch_size: int) -> Failure:
    return Failure(
        outcome=Outcome.OUT_OF_DEVICE_MEMORY,
        message=f"CUDA out of memory at batch {batch_size}. Tried to allocate 12.25 GiB.",
        remedy=REMEDIES[Outcome.OUT_OF_DEVICE_MEMORY],
        error_type="torch.OutOfMemoryError",
        phase="backward",
        log_tail="step 0\nstep 1\n",
        details={"free_bytes": "3141592"},
    )


def hostile_failure() -> Failure:
    """A crash whose every text tries to break out of the page."""
    return Failure(
        outcome=Outcome.CRASH,
        message=f"Segmentation fault {HOSTILE}",
        remedy=REMEDIES[Outcome.CRASH],
        signal="SIGSEGV",
        error_type=HOSTILE,
        traceback=f'  File "x.py", line 3\n{HOSTILE}',
        log_tail=f"last words\n{HOSTILE}",
        details={HOSTILE: HOSTILE},
    )


def curve() -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(
            batch_size=size,
            examples_per_second=rate,
            ci95=(rate * (0.93 if size == 16 else 0.996), rate * (1.06 if size == 16 else 1.005)),
            step_seconds=size / rate,
            peak_memory_bytes=int(MODEL.intercept_bytes + MODEL.slope_bytes * size),
            steady=size != 1024,
            processes=3,
            memory_share=(MODEL.intercept_bytes + MODEL.slope_bytes * size) / LIMIT,
            marks=("noisy",) if size == 16 else (),
        )
        for size, rate in RATES.items()
    )


def throughput_answer(**changes: Any) -> ThroughputAnswer:
    answer = ThroughputAnswer(
        model="torchvision:resnet50",
        mode="train",
        curve=curve(),
        best_batch=512,
        recommended_batch=256,
        fastest_batch=512,
        largest_batch=1024,
        chosen_batch=256,
        choose="recommended",
        saturated_from=128,
        verdicts=(
            "Throughput is saturated from batch 128 on while memory is 8 % full: memory is not the limit.",
            "Up to batch 32 a step takes 17 to 19 ms whatever the batch: small batches are launch-bound.",
        ),
        out_of_memory_from=2048,
        predicted_memory_limit_batch=1697,
        memory_limit_bytes=LIMIT,
        memory_model=MODEL,
        step_model=StepModel(alpha_seconds=0.012, beta_seconds=0.00044, relative_error=0.06),
        drift_percent=0.3,
        drift_ci95=(-0.1, 0.6),
        start_up_seconds=0.61,
        seconds=251.0,
    )
    return msgspec.structs.replace(answer, **changes)


def throughput_document(**changes: Any) -> Document:
    records = [trial(size, repeat=repeat) for repeat in range(3) for size in RATES]
    records.insert(11, trial(2048, Outcome.OUT_OF_DEVICE_MEMORY))
    request = ThroughputRequest(workload=WorkloadSpec(model="torchvision:resnet50"), bench=bench())
    document = Document(
        command="throughput",
        study="brisk-otter",
        answer=throughput_answer(),
        trials=tuple(trial_entry(record) for record in records),
        warnings=("The GPU was shared with 1 other process (python, 612 MiB) during 3 trials.",),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:00:00Z",
        state="done",
        hint="traindyno plan --from brisk-otter --examples 1281167 --epochs 90",
        report="traindyno-brisk-otter.html",
    )
    return msgspec.structs.replace(document, **changes)


def max_batch_answer(**changes: Any) -> MaxBatchAnswer:
    answer = MaxBatchAnswer(
        model="torchvision:resnet50",
        mode="train",
        max_batch=1704,
        safe_batch=1616,
        no_retry_batch=1680,
        first_failed_batch=1712,
        probes=7,
        out_of_memory_probes=1,
        memory_model=MODEL,
        seconds=9.4,
        margin=0.05,
        tolerance=0.01,
        memory_limit_bytes=LIMIT,
        limited_by="memory",
        verdicts=(
            "Batch 1616 is safe: it ran in a fresh process with 5 % of the memory held back.",
            "Batch 1704 is the largest that ran; 1712 ran out of memory.",
            "Above batch 1680 the allocator had to free its cache and try again: larger ones are slow.",
        ),
    )
    return msgspec.structs.replace(answer, **changes)


def max_batch_document(**changes: Any) -> Document:
    records = [
        trial(32, kind="fit"),
        trial(128, kind="fit"),
        trial(1697, kind="fit", retries=4),
        trial(1712, Outcome.OUT_OF_DEVICE_MEMORY, kind="fit"),
        trial(1704, kind="fit", retries=11),
        trial(1680, kind="fit"),
        trial(1616, kind="fit", margin=0.05),
    ]
    request = MaxBatchRequest(workloads=(WorkloadSpec(model="torchvision:resnet50"),), bench=bench())
    document = Document(
        command="max-batch",
        study="calm-heron",
        answer=max_batch_answer(),
        trials=tuple(trial_entry(record) for record in records),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:00:00Z",
        state="done",
        hint="traindyno throughput --model torchvision:resnet50",
    )
    return msgspec.structs.replace(document, **changes)


def several_models_document() -> Document:
    figures = {
        "torchvision:resnet50": (1616, 1680, 1704, 1712),
        "torchvision:mobilenet_v2": (1784, 1860, 1880, 1888),
        "torchvision:vit_b_16": (1080, 1128, 1140, 1152),
        "jobs/detector.py:build_model": (None, None, None, 1),
    }
    answers = tuple(
        max_batch_answer(
            model=model,
            safe_batch=safe,
            no_retry_batch=quiet,
            max_batch=runs,
            first_failed_batch=failed,
            verdicts=(),
        )
        for model, (safe, quiet, runs, failed) in figures.items()
    )
    records = [trial(32, kind="fit", model=model) for model in list(figures)[:3]]
    records.append(trial(1, Outcome.OUT_OF_DEVICE_MEMORY, kind="fit", model="jobs/detector.py:build_model"))
    workloads = tuple(WorkloadSpec(model=model) for model in figures)
    return max_batch_document(
        answer=answers,
        trials=tuple(trial_entry(record) for record in records),
        request=msgspec.to_builtins(MaxBatchRequest(workloads=workloads, bench=bench())),
    )


def plan_document(**changes: Any) -> Document:
    steps = {size: -(-1281167 // size) * 90 for size in (32, 64, 128, 256, 512, 1024)}
    rows = tuple(
        PlanRow(
            batch_size=size,
            steps=count,
            training_seconds=count * size / RATES[size] + 900,
            ci95=(count * size / RATES[size] * 0.994 + 900, count * size / RATES[size] * 1.007 + 900),
            cost=(count * size / RATES[size] + 900) / 3600 * 3.5,
            step_seconds=size / RATES[size],
            start_up_seconds=1.5,
            evaluation_seconds=898.5,
        )
        for size, count in steps.items()
    )
    answer = PlanAnswer(
        examples=1281167,
        epochs=90.0,
        rows=rows,
        fastest=512,
        verdicts=(
            "Batch 256 takes only 1.9 % longer and leaves more memory free.",
            "These are times for equal numbers of examples, not for equal accuracy: "
            "how many steps reach a target changes with the batch size.",
        ),
        from_study="brisk-otter",
        validation=Validation(
            batch_size=512, steps=265, predicted_seconds=60.1, measured_seconds=61.2, error_percent=-1.8
        ),
    )
    curve_request = ThroughputRequest(workload=WorkloadSpec(model="torchvision:resnet50"), bench=bench())
    request = PlanRequest(examples=1281167, epochs=90.0, curve=curve_request, price_per_hour=3.5)
    document = Document(
        command="plan",
        study="quiet-lynx",
        answer=answer,
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:10:00Z",
        state="done",
        hint="traindyno compare brisk-otter OTHER",
    )
    return msgspec.structs.replace(document, **changes)


def compare_document() -> Document:
    slow = {1: 151.0, 2: 318.0, 4: 346.0, 8: 364.0, 16: 414.0, 32: 447.0, 64: 450.0, 128: 458.0, 256: 465.0}
    rows = tuple(
        CompareRow(
            key=f"batch {size}",
            a=value,
            b=RATES[size],
            ratio=RATES[size] / value,
            ci95=(RATES[size] / value * 0.99, RATES[size] / value * 1.01),
            verdict=_verdict(RATES[size] / value),
        )
        for size, value in slow.items()
    )
    best = CompareRow(
        key="best (256 and 512)", a=465.0, b=2257.0, ratio=4.85, ci95=(4.81, 4.9), verdict="B is 4.85× faster"
    )
    answer = CompareAnswer(
        a="ir50-224-rtx3090.json",
        b="brisk-otter",
        rows=(*rows, best),
        unlike=(
            "GPU: NVIDIA GeForce RTX 3090 against NVIDIA H200",
            "torch: 2.10.0 against 2.11.0",
        ),
        verdicts=(
            "Best (256 and 512): B is 4.85× faster.",
            "B over A in throughput: 0.37 to 4.76 over 9 common sizes.",
        ),
    )
    return Document(command="compare", study=None, answer=answer, machine={"A": machine(), "B": machine()})


def _verdict(ratio: float) -> str:
    return f"B is {ratio:.2f}× faster" if ratio > 1 else f"A is {1 / ratio:.2f}× faster"


def failed_document() -> Document:
    """A study with a crash whose texts are hostile, beside some good points."""
    entries = [trial_entry(trial(size)) for size in (8, 16)]
    entries.append(trial_entry(trial(32, Outcome.CRASH, failure=hostile_failure(), model=HOSTILE)))
    return throughput_document(
        answer=throughput_answer(model=HOSTILE, curve=curve()[3:5], verdicts=(HOSTILE,), out_of_memory_from=None),
        trials=tuple(entries),
        warnings=(HOSTILE,),
        study=HOSTILE,
    )


def simulated_document() -> Document:
    return throughput_document(answer=throughput_answer(simulated=True), warnings=())


def unanswered_document() -> Document:
    entries = (trial_entry(trial(8)), trial_entry(trial(16, Outcome.CRASH, failure=hostile_failure())))
    return throughput_document(answer=None, trials=entries, state="interrupted", warnings=())


ALL = {
    "throughput": throughput_document,
    "max_batch": max_batch_document,
    "several_models": several_models_document,
    "plan": plan_document,
    "compare": compare_document,
    "loader": loader_document,
    "loader_grid": grid_document,
    "stalls": stalls_document,
    "anatomy": anatomy_document,
    "anatomy_cpu": anatomy_cpu_document,
    "scale": scale_document,
    "scale_weak": weak_document,
    "scale_one_device": one_device_document,
    "failed": failed_document,
    "simulated": simulated_document,
    "unanswered": unanswered_document,
}
