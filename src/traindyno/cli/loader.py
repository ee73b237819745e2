"""`traindyno loader`."""

from typing import Any

import click

from traindyno.cli.options import (
    bench_options,
    local_ranks_option,
    take_bench,
    take_workload,
    trial_seconds_option,
    workload_options,
)
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import COUNTS
from traindyno.core.errors import UsageError
from traindyno.core.requests import LoaderRequest

GRID_SIZES = (16, 64, 256)


@click.command("loader")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50 or file.py:function, to be fed by the loader. "
    "[default: none; the loader is measured alone]",
)  # fmt: skip
@workload_options
@click.option(
    "--batch-size", "sizes", type=COUNTS, metavar="SIZES",
    help="Examples per batch; several (16,32,64) with --grid. [default: 64; 16,64,256 with --grid]",
)  # fmt: skip
@click.option(
    "--workers", type=COUNTS, metavar="COUNTS",
    help="0,1,2,4: worker counts to choose from. [default: by the CPUs there are]",
)  # fmt: skip
@click.option("--grid", is_flag=True, help="Measure every worker count at every batch size instead of searching.")
@click.option(
    "--cpus", type=COUNTS, metavar="COUNTS",
    help="4,8,16: also measure the loader alone on so many CPUs, and say whether more would help.",
)  # fmt: skip
@click.option(
    "--decoder", type=click.Choice(["auto", "pil", "torchvision", "simplejpeg", "nvjpeg"]), default="auto",
    show_default=True,
    help="Who turns JPEG into pixels; auto compares those on the CPU that are installed, so never nvjpeg (a grid takes "
    "pil). nvjpeg needs a --model on a GPU.",
)  # fmt: skip
@click.option(
    "--epoch-examples", type=click.IntRange(1), metavar="N",
    help="Examples of your epoch, over which start-up is spread. [default: those of the data]",
)  # fmt: skip
@trial_seconds_option
@local_ranks_option
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str | None, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Find how many workers, with which settings, load the data fast enough.

    Without --model the loader is measured alone; with one, the answer is what feeds that model's training.
    """
    from traindyno.app.loader import loader
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.loading import rehearse_loader

        return output.deliver_rehearsal(rehearse_loader(request))
    return run(lambda context: loader(request, context), output, store, name)


def _request(model: str | None, values: dict[str, Any]) -> LoaderRequest:
    from traindyno.app.loader_workload import loaded

    grid, sizes = values["grid"], values["sizes"]
    if sizes is not None and len(sizes) > 1 and not grid:
        raise UsageError("the search takes one batch size", "give one, or add --grid to measure them all")
    sizes = sizes or (GRID_SIZES if grid else (64,))
    what = loaded(model, values["data"])
    values["data"] = what.data
    return LoaderRequest(
        workload=take_workload(what.model, values),
        bench=take_bench(values),
        batch_size=sizes[0],
        with_model=what.with_model,
        workers=values["workers"],
        sizes=sizes if grid else None,
        grid=grid,
        cpus=values["cpus"] or (),
        decoder=None if values["decoder"] == "auto" else values["decoder"],
        epoch_examples=values["epoch_examples"],
        trial_seconds=values["trial_seconds"],
        local_ranks=values["local_ranks"],
    )
