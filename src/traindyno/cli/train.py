"""`traindyno train`."""

from typing import Any

import click
import msgspec

from traindyno.cli.embedded import with_embedded_learning
from traindyno.cli.options import bench_options, learning_workload_options, take_bench, take_workload
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.recipe_options import recipe_options, take_recipe
from traindyno.cli.setting_options import setting_options, take_settings
from traindyno.core.requests import TrainRequest


@click.command("train")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50, mlp:64 or file.py:function. [default: mlp:64 on digits:]",
)  # fmt: skip
@learning_workload_options
@setting_options
@click.option(
    "--devices", type=click.IntRange(1), default=1, show_default=True, metavar="N",
    help="Train on so many GPUs of this machine, or in so many processes on a CPU, which share every batch.",
)  # fmt: skip
@recipe_options()
@click.option(
    "--checkpoints", type=click.Path(), metavar="FOLDER",
    help="Keep the last and the best state here. [default: .traindyno/checkpoints/STUDY beside the store]",
)  # fmt: skip
@click.option(
    "--tensorboard", type=click.Path(), metavar="FOLDER", help="Write curves of loss, accuracy and rate here."
)
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
def command(model: str | None, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Train by a recipe, and say what was learnt: accuracy, loss, seconds of training, and where the weights are.

    A run that is stopped, or killed, goes on from its last checkpoint with `traindyno resume STUDY`. With --devices
    torchrun is started for it; under a torchrun of your own all its processes train together, each on its share of
    every batch.
    """
    from traindyno.app.companions import accompany
    from traindyno.app.processes import is_companion
    from traindyno.app.train import train
    from traindyno.cli.running import run, run_beside

    output = Output.take(values, store)
    model = with_embedded_learning(model, values, quiet=output.quiet or is_companion())
    request = _request(model, values)
    if dry_run:
        from traindyno.app.rehearsals.learning import rehearse_train

        return output.deliver_rehearsal(rehearse_train(request))
    if is_companion():
        return run_beside(lambda told_to_stop: accompany(request, told_to_stop))
    return run(lambda context: train(request, context), output, store, name)


def _request(model: str, values: dict[str, Any]) -> TrainRequest:
    bench = take_bench(values)
    return TrainRequest(
        workload=take_workload(model, values),
        bench=bench,
        settings=msgspec.structs.replace(take_settings(values, bench), devices=values["devices"]),
        recipe=take_recipe(values),
        checkpoints=values["checkpoints"],
        tensorboard=values["tensorboard"],
    )
