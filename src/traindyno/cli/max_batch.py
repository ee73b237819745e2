"""`traindyno max-batch`."""

from typing import Any

import click

from traindyno.cli.embedded import with_embedded
from traindyno.cli.options import bench_options, take_bench, take_workload, workload_options
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import SHARE


@click.command("max-batch")
@click.option(
    "--model", "models", multiple=True, metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50 or file.py:function; may be given several times. "
    "[default: a small embedded one]",
)  # fmt: skip
@workload_options
@click.option("--tolerance", type=SHARE, default="1%", show_default=True, help="How closely to find the limit.")
@click.option("--exact", is_flag=True, help="Find the limit to the unit.")
@click.option("--limit", type=click.IntRange(1), help="Largest batch of interest.")
@click.option("--margin", type=SHARE, default="5%", show_default=True, help="Memory the safe batch leaves free.")
@click.option(
    "--effective-batch",
    type=click.IntRange(1),
    metavar="N",
    help="Also split N into micro-batch × accumulation that fits.",
)
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(models: tuple[str, ...], store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Find the largest batch that fits, by running it.

    The headline is the safe batch: it ran with the margin enforced, an evaluation step included. Beside it stand the
    largest that runs at all and the largest that runs without allocator retries.
    """
    from traindyno.app.max_batch import max_batch
    from traindyno.cli.running import run
    from traindyno.core.requests import MaxBatchRequest

    output = Output.take(values, store)
    models = models or (with_embedded(None, values, output.quiet),)
    bench = take_bench(values)
    request = MaxBatchRequest(
        workloads=tuple(take_workload(model, values) for model in models),
        bench=bench,
        tolerance=values["tolerance"],
        exact=values["exact"],
        limit=values["limit"],
        margin=values["margin"],
        effective_batch=values["effective_batch"],
    )
    if dry_run:
        from traindyno.app.rehearsals.batches import rehearse_max_batch

        return output.deliver_rehearsal(rehearse_max_batch(request))
    return run(lambda context: max_batch(request, context), output, store, name)
