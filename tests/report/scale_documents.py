"""Documents of studies of scaling: on four GPUs, on two processes of a CPU, and on one device."""

from typing import Any

import msgspec

from report.machines import bench, machine
from traindyno.core.answers import BreakEven, Document, Link, RankRow, ScaleAnswer, ScalePrediction, ScaleRow
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import ScaleRequest

ONE_DEVICE = {8: 401.0, 16: 790.0, 32: 1510.0, 64: 2010.0, 128: 2140.0, 256: 2230.0}
"""Examples per second of one device, by its batch."""
EXPOSED_SECONDS = {1: 0.0, 2: 0.009, 4: 0.012}
WAITING = 0.02


def scale_row(devices: int, batch_size: int, **changes: Any) -> ScaleRow:
    """A row as it would come of the times above."""
    each = batch_size // devices
    alone = each / ONE_DEVICE[each]
    step = alone * (1 + (WAITING if devices > 1 else 0)) + EXPOSED_SECONDS[devices]
    rate = batch_size / step
    efficiency = rate / (devices * ONE_DEVICE[each])
    speedup = rate / ONE_DEVICE[batch_size] if batch_size in ONE_DEVICE else None
    made = ScaleRow(
        devices=devices,
        nodes=1,
        batch_per_device=each,
        batch_size=batch_size,
        bucket_mib=25.0,
        accumulation_steps=1,
        examples_per_second=rate,
        ci95=(rate * 0.985, rate * 1.015),
        step_seconds=step,
        efficiency=efficiency,
        efficiency_ci95=(efficiency * 0.97, efficiency * 1.03),
        speedup=speedup,
        speedup_ci95=None if speedup is None else (speedup * 0.97, speedup * 1.03),
        communication_share=EXPOSED_SECONDS[devices] / step,
        communication_share_ci95=(EXPOSED_SECONDS[devices] / step * 0.9, EXPOSED_SECONDS[devices] / step * 1.1),
        hidden_share=0.06 if devices > 1 else 0.0,
        waiting_share=WAITING * alone / step if devices > 1 else 0.0,
        foretold_efficiency=efficiency * 1.02 if devices == 4 else None,
        peak_memory_bytes=9_400_000_000,
    )
    return msgspec.structs.replace(made, **changes)


def scale_rows() -> tuple[ScaleRow, ...]:
    """Strong scaling of 32 to 256 over 1, 2 and 4 devices, and a smaller bucket with the most of them."""
    points = [(devices, batch_size) for devices in (1, 2, 4) for batch_size in (32, 64, 128, 256)]
    rows = tuple(scale_row(devices, batch_size) for devices, batch_size in points)
    return (*rows, scale_row(4, 256, bucket_mib=5.0, efficiency=None, speedup=None, foretold_efficiency=None))


def rank_rows() -> tuple[RankRow, ...]:
    usual = [
        RankRow(
            rank=rank, node="bench-1", device=f"cuda:{rank}", step_seconds=0.0318, ci95=(0.0315, 0.0321),
            load_seconds=None, against_median=1.0,
        )
        for rank in range(3)
    ]  # fmt: skip
    slow = RankRow(
        rank=3, node="bench-1", device="cuda:3", step_seconds=0.0366, ci95=(0.0361, 0.037), load_seconds=None,
        against_median=1.151, straggles=True, because="computes more slowly",
    )  # fmt: skip
    return (*usual, slow)


