"""`traindyno find`."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from traindyno.cli.embedded import LEARNING_RATES, make_search_sample, with_embedded_learning, with_embedded_search
from traindyno.cli.options import (
    given_now,
    limited_bench_options,
    local_ranks_option,
    take_bench,
    take_workload,
    workload_options,
)
from traindyno.cli.output import Output, output_options, report_option, toml_option
from traindyno.cli.parameters import BATCH_RANGE, MEASURING, SHARE
from traindyno.cli.setting_options import given_settings, setting_options, take_settings
from traindyno.core.errors import UsageError
from traindyno.core.keeping import all_kept, parse_keep
from traindyno.core.requests import FindRequest

OF_WORKLOAD = ("mode", "image_size", "classes", "optimizer", "conv1_stride", "skip_bad")
"""What a settings file says of its workload beside the model and the data."""


@click.command("find")
@click.option(
    "--model", metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50 or file.py:function. [default: a small embedded example]",
)  # fmt: skip
@workload_options
@click.option(
    "--baseline", default="default", show_default=True, metavar="FILE",
    help="Settings that you train with, as TOML; `default`: those of torch and its DataLoader. Options win over both, "
    "and the file over traindyno.toml.",
)  # fmt: skip
@setting_options
@click.option(
    "--keep", multiple=True, metavar="NAME[=VALUE],...",
    help="Do not change these: a setting, data or augmentation. A value also sets the baseline's.",
)  # fmt: skip
@click.option(
    "--batch-range", type=BATCH_RANGE, metavar="LOW..HIGH",
    help="Recommend a batch in this range. [default: your own; the best with any batch is shown beside it]",
)  # fmt: skip
@click.option(
    "--also", multiple=True, metavar="SOURCE",
    help="Another source of the same examples that may be used: memory: (the data in RAM), prepared:PATH.",
)  # fmt: skip
@click.option(
    "--prepare", type=click.Path(file_okay=False), metavar="FOLDER",
    help="Allow to prepare the data into this folder, if it pays; that changes its augmentation.",
)  # fmt: skip
@click.option(
    "--memory-margin", "--margin", "margin", type=SHARE, default="5%", show_default=True,
    help="Memory that recommended settings leave free.",
)  # fmt: skip
@click.option("--epochs", type=float, metavar="N", help="Also tell how long so many epochs take, before and after.")
@click.option(
    "--epoch-examples", type=click.IntRange(1), metavar="N",
    help="Examples of your epoch. [default: those of the data]",
)  # fmt: skip
@click.option(
    "--learning-rate", type=float, metavar="RATE", help="Yours, to tell the one by rule for another batch beside it."
)
@click.option(
    "--objective", type=click.Choice(["throughput", "time-to-accuracy"]), default="throughput", show_default=True,
    help="What a batch is chosen by: examples per second, or how soon it should reach the same loss.",
)  # fmt: skip
@click.option(
    "--noise-scale", type=float, metavar="N",
    help="Of the gradients, for --objective time-to-accuracy. [default: read in runs with --learning-rate]",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True,
    help="Rounds of the best with the baseline at the end, at least two; up to twice as many where they differ.",
)  # fmt: skip
@click.option(
    "--trial-seconds", type=MEASURING, default="3s", show_default=True, metavar="TIME",
    help="Longest measuring time of one trial that does not become precise.",
)  # fmt: skip
@local_ranks_option
@limited_bench_options(time_budget="10m")
@click.option("--dry-run", is_flag=True, help="Print the plan and its cost, measure nothing.")
@report_option
@toml_option
@output_options
def command(model: str | None, store: str, name: str | None, dry_run: bool, **values: Any) -> int:
    """Find the fastest settings for your model and data on this machine, proved against what you have now.

    The baseline is measured as it is and taken apart; the search then goes where the time goes: workers, decoder and
    source of the data, precision and the other switches of the step, the batch. The best take turns with the baseline
    at the end. The best found so far is the answer whenever the time budget or Ctrl-C ends the search.
    """
    from traindyno.app.find import find
    from traindyno.app.find_checks import check_find
    from traindyno.cli.running import run

    settings_path: Path | None = values["export_toml"]
    output = Output.take(values, store)
    model = _as_in_file(model, values)
    named = model is not None
    request = _request(_embedded(model, values, store, quiet=output.quiet), values)
    if dry_run:
        from traindyno.app.rehearsals.finding import rehearse_find

        return output.deliver_rehearsal(rehearse_find(request, data_is_there=named))
    if not named and not _learns(values):
        check_find(request, data_is_there=False)
        if not request.bench.runner.startswith("simulated"):
            make_search_sample(values["classes"], store, quiet=output.quiet)
    return run(lambda context: find(request, context, settings_path), output, store, name)


def _as_in_file(model: str | None, values: dict[str, Any]) -> str | None:
    """The model; the baseline's file may name it, and says what else of the workload no option says. Code from a file
    runs only if the user names it now.
    """
    from traindyno.app.baseline import workload_of

    workload = workload_of(values["baseline"])
    if workload is None or model not in (None, workload.model):
        return model
    if model is None and workload.runs_user_code:
        raise UsageError(
            f"the settings in {values['baseline']} are for code from {workload.model}, which must be named again",
            f"add --model {shlex.quote(workload.model)}",
        )
    values.update({name: getattr(workload, name) for name in OF_WORKLOAD if not given_now(name)})
    return workload.model


def _learns(values: Mapping[str, Any]) -> bool:
    """Whether the embedded example is to be one from which there is something to learn."""
    return bool(values["objective"] != "throughput" and values["baseline"] == "default")


def _embedded(model: str | None, values: dict[str, Any], store: str, *, quiet: bool) -> str:
    """The model; without one an example that is small, and from which there is something to learn if that is asked."""
    if not _learns(values):
        return with_embedded_search(model, values, store, quiet=quiet)
    own = {"learning_rate": LEARNING_RATES[values["optimizer"]], "trial_seconds": 1.0, "time_budget": 150.0}
    return with_embedded_learning(model, values, quiet=quiet, defaults=own)


def _request(model: str, values: dict[str, Any]) -> FindRequest:
    from traindyno.app.baseline import baseline_of

    kept = all_kept(parse_keep(values["keep"]))
    given, bench = given_settings(values), take_bench(values)
    baseline = baseline_of(values["baseline"], take_settings(values, bench), given, kept)
    if baseline.data is not None and not given_now("data"):
        values["data"] = baseline.data
    return FindRequest(
        workload=take_workload(model, values),
        bench=msgspec.structs.replace(bench, precision=baseline.settings.precision),
        settings=baseline.settings,
        keep=tuple(kept),
        batch_range=values["batch_range"],
        also=values["also"],
        prepare=values["prepare"],
        margin=values["margin"],
        epochs=values["epochs"],
        epoch_examples=values["epoch_examples"],
        learning_rate=values["learning_rate"],
        repeats=values["repeats"],
        trial_seconds=values["trial_seconds"],
        local_ranks=values["local_ranks"],
        objective=values["objective"],
        noise_scale=values["noise_scale"],
    )
