"""Documents of anatomy studies: on a GPU over several sizes, and on a CPU at one."""

from typing import Any

import msgspec

from report.machines import bench, machine
from traindyno.core.answers import AnatomyAnswer, AnatomySize, Document, PhaseCost, TransferCost, Utilization
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import AnatomyRequest

USE = Utilization(
    flops_per_second=2.81e13, flops_per_second_ceiling=5.1e13, flops_share=0.551,
    bytes_per_second=1.12e12, bytes_per_second_ceiling=3.9e12, bytes_share=0.287,
)  # fmt: skip
UNCOUNTED = Utilization(
    flops_per_second=8.7e9, flops_per_second_ceiling=1.8e11, flops_share=0.048,
    unknown_because="operations fused by a compiler cannot be counted",
)  # fmt: skip
SHARES = {"load": 0.004, "transfer": 0.031, "forward": 0.31, "backward": 0.59, "optimizer": 0.05, "other": 0.015}


def phases(step_seconds: float, batch_size: int, shares: dict[str, float] | None = None) -> dict[str, PhaseCost]:
    return {
        name: PhaseCost(
            seconds=share * step_seconds,
            ci95=(share * step_seconds * 0.99, share * step_seconds * 1.01),
            share=share,
            seconds_per_example=share * step_seconds / batch_size,
            host_seconds=share * 0.016,
        )
        for name, share in (SHARES if shares is None else shares).items()
    }


def transfers(batch_size: int) -> tuple[TransferCost, ...]:
    return tuple(
        TransferCost(
            pinned=pinned,
            seconds=(seconds := 1e-5 + per_example * batch_size),
            ci95=(seconds * 0.97, seconds * 1.03),
            seconds_per_example=seconds / batch_size,
            bytes_per_second=602112 * batch_size / seconds,
        )
        for pinned, per_example in ((False, 3.1e-5), (True, 1.1e-5))
    )


def anatomy_size(batch_size: int, step_seconds: float, bound: str = "compute-bound", **changes: Any) -> AnatomySize:
    made = AnatomySize(
        batch_size=batch_size,
        step_seconds=step_seconds,
        ci95=(step_seconds * 0.995, step_seconds * 1.006),
        phases=phases(step_seconds, batch_size),
        transfers=transfers(batch_size),
        idle_share=0.021,
        host_share=min(1.0, 0.0172 / step_seconds),
        bound=bound,
        utilization=USE,
        examples_per_second=batch_size / step_seconds,
    )
    return msgspec.structs.replace(made, **changes)


def anatomy_answer(**changes: Any) -> AnatomyAnswer:
    chosen = anatomy_size(256, 0.1163)
    small = anatomy_size(8, 0.0176, "launch-bound", idle_share=0.58)
    answer = AnatomyAnswer(
        model="torchvision:resnet50",
        mode="train",
        batch_size=256,
        phases=chosen.phases,
        step_seconds=chosen.step_seconds,
        ci95=chosen.ci95,
        coverage=0.985,
        instrument_cost=0.0031,
        instrument_cost_ci95=(-0.0012, 0.0075),
        bound="compute-bound",
        utilization=USE,
        host_wait_seconds=0.0412,
        stall_seconds=0.000465,
        idle_share=0.021,
        host_share=0.148,
        sizes=(small, anatomy_size(64, 0.0318, idle_share=0.03), chosen),
        trace="steps.json",
        verdicts=(
            "Compute-bound: a step of 256 examples takes 116 ms (116 ms to 117 ms), of which forward 31 %, backward "
            "59 % and the optimiser 5 %.",
            "From launch-bound at batch 8 it turns compute-bound at batch 64.",
        ),
        seconds=64.0,
    )
    return msgspec.structs.replace(answer, **changes)


def anatomy_document(**changes: Any) -> Document:
    request = AnatomyRequest(
        workload=WorkloadSpec(model="torchvision:resnet50", data="folder:/data/imagenet/train"),
        bench=bench(),
        settings=Settings(batch_size=256, num_workers=12, pin_memory=True, memory_format="channels_last"),
        sizes=(8, 64),
        from_loader=True,
        trace="steps.json",
    )
    document = Document(
        command="anatomy",
        study="calm-heron",
        answer=anatomy_answer(),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:40:00Z",
        state="done",
        hint="traindyno switches --data folder:/data/imagenet/train --model torchvision:resnet50 --batch-size 256",
        report="traindyno-reports/calm-heron.html",
    )
    return msgspec.structs.replace(document, **changes)


def anatomy_cpu_document() -> Document:
    """One size on a CPU, compiled: nothing is moved, and not all can be counted."""
    chosen = anatomy_size(
        32, 0.46, transfers=(), idle_share=None, host_share=None, utilization=UNCOUNTED,
        phases=phases(0.46, 32, {"load": 0.0, "forward": 0.36, "backward": 0.6, "optimizer": 0.03, "other": -0.002}),
    )  # fmt: skip
    answer = anatomy_answer(
        model="torchvision:squeezenet1_1",
        batch_size=32,
        phases=chosen.phases,
        step_seconds=chosen.step_seconds,
        ci95=chosen.ci95,
        utilization=UNCOUNTED,
        host_wait_seconds=0.0,
        stall_seconds=0.0,
        idle_share=None,
        host_share=None,
        sizes=(chosen,),
        trace=None,
        verdicts=(),
    )
    request = AnatomyRequest(
        workload=WorkloadSpec(model="torchvision:squeezenet1_1"),
        bench=bench(device="cpu"),
        settings=Settings(batch_size=32, compile="default", threads=2),
    )
    return anatomy_document(answer=answer, request=msgspec.to_builtins(request), hint=None, report=None)
