"""What more devices gain: `scale`."""

from typing import Any, Literal

from traindyno.api.options import ask, split, take_settings, without_settings, workload_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE
from traindyno.core.answers import ScaleAnswer
from traindyno.core.events import Emit
from traindyno.core.requests import ScaleRequest
from traindyno.core.scaling import USUAL_BUCKET_MIB


@speaks_python
def scale(
    model: str,
    *,
    devices: str | int | list[int] | None = None,
    nodes: int = 1,
    listen: str | None = None,
    batch_per_device: str | int | list[int] | None = None,
    global_batch: str | int | list[int] | None = None,
    bucket_mb: str | float | list[float] = USUAL_BUCKET_MIB,
    accumulation_steps: str | int | list[int] = 1,
    from_loader: bool | None = None,
    examples: int | None = None,
    epochs: float | None = None,
    price_per_hour: float | None = None,
    learning_rate: float | None = None,
    rate_batch: int | None = None,
    rate_rule: Literal["linear", "sqrt", "none"] = "linear",
    repeats: int = 3,
    trial_seconds: float = 5.0,
    store: str = DEFAULT_STORE,
    name: str | None = None,
    on_event: Emit | None = None,
    **options: Any,
) -> ScaleAnswer:
    """Train on several devices at once, and say what they gain: speed, efficiency, communication, stragglers.

    With `batch_per_device` every device keeps its batch (weak scaling), with `global_batch` the devices share it
    (strong); without both, four sizes from 32 on are shared. Of several `bucket_mb` and `accumulation_steps` the first
    is usual, and the others are tried with the most devices. With `nodes` the devices are spread over that many
    machines, each other one of which runs `traindyno agent` with the address that `listen` names. `learning_rate` is
    right for `rate_batch`, the smallest batch in all unless it is named. `price_per_hour` is that of one device.
    Further options as for `anatomy`.
    """
    from traindyno.app.anatomy import loads_by_default
    from traindyno.app.scale import scale as use_case
    from traindyno.app.scale_text import parse_batches, parse_buckets, parse_devices, parse_parts

    workload_options, bench = split(without_settings(options), scale)
    workload = workload_of(model, **workload_options)
    request = ScaleRequest(
        workload=workload,
        bench=bench,
        settings=take_settings(options, 1),
        devices=() if devices is None else parse_devices(_text(devices)),
        nodes=nodes,
        listen=listen,
        batches_per_device=() if batch_per_device is None else parse_batches(_text(batch_per_device)),
        global_batches=() if global_batch is None else parse_batches(_text(global_batch)),
        bucket_mib=parse_buckets(_text(bucket_mb)),
        accumulations=parse_parts(_text(accumulation_steps)),
        from_loader=loads_by_default(workload) if from_loader is None else from_loader,
        examples=examples,
        epochs=epochs,
        price_per_hour=price_per_hour,
        learning_rate=learning_rate,
        rate_batch=rate_batch,
        rate_rule=rate_rule,
        repeats=repeats,
        trial_seconds=trial_seconds,
    )
    answer: ScaleAnswer = ask(use_case, request, store, name, on_event)
    return answer


def _text(numbers: str | float | list[int] | list[float]) -> str:
    """Numbers as the command line reads them."""
    listed = numbers if isinstance(numbers, list | tuple) else [numbers]
    return ",".join(map(str, listed))
