"""What `round new` asks on a terminal: each question with a proposal, and nothing that was said already."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from traindyno.cli.rounds.possible import check_options, has_model, possible
from traindyno.cli.rounds.prompts import prompt, until_taken
from traindyno.core.errors import StoppedError, UsageError
from traindyno.core.records import is_user_file
from traindyno.core.round_kinds import check_known
from traindyno.core.round_tables import RECIPE_METRICS
from traindyno.core.round_words import field_of, parse_choices

if TYPE_CHECKING:
    from traindyno.app.rounds.wishes import Wishes

GOALS = {
    "helps": "does something help?",
    "effect": "what does something do?",
    "maximise": "how good can it get?",
    "initial": "what to begin with?",
}
_ABOUT_TARGET = ("helps", "effect")
_CHANGE = "Change one (NAME=LOW..HIGH is searched, NAME=VALUE fixed), or Enter"


def ask(wishes: "Wishes", file: Path, adopted: Mapping[str, Any]) -> "Wishes":
    """The wishes with the answers among them."""
    try:
        wishes = _ask_job(wishes, file, adopted)
        wishes = _ask_goal(wishes)
        wishes = _ask_target(wishes, file, adopted)
        wishes = _ask_question(wishes)
        wishes = _ask_roles(wishes, file, adopted)
        return _ask_budget(wishes, file, adopted)
    except click.Abort:
        click.echo(err=True)
        raise StoppedError(
            f"the questions ended early, and {file} was not written",
            "type it again; what is given as options, such as --target, is not asked, and with --yes nothing is",
        ) from None


def _ask_job(wishes: "Wishes", file: Path, adopted: Mapping[str, Any]) -> "Wishes":
    """The model and its data; a file of the user's own brings its data, and a target its first model."""
    from traindyno.app.rounds.new import FIRST_DATA, FIRST_MODEL

    check_options(wishes, file, adopted)
    if wishes.function is not None:
        return _ask_metric(wishes)

    def with_job(field: str, value: str) -> "Wishes":
        return possible(msgspec.structs.replace(wishes, job={**wishes.job, field: value}), file, adopted)

    if not has_model(wishes, adopted):
        text = "What is trained (mlp:64, torchvision:resnet18, file.py:function ...)"
        wishes = until_taken(lambda: with_job("model", prompt(text, FIRST_MODEL)))
    if wishes.job.get("data") is None and "data" not in adopted and not is_user_file(str(wishes.job.get("model"))):
        text = "On which data (digits:, cifar10:PATH, folder:PATH ...)"
        wishes = until_taken(lambda: with_job("data", prompt(text, FIRST_DATA)))
    return wishes


def _ask_metric(wishes: "Wishes") -> "Wishes":
    """A job of the user's own is compared by what the user says."""
    metric = wishes.metric or prompt("What is your job compared by", "accuracy")
    better = wishes.higher_is_better
    if better is None and metric not in RECIPE_METRICS:
        better = click.confirm(f"Is more of {metric} better", default=True, err=True)
    return msgspec.structs.replace(wishes, metric=metric, higher_is_better=better)


def _ask_goal(wishes: "Wishes") -> "Wishes":
    if wishes.goal is not None:
        return wishes
    if wishes.targets:
        return msgspec.structs.replace(wishes, goal="helps")
    for kind, told in GOALS.items():
        click.echo(f"  {kind}: {told}", err=True)
    chosen = click.prompt("What is asked", type=click.Choice(list(GOALS)), default="helps", err=True)
    return msgspec.structs.replace(wishes, goal=str(chosen))


def _ask_target(wishes: "Wishes", file: Path, adopted: Mapping[str, Any]) -> "Wishes":
    if wishes.goal not in _ABOUT_TARGET or wishes.targets:
        return wishes

    def ask_once() -> "Wishes":
        is_own = wishes.function is not None
        field = field_of(prompt("About what (model, optimizer, schedule, weight_decay ...)", "model"), is_own)
        check_known(field, "the target", is_own)
        values = prompt(f"Which values of {field}, with commas between, first what you have now", None)
        return possible(msgspec.structs.replace(wishes, targets=(f"{field}={values}",)), file, adopted)

    return until_taken(ask_once)


def _ask_question(wishes: "Wishes") -> "Wishes":
    from traindyno.app.rounds.wishes import proposed_question

    if wishes.question is not None or not wishes.targets:
        return wishes
    targets = dict(parse_choices(each, wishes.function is not None) for each in wishes.targets)
    proposed = proposed_question(wishes.goal or "helps", targets)
    return msgspec.structs.replace(wishes, question=prompt("The question in your words", proposed))


def _ask_roles(wishes: "Wishes", file: Path, adopted: Mapping[str, Any]) -> "Wishes":
    """Show every role, and take changes until there are no more; one that cannot be is told and asked again."""
    from traindyno.app.rounds.new import propose
    from traindyno.app.rounds.wishes import reasons_for

    tried, is_possible = wishes, False
    while True:
        try:
            told = reasons_for(propose(tried, file, adopted), tried, adopted)
        except UsageError as error:
            told = (f"{error.message}; {error.hint}",)
        else:
            wishes, is_possible = tried, True
        for line in told:
            click.echo(f"  {line}", err=True)
        change = prompt(_CHANGE, "" if is_possible else None)
        if not change:
            return wishes
        tried = _with_change(wishes if is_possible else tried, change)


def _with_change(wishes: "Wishes", change: str) -> "Wishes":
    """A later word on a parameter takes the place of an earlier one."""
    name = change.partition("=")[0].strip()
    nuisances = tuple(each for each in wishes.nuisances if each.partition("=")[0].strip() != name)
    fixed = tuple(each for each in wishes.fixed if each.partition("=")[0].strip() != name)
    is_searched = "=" not in change or ".." in change or "," in change
    if is_searched:
        return msgspec.structs.replace(wishes, nuisances=(*nuisances, change), fixed=fixed)
    return msgspec.structs.replace(wishes, nuisances=nuisances, fixed=(*fixed, change))


def _ask_budget(wishes: "Wishes", file: Path, adopted: Mapping[str, Any]) -> "Wishes":
    from traindyno.app.rounds.new import propose

    if wishes.trials is not None or wishes.hours is not None:
        return wishes
    proposed = propose(wishes, file, adopted).budget.trials
    trials = click.prompt("Trials of each arm", type=click.IntRange(1), default=proposed, err=True)
    return msgspec.structs.replace(wishes, trials=int(trials))
