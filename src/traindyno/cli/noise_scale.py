"""`traindyno noise-scale`."""

from typing import Any

import click

from traindyno.cli.embedded import with_embedded_learning
from traindyno.cli.options import bench_options, learning_workload_options, take_bench, take_workload
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import MEASURING, SWEEP
from traindyno.cli.recipe_options import recipe_options, take_recipe
from traindyno.cli.setting_options import setting_options, take_settings
from traindyno.core.learning import NoisePlan
from traindyno.core.requests import NoiseScaleRequest

EMBEDDED = {"epochs": 5.0, "schedule": "constant"}
"""Digits are learnt by then: later gradients are nothing but noise."""


@click.command("noise-scale")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50, mlp:64 or file.py:function. [default: mlp:64 on digits:]",
)  # fmt: skip
@learning_workload_options
@setting_options
@recipe_options()
@click.option("--seeds", type=int, default=3, show_default=True, metavar="N", help="Runs whose gradients are read.")
@click.option(
    "--micro-batch", type=click.IntRange(1), metavar="N",
    help="Examples whose gradient is read at once. [default: 8, or 16 with batch normalisation]",
)  # fmt: skip
@click.option(
    "--micro-batches", type=int, default=16, show_default=True, metavar="N", help="So many of them at the same weights."
)
@click.option("--readings", type=int, default=50, show_default=True, metavar="N", help="Readings in each run.")
@click.option(
    "--curve-sizes", "curve", type=SWEEP, metavar="SIZES",
    help="Batches at which the step is timed: 16,32,64 or 16..1024. "
    "[default: doubling, as long as steps become fewer and memory lasts]",
)  # fmt: skip
@click.option("--largest", type=click.IntRange(1), metavar="N", help="Largest batch of the default --curve-sizes.")
@click.option("--repeats", type=int, default=3, show_default=True, help="Fresh processes in which each size is timed.")
@click.option(
    "--trial-seconds", type=MEASURING, default="2s", show_default=True, metavar="TIME",
    help="Longest measuring time of one size that does not become precise.",
)  # fmt: skip
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str | None, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Measure how noisy gradients are along a recipe, and say which batch reaches a loss soonest.

    Gradients of small batches are compared at the same weights while a few runs train as usual. The noise scale tells
    how steps fall with the batch; the step is then timed at many sizes, and both make the time to the same loss.
    """
    from traindyno.app.noise_scale import noise_scale
    from traindyno.cli.running import run

    output = Output.take(values, store)
    model = with_embedded_learning(model, values, quiet=output.quiet, defaults=EMBEDDED)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.learning import rehearse_noise_scale

        return output.deliver_rehearsal(rehearse_noise_scale(request))
    return run(lambda context: noise_scale(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> NoiseScaleRequest:
    from traindyno.app.noise_scale import curve_sizes

    bench = take_bench(values)
    return NoiseScaleRequest(
        workload=take_workload(model, values),
        bench=bench,
        settings=take_settings(values, bench),
        recipe=take_recipe(values),
        plan=NoisePlan(
            micro_batch=values["micro_batch"], micro_batches=values["micro_batches"], readings=values["readings"]
        ),
        seeds=values["seeds"],
        sizes=curve_sizes(values["curve"], values["largest"]),
        largest=values["largest"],
        repeats=values["repeats"],
        trial_seconds=values["trial_seconds"],
    )