def scale_answer(**changes: Any) -> ScaleAnswer:
    predictions = [(8, 0.69, (0.66, 0.81)), (16, 0.66, (0.61, 0.8)), (32, 0.64, (0.57, 0.79))]
    answer = ScaleAnswer(
        model="torchvision:resnet50",
        mode="train",
        device="cuda:0",
        backend="nccl",
        rows=scale_rows(),
        ranks=rank_rows(),
        break_even=(
            BreakEven(devices=2, batch_size=64, slower_at=32, between=(32, 64)),
            BreakEven(devices=4, batch_size=128, slower_at=64, between=(64, 128)),
        ),
        break_even_batch=128,
        predicted=tuple(
            ScalePrediction(
                devices=devices, batch_per_device=64, efficiency=efficiency, efficiency_range=ends,
                examples_per_second=efficiency * devices * ONE_DEVICE[64], exchange_seconds=0.0146,
            )
            for devices, efficiency, ends in predictions
        ),
        link=Link(devices=4, latency_seconds=4.2e-5, bytes_per_second=9.1e9, error=0.07),
        gradient_bytes=102_228_128,
        ddp_cost=0.004,
        ddp_cost_ci95=(-0.001, 0.009),
        fastest=11,
        recommended=11,
        advice=("With 4 devices of batch 64 each the batch in all is 256 instead of 64.",),
        verdicts=(
            "Two devices are slower than one at batch 32 in all; from batch 64 they pay.",
            "Rank 3 on bench-1 is a straggler: it computes more slowly.",
        ),
        seconds=212.0,
    )  # fmt: skip
    return msgspec.structs.replace(answer, **changes)


def scale_document(**changes: Any) -> Document:
    request = ScaleRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"),
        bench=bench(),
        settings=Settings(batch_size=1, memory_format="channels_last"),
        devices=(1, 2, 4),
        global_batches=(32, 64, 128, 256),
        bucket_mib=(25.0, 5.0),
    )
    document = Document(
        command="scale",
        study="wide-river",
        answer=scale_answer(),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:40:00Z",
        state="done",
        hint="traindyno plan --model torchvision:resnet50 --batch-size 1..64 --examples N --epochs E",
        report="traindyno-reports/wide-river.html",
    )
    return msgspec.structs.replace(document, **changes)


def weak_document() -> Document:
    """Every device keeps its batch; with the time and cost of a training, and with rates."""
    points = [(devices, each) for devices in (1, 2, 4) for each in (32, 64)]
    rows = tuple(
        scale_row(
            devices, devices * each, speedup=None, speedup_ci95=None, load_share=0.05, learning_rate=0.1 * devices,
            training_seconds=(seconds := 90 * 1_281_167 / scale_row(devices, devices * each).examples_per_second),
            training_ci95=(seconds * 0.98, seconds * 1.02), cost=seconds / 3600 * devices * 2.5,
        )
        for devices, each in points
    )  # fmt: skip
    request = ScaleRequest(
        workload=WorkloadSpec(model="torchvision:resnet50", data="folder:/data/imagenet/train"),
        bench=bench(),
        settings=Settings(batch_size=1, num_workers=8),
        devices=(1, 2, 4),
        batches_per_device=(32, 64),
        from_loader=True,
        examples=1_281_167,
        epochs=90.0,
        price_per_hour=2.5,
        learning_rate=0.1,
        rate_batch=32,
    )
    answer = scale_answer(rows=rows, break_even=(), break_even_batch=None, fastest=5, recommended=3)
    return scale_document(answer=answer, request=msgspec.to_builtins(request))


def one_device_document() -> Document:
    """One process of a CPU, and nothing to compare it with."""
    row = scale_row(1, 32, speedup=None, speedup_ci95=None, efficiency=None, efficiency_ci95=None)
    request = ScaleRequest(
        workload=WorkloadSpec(model="torchvision:squeezenet1_1"),
        bench=bench(device="cpu"),
        settings=Settings(batch_size=1, threads=2),
        devices=(1,),
        global_batches=(32,),
    )
    answer = scale_answer(
        model="torchvision:squeezenet1_1", device="cpu", backend=None, rows=(row,), ranks=(), break_even=(),
        break_even_batch=None, predicted=(), link=None, fastest=0, recommended=0, threads_per_device=2, advice=(),
        verdicts=(),
    )  # fmt: skip
    return scale_document(answer=answer, request=msgspec.to_builtins(request), hint=None, report=None)
