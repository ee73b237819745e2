"""`traindyno scale`."""

from typing import Any

import click

from traindyno.app.scale_text import parse_batches, parse_buckets, parse_devices, parse_parts
from traindyno.cli.embedded import with_embedded_devices
from traindyno.cli.options import (
    bench_options,
    given,
    take_bench,
    take_workload,
    trial_seconds_option,
    workload_options,
)
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import ABOVE_ZERO, PRICE, Parsed
from traindyno.cli.setting_options import further_setting_options, take_settings, workers_option
from traindyno.core.errors import UsageError
from traindyno.core.rates_text import RateAt, parse_rate_at
from traindyno.core.requests import ScaleRequest


@click.command("scale")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50 or file.py:function. [default: a small embedded one]",
)  # fmt: skip
@workload_options
@click.option(
    "--devices", type=Parsed("devices", parse_devices), metavar="COUNTS",
    help="How many to compare: 1,2,4. On a CPU a device is a process. "
    "[default: 1 to all GPUs by doubling; 1,2 on a CPU]",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(1), default=1, show_default=True, metavar="N",
    help="Machines that the devices are spread over; each other one runs `traindyno agent`.",
)  # fmt: skip
@click.option(
    "--listen", metavar="HOST:PORT", help="With --nodes: the address by which the other machines reach this one.",
)  # fmt: skip
@click.option(
    "--batch-per-device", type=Parsed("batches", parse_batches), metavar="SIZES",
    help="Every device keeps this batch: 32,64 or 16..128 (weak scaling).",
)  # fmt: skip
@click.option(
    "--global-batch", type=Parsed("batches", parse_batches), metavar="SIZES",
    help="The devices share this batch: 64,128 or 32..256 (strong scaling). "
    "[default: four sizes from 32 on, if no batch is given]",
)  # fmt: skip
@click.option(
    "--bucket-mb", type=Parsed("buckets", parse_buckets), default="25", show_default=True, metavar="SIZES",
    help="Gradients are sent in buckets of so many MiB; further sizes are tried with the most devices.",
)  # fmt: skip
@click.option(
    "--accumulation-steps", type=Parsed("parts", parse_parts), default="1", show_default=True, metavar="COUNTS",
    help="Parts in which a batch is computed; gradients are sent once. Further counts are tried with the most devices.",
)  # fmt: skip
@workers_option
@further_setting_options
@click.option(
    "--from-loader/--no-from-loader", default=None,
    help="Feed every device by a loader of its own, or from a batch that stays on it. "
    "[default: by the loader where --data is given]",
)  # fmt: skip
@click.option("--examples", type=click.IntRange(1), help="Examples in the training set: tells how long training takes.")
@click.option("--epochs", type=ABOVE_ZERO, help="Passes over the set.")
@click.option("--price-per-hour", type=PRICE, metavar="PRICE", help="Price of one device: tells what training costs.")
@click.option(
    "--lr", "--learning-rate", type=Parsed("rate", parse_rate_at), metavar="RATE[@BATCH]",
    help="Learning rate and the batch it is for, such as 0.1@32; without one, the smallest in all. "
    "Tells the rate of every other batch.",
)  # fmt: skip
@click.option(
    "--lr-rule", type=click.Choice(["linear", "sqrt", "none"]), default="linear", show_default=True,
    help="Rates of other batches: in proportion to the batch, to its square root, or all the same.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True,
    help="Fresh groups of processes per point; the interval covers the variation between them.",
)  # fmt: skip
@trial_seconds_option
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str | None, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Train on 1, 2, 4 ... devices at once, and say what they gain: speed, efficiency, communication, stragglers.

    Every point runs under torchrun with DistributedDataParallel, by turns with the same steps without communication:
    what that costs is told apart from waiting for a slow device. The answer says from which batch on more devices pay,
    and what twice, four and eight times as many would do.
    """
    from traindyno.app.scale import scale
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = _request(with_embedded_devices(model, values, output.quiet), values)
    if dry_run:
        from traindyno.app.rehearsals.scaling import rehearse_scale

        return output.deliver_rehearsal(rehearse_scale(request))
    return run(lambda context: scale(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> ScaleRequest:
    from traindyno.app.anatomy import loads_by_default

    rate: RateAt | None = values["lr"]
    if rate is None and given("lr_rule"):
        raise UsageError(
            "--lr-rule says how a rate follows the batch, and there is no rate", "add --lr, such as 0.1@32"
        )
    bench, workload = take_bench(values), take_workload(model, values)
    asked = values["from_loader"]
    return ScaleRequest(
        workload=workload,
        bench=bench,
        settings=take_settings(values, bench, 1),
        devices=values["devices"] or (),
        nodes=values["nodes"],
        listen=values["listen"],
        batches_per_device=values["batch_per_device"] or (),
        global_batches=values["global_batch"] or (),
        bucket_mib=values["bucket_mb"],
        accumulations=values["accumulation_steps"],
        from_loader=loads_by_default(workload) if asked is None else asked,
        examples=values["examples"],
        epochs=values["epochs"],
        price_per_hour=values["price_per_hour"],
        learning_rate=None if rate is None else rate.rate,
        rate_batch=None if rate is None else rate.batch_size,
        rate_rule=values["lr_rule"],
        repeats=values["repeats"],
        trial_seconds=values["trial_seconds"],
    )
