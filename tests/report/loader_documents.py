"""Documents of loader and stalls studies, with figures like those of a real machine."""

from typing import Any

import msgspec

from report.machines import bench, machine
from traindyno.core.answers import (
    CpuScaling,
    Document,
    ExpectedRate,
    LoaderAnswer,
    LoaderEffect,
    LoaderSettings,
    Remedy,
    StallCause,
    StallRun,
    StallsAnswer,
    WorkerPoint,
)
from traindyno.core.loading import StageCost
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import LoaderRequest, StallsRequest

DATA = "folder:/data/imagenet/train"
WORKLOAD = WorkloadSpec(model="torchvision:resnet50", data=DATA)
ADOPTED = LoaderSettings(
    num_workers=12, prefetch_factor=2, pin_memory=True, persistent_workers=True, decoder="simplejpeg"
)


def stages() -> tuple[StageCost, ...]:
    costs = {"fetch": 0.00011, "decode": 0.00312, "augment": 0.00124, "collate": 0.00006}
    return tuple(
        StageCost(stage=stage, seconds=cost, ci95=(cost * 0.98, cost * 1.03), cpu_seconds=cost * 0.97)  # type: ignore[arg-type]
        for stage, cost in costs.items()
    )


def point(workers: int, rate: float, **changes: Any) -> WorkerPoint:
    made = WorkerPoint(
        num_workers=workers,
        batch_size=64,
        end_to_end=False,
        examples_per_second=rate,
        ci95=(rate * 0.985, rate * 1.02),
        start_up_seconds=0.2 + 0.09 * workers,
        steady=True,
        median_batch_seconds=64 / rate,
        p95_batch_seconds=64 / rate * 1.6,
        longest_batch_seconds=64 / rate * 4.2,
    )
    return msgspec.structs.replace(made, **changes)


def loader_answer(**changes: Any) -> LoaderAnswer:
    answer = LoaderAnswer(
        data=DATA,
        batch_size=64,
        recommended=ADOPTED,
        examples_per_second=2010.0,
        ci95=(1992.0, 2027.0),
        start_up_seconds=1.31,
        stages=stages(),
        grid=(),
        trials=5,
        usable_cpus=16.0,
        end_to_end=True,
        points=(
            point(1, 221.0),
            point(4, 861.0, predicted_examples_per_second=884.0),
            point(12, 2390.0, predicted_examples_per_second=2310.0),
            point(15, 2420.0, predicted_examples_per_second=2620.0, steady=False),
            point(
                12,
                2010.0,
                end_to_end=True,
                predicted_examples_per_second=2050.0,
                p95_batch_seconds=None,
                longest_batch_seconds=None,
            ),
        ),
        effects=(
            LoaderEffect(knob="pin_memory", value="true", ratio=1.034, ci95=(1.021, 1.048), adopted=True),
            LoaderEffect(knob="prefetch_factor", value="4", ratio=1.003, ci95=(0.991, 1.015), adopted=False),
            LoaderEffect(
                knob="persistent_workers",
                value="true",
                ratio=None,
                ci95=None,
                adopted=True,
                skipped_because="starting anew costs 1.31 s of each epoch, keeping workers costs nothing",
            ),
        ),
        cpu_scaling=(
            CpuScaling(cpus=4, num_workers=4, examples_per_second=655.0, ci95=(640.0, 668.0)),
            CpuScaling(cpus=8, num_workers=8, examples_per_second=1290.0, ci95=(1271.0, 1312.0)),
            CpuScaling(cpus=16, num_workers=12, examples_per_second=2390.0, ci95=(2354.0, 2438.0)),
        ),
        expected=tuple(
            ExpectedRate(
                num_workers=workers, examples_per_second=rate, ci95=(rate * 0.94, rate * 1.05), measured=workers == 12
            )
            for workers, rate in (
                (0, 201.0),
                (1, 219.0),
                (2, 435.0),
                (4, 850.0),
                (8, 1630.0),
                (12, 2010.0),
                (16, 2090.0),
            )
        ),
        resident_examples_per_second=2214.0,
        share_of_resident=0.908,
        start_up_seconds_per_epoch=1.31,
        epoch_examples=1281167,
        verdicts=(
            "12 workers are the fewest within the interval of the best.",
            "More cores would help: 16 CPUs load 1.85 times as fast as 8.",
        ),
        seconds=61.0,
    )
    return msgspec.structs.replace(answer, **changes)


def loader_document(**changes: Any) -> Document:
    request = LoaderRequest(workload=WORKLOAD, bench=bench(), batch_size=64, cpus=(4, 8, 16))
    document = Document(
        command="loader",
        study="keen-robin",
        answer=loader_answer(),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:20:00Z",
        state="done",
        hint=f"traindyno stalls --data {DATA} --model torchvision:resnet50 --batch-size 64 --workers 12",
        report="traindyno-reports/keen-robin.html",
    )
    return msgspec.structs.replace(document, **changes)


