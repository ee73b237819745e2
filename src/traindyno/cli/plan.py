"""`traindyno plan`."""

from typing import Any

import click
from click.core import ParameterSource

from traindyno.cli.curve_options import curve_options, take_curve
from traindyno.cli.embedded import with_embedded
from traindyno.cli.options import bench_options, workload_options
from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import ABOVE_ZERO, MEASURING, PRICE
from traindyno.core.errors import UsageError
from traindyno.core.requests import PlanRequest

OF_MEASURING = (
    *("data", "skip_bad", "image_size", "classes", "optimizer", "mode", "conv1_stride"),
    *("sweep", "repeats", "refine", "trial_seconds", "margin"),
    *("device", "precision", "seed", "time_budget", "memory_limit", "step_timeout", "trial_timeout", "runner"),
)


@click.command("plan")
@click.option("--examples", type=click.IntRange(1), required=True, help="Examples in the training set.")
@click.option("--epochs", type=ABOVE_ZERO, required=True, help="Passes over the set.")
@click.option("--from", "from_study", metavar="STUDY", help="Use the curve of this throughput study.")
@click.option("--eval-every", type=ABOVE_ZERO, metavar="EPOCHS", help="Evaluate this often.")
@click.option(
    "--eval-examples", type=click.IntRange(1), help="Examples per evaluation. [default: a tenth of --examples]"
)
@click.option("--price-per-hour", type=PRICE, metavar="PRICE", help="Price of this machine.")
@click.option("--validate", is_flag=True, help="Train a while and print how far the prediction was off.")
@click.option(
    "--validate-for", type=MEASURING, default="60s", show_default=True, metavar="TIME",
    help="Shortest validating run; an epoch if that is longer.",
)  # fmt: skip
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50 or file.py:function. [default: a small embedded one]",
)  # fmt: skip
@workload_options
@curve_options
@bench_options
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@output_options
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str | None,
    store: str,
    name: str | None,
    from_study: str | None,
    dry_run: bool,
    **values: Any,
) -> int:
    """Predict how long training takes at each batch size: time per step × steps.

    Without --from, the curve is measured first.
    """
    from traindyno.app.plan import plan
    from traindyno.cli.running import run

    named_again = _named_again(model) if from_study and model and values["validate"] else ()
    if from_study:
        _refuse_measuring_options(context, OF_MEASURING if named_again else ("model", *OF_MEASURING))
    if not values["validate"] and context.get_parameter_source("validate_for") is ParameterSource.COMMANDLINE:
        raise UsageError("--validate-for says how long, but not that", "add --validate")
    if from_study and not values["validate"]:
        values["no_report"] = True  # nothing is measured, so no study is kept that a report could be of
    output = Output.take(values, store)
    request = PlanRequest(
        examples=values["examples"],
        epochs=values["epochs"],
        curve=None if from_study else take_curve(with_embedded(model, values, output.quiet), values),
        from_study=from_study,
        eval_every_epochs=values["eval_every"],
        eval_examples=values["eval_examples"],
        price_per_hour=values["price_per_hour"],
        validate=values["validate"],
        validate_seconds=values["validate_for"],
    )
    if dry_run:
        return _rehearse(request, output)
    return run(lambda context: plan(request, context, named_again), output, store, name)


def _rehearse(request: PlanRequest, output: Output) -> int:
    """What would be measured; a plan from a known curve measures nothing unless it is validated."""
    from traindyno.app.rehearsals.batches import rehearse_throughput

    if request.curve is None:
        raise UsageError("with --from there is nothing to rehearse", "leave --dry-run away; only --validate measures")
    return output.deliver_rehearsal(rehearse_throughput(request.curve))


def _named_again(model: str) -> tuple[tuple[str, str | None], ...]:
    """A file of the user's own, named beside `--from` so that the validating run may use it."""
    from traindyno.app.sources import hash_source
    from traindyno.core.records import is_user_file

    return ((model, hash_source(model)),) if is_user_file(model) else ()


def _refuse_measuring_options(context: click.Context, refused: tuple[str, ...]) -> None:
    """With `--from` nothing about the measurement can be chosen any more: say so instead of ignoring it."""
    given = [
        parameter
        for parameter in context.command.params
        if parameter.name in refused and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(
            f"{given[0].opts[-1]} cannot change a curve that is already measured",
            "leave it away, or leave --from away to measure anew",
        )
