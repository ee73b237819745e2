"""`traindyno round new`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from traindyno.cli.json_frame import print_answer
from traindyno.cli.options import given_now, store_options
from traindyno.cli.rounds.drafted import tell
from traindyno.core.errors import UsageError
from traindyno.core.units import parse_seconds

if TYPE_CHECKING:
    from traindyno.app.rounds.wishes import Wishes

SECONDS_PER_HOUR = 3600.0
_JOB = ("model", "data", "optimizer", "batch_size", "schedule")


@click.command("new")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Of the round. [default: that of the file]")
@click.option("--campaign", default="default", show_default=True, help="Rounds that build on one another share one.")
@click.option(
    "--goal",
    type=click.Choice(["helps", "effect", "maximise", "initial"]),
    help="What is asked. [default: helps with --target, else maximise]",
)
@click.option("--question", metavar="TEXT", help="The same in your own words.")
@click.option(
    "--model",
    metavar="MODEL",
    help="torchvision:NAME, timm:NAME, ir:50, mlp:64 or file.py:function. [default: what was adopted, else mlp:64]",
)
@click.option("--data", metavar="SOURCE", help="What is learnt. [default: what was adopted, else digits:]")
@click.option("--function", metavar="FILE.PY:FUNCTION", help="A training job of your own, instead of --model.")
@click.option("--optimizer", type=click.Choice(["sgd", "adam", "adamw"]), help="[default: what was adopted, else sgd]")
@click.option("--batch-size", type=click.IntRange(1), help="Examples per step. [default: what was adopted, else 64]")
@click.option("--epochs", type=float, metavar="N", help="Length of a run. [default: what was adopted, else 10]")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Length of a run in steps, instead of epochs.")
@click.option(
    "--schedule",
    type=click.Choice(["cosine", "constant", "step"]),
    help="How the rate falls. [default: what was adopted, else cosine; constant for --goal initial]",
)
@click.option("--lr", type=float, metavar="RATE", help="The learning rate that there is to beat.")
@click.option(
    "--job",
    "others",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another field of the job, such as image_size=112 or precision=bf16; may be given several times.",
)
@click.option("--target", "targets", multiple=True, metavar="NAME=VALUES", help="model=mlp:64,mlp:64x64: an arm each.")
@click.option(
    "--nuisance",
    "nuisances",
    multiple=True,
    metavar="NAME=RANGE",
    help="learning_rate=1e-3..1, width=16..256:log or clip_norm=0.5,1; a name alone has its usual range.",
)
@click.option("--fix", "fixed", multiple=True, metavar="NAME=VALUE", help="weight_decay=0: not searched.")
@click.option("--incumbent", multiple=True, metavar="NAME=VALUE", help="learning_rate=0.1: what there is to beat.")
@click.option("--trials", type=click.IntRange(1), metavar="N", help="Of each arm. [default: by what is searched]")
@click.option("--hours", metavar="TIME", help="0.5, or 30m: for the whole search, instead of --trials.")
@click.option("--metric", metavar="NAME", help="accuracy or loss; of --function, any. [default: accuracy]")
@click.option(
    "--higher-is-better/--lower-is-better",
    "higher_is_better",
    default=None,
    help="Which way the --metric of a --function goes.",
)
@click.option("--minimum-gain", type=float, help="What a change must gain. [default: 0.002 of accuracy]")
@click.option("--yes", is_flag=True, help="Ask nothing, take what is proposed.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@store_options
def command(file: Path, store: str, as_json: bool, yes: bool, force: bool, **values: Any) -> int:
    """Write the round's FILE: one question, and a role for every hyperparameter.

    On a terminal it asks for what was not given. What is proposed follows rules of thumb: parameters of the optimiser
    and strengths of regularisation are nuisances, tuned anew for every value of the target; architecture and the choice
    of the optimiser are the target or fixed; length and batch are fixed. The file is text, and yours to change.
    """
    from traindyno.app.rounds.files import check_free
    from traindyno.app.rounds.new import adopted_before, draft, simulated_before
    from traindyno.app.rounds.wishes import check_wishes
    from traindyno.cli.rounds.questions import ask

    check_free(file, force=force)
    wishes = _wishes(values)
    check_wishes(wishes)
    adopted = adopted_before(values["campaign"], store)
    if not yes and not as_json and sys.stdin.isatty():
        wishes = ask(wishes, file, adopted)
    simulated = simulated_before(values["campaign"], store) if adopted else ()
    answer = draft(wishes, file, adopted, force=force, simulated=simulated)
    if as_json:
        print_answer("round new", answer)
    else:
        tell(answer)
    return 0


def _wishes(values: dict[str, Any]) -> "Wishes":
    from traindyno.app.rounds.wishes import Wishes
    from traindyno.core.round_words import parse_assignment

    is_own, rate = values["function"] is not None, values.pop("lr")
    others = dict(parse_assignment(each, is_own) for each in values.pop("others"))
    job = {name: values.pop(name) for name in _JOB} | _length(values)
    incumbent = (*(() if rate is None else (f"learning_rate={rate!r}",)), *values.pop("incumbent"))
    hours = values.pop("hours")
    return Wishes(job={**job, **others}, incumbent=incumbent, hours=_hours(hours), **values)


def _length(values: dict[str, Any]) -> dict[str, Any]:
    """A run's length is in epochs or in steps; what is said now wins over the project file."""
    lengths = {name: values.pop(name) for name in ("epochs", "steps")}
    now = [name for name in lengths if given_now(name)]
    if len(now) > 1:
        raise UsageError("a run has one length, in --epochs or in --steps", "leave one of the two away")
    if all(value is not None for value in lengths.values()):
        return {name: lengths[name] for name in now or ("steps",)}
    return lengths


def _hours(text: str | None) -> float | None:
    """A plain number is of hours; with a unit it is any time."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return parse_seconds(text) / SECONDS_PER_HOUR