def grid_points() -> tuple[WorkerPoint, ...]:
    return tuple(
        point(
            workers,
            rate := min(workers or 0.8, 14.5) * 195.0 * (1 - 0.0006 * size),
            batch_size=size,
            median_batch_seconds=size / rate,
            p95_batch_seconds=size / rate * 1.4,
            longest_batch_seconds=size / rate * 3,
            epoch_seconds=36500 / rate + 0.2 + 0.09 * workers,
        )
        for size in (16, 64, 256)
        for workers in (0, 1, 2, 4, 8, 15)
    )


def grid_document() -> Document:
    """The notes' table, of the loader alone, on a set of the size that they used."""
    data = "folder:/data/places365"
    answer = loader_answer(
        data=data,
        recommended=msgspec.structs.replace(ADOPTED, num_workers=15, decoder=None),
        points=(),
        effects=(),
        cpu_scaling=(),
        grid=grid_points(),
        end_to_end=False,
        resident_examples_per_second=None,
        share_of_resident=None,
        epoch_examples=36500,
        verdicts=("15 workers at batch 16 are the fastest cell.",),
    )
    workload = WorkloadSpec(model="none", data=data)
    request = LoaderRequest(
        workload=workload, bench=bench(device="cpu"), batch_size=64, with_model=False, grid=True, sizes=(16, 64, 256)
    )
    return loader_document(answer=answer, request=msgspec.to_builtins(request), hint=None, report=None)


def run(name: str, step_seconds: float, predicted: float | None = None, **changes: Any) -> StallRun:
    made = StallRun(
        name=name,
        source=DATA,
        step_seconds=step_seconds,
        ci95=(step_seconds * 0.99, step_seconds * 1.012),
        examples_per_second=256 / step_seconds,
        predicted_step_seconds=predicted,
    )
    return msgspec.structs.replace(made, **changes)


def stalls_answer(**changes: Any) -> StallsAnswer:
    runs = (
        run("resident", 0.0383),
        run("host_cached", 0.0401, 0.0397),
        run("warm", 0.0804, 0.0831),
        run("cold", 0.1263, None, note="the page cache was dropped: 2 % of the pages were left"),
        run("loader_alone", 0.0789, 0.0812),
        run("decode_only", 0.0633, 0.0651),
        run("bytes_only", 0.0121, 0.0102),
        run("prepared", 0.0391, 0.0388, source="prepared:/data/imagenet-256"),
    )
    answer = StallsAnswer(
        data=DATA,
        batch_size=256,
        settings=ADOPTED,
        runs={each.name: each for each in runs},
        causes=(
            StallCause(
                cause="decode", exposed_seconds=0.0263, exposed_share=0.327, ci95=(0.301, 0.354), hidden_seconds=0.026
            ),
            StallCause(
                cause="augment", exposed_seconds=0.0105, exposed_share=0.131, ci95=(0.118, 0.143), hidden_seconds=0.01
            ),
            StallCause(cause="fetch", exposed_seconds=0.0035, exposed_share=0.044, ci95=(0.02, 0.061)),
            StallCause(cause="transfer", exposed_seconds=0.0018, exposed_share=0.022, ci95=(0.012, 0.031)),
            StallCause(cause="page cache", exposed_seconds=0.0459, exposed_share=0.363, ci95=(0.35, 0.378)),
        ),
        stages=stages(),
        stall_share=0.524,
        stall_share_ci95=(0.508, 0.539),
        predicted={"warm": 0.0831},
        bound="data: decode",
        remedies=(
            Remedy(
                action="Decode once into a prepared store",
                predicted_speedup=2.06,
                command=f"traindyno data prepare {DATA} /data/imagenet-256",
            ),
            Remedy(action="Give the job 4 more CPUs", predicted_speedup=1.2, command=None),
        ),
        verdicts=(
            "Training waits for decoding: 33 % of each step.",
            "Reading is not the limit while files are cached.",
        ),
        bad_examples=3,
        seconds=140.0,
    )
    return msgspec.structs.replace(answer, **changes)


def stalls_document(**changes: Any) -> Document:
    settings = Settings(batch_size=256, device="cuda:0", num_workers=12, pin_memory=True, decoder="simplejpeg")
    request = StallsRequest(workload=WORKLOAD, bench=bench(), settings=settings, also=("prepared:/data/imagenet-256",))
    document = Document(
        command="stalls",
        study="still-mole",
        answer=stalls_answer(),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:30:00Z",
        state="done",
        hint=f"traindyno data prepare {DATA} /data/imagenet-256",
    )
    return msgspec.structs.replace(document, **changes)
