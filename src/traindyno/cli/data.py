"""`traindyno data`: sets of data on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from traindyno.cli.counting import working
from traindyno.cli.groups import GroupWithDefaults
from traindyno.cli.json_frame import print_answer
from traindyno.cli.output import EXIT_DONE, EXIT_FAILED
from traindyno.cli.parameters import SHARE
from traindyno.core.errors import UsageError
from traindyno.core.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from traindyno.app.data_answers import CheckAnswer, MakeAnswer, PrepareAnswer

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_QUALITY = 90


def _work_options(function: F) -> F:
    function = click.option("-q", "--quiet", is_flag=True, help="No progress, warnings only.")(function)
    function = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")(function)
    return click.option(
        "--processes", type=click.IntRange(1), metavar="N", help="Processes that share the work. [default: usable CPUs]"
    )(function)


@click.group("data", cls=GroupWithDefaults, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Make sets of images, and prepare sets for fast loading."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command("make", short_help="Make a set of images like a well-known one.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--like", type=click.Choice(["imagenet", "places365", "cifar10"]), required=True, help="The set whose form to take."
)
@click.option("--images", type=click.IntRange(1), required=True, metavar="N", help="Images in all, val among them.")
@click.option(
    "--classes",
    type=click.IntRange(2),
    metavar="N",
    help="Number of classes. [default: those of the well-known set, or fewer, with 20 images each]",
)
@click.option(
    "--val-share", type=SHARE, metavar="SHARE", help="Share of the images for val. [default: 10%; cifar10: a sixth]"
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed, other images.")
@_work_options
def make(path: Path, as_json: bool, quiet: bool, processes: int | None, **wishes: Any) -> int:
    """Make a set of images at PATH, like a well-known one in form, sizes and entropy, with classes to learn.

    \b
    imagenet: train/CLASS/*.JPEG and val/CLASS/*.JPEG of varying size, about 100 KB at 500×375.
    places365: 256×256 in train/LETTER/CLASS/*.jpg and val/LETTER/CLASS/*.jpg.
    cifar10: the official binary archive, cifar-10-batches-bin.

    Cut off, it goes on where it was when the command is repeated.
    """
    from traindyno.app import data

    request = data.make_request(**wishes)
    with working("images", quiet) as (listener, should_stop):
        answer = data.make(path, request, data.usable_processes(processes), listener, should_stop)
    if as_json:
        print_answer("data make", answer)
    else:
        _tell_made(answer, quiet)
    return EXIT_DONE


@command.command("prepare", short_help="Decode a set once, so that loading it is fast.")
@click.argument("source")
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--shorter-side",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    metavar="PIXELS",
    help="Resize to this shorter side; jpeg only makes smaller.",
)
@click.option(
    "--format",
    "encoding",
    type=click.Choice(["u8", "jpeg"]),
    default="u8",
    show_default=True,
    help="u8: pixels, to be cropped only. jpeg: about an eighth of the space, still to be decoded.",
)
@click.option("--quality", type=click.IntRange(1, 100), help=f"Of jpeg. [default: {DEFAULT_QUALITY}]")
@click.option("--skip-bad", is_flag=True, help="Leave out images that cannot be decoded, and count them.")
@click.option("--dry-run", is_flag=True, help="Say what it would cost, and prepare nothing.")
@_work_options
def prepare(
    source: str,
    target: Path,
    skip_bad: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    processes: int | None,
    **wishes: Any,
) -> int:
    """Decode the images of SOURCE once and store them smaller in the folder TARGET, to be read as prepared:TARGET.

    SOURCE is named as for --data: folder:PATH, cifar10:PATH, shards:PATTERN. Splits to train and to infer on are both
    prepared. The cost in disk space is told first. Cut off, it goes on where it was when the command is repeated.
    """
    from traindyno.app import data

    count = data.usable_processes(processes)
    request = data.prepare_request(source=source, **_with_quality(wishes))
    if dry_run:
        cost = data.prepare_cost(request, target, count)
        print_answer("data prepare", cost) if as_json else click.echo(data.describe_cost(cost))
        return EXIT_DONE
    with working("examples", quiet) as (listener, should_stop):
        answer = data.prepare(request, target, count, skip_bad, listener, should_stop)
    if as_json:
        print_answer("data prepare", answer)
    else:
        _tell_prepared(answer, quiet)
    return EXIT_DONE


@command.command("check", short_help="Compare a prepared set with its checksums.")
@click.argument("target", type=click.Path(path_type=Path))
@_work_options
def check(target: Path, as_json: bool, quiet: bool, processes: int | None) -> int:
    """Read the prepared set TARGET and compare every file with its checksum."""
    from traindyno.app import data

    with working("files", quiet) as (listener, should_stop):
        answer = data.check(target, data.usable_processes(processes), listener, should_stop)
    if as_json:
        print_answer("data check", answer)
    else:
        _tell_checked(answer)
    return EXIT_DONE if answer.intact else EXIT_FAILED


def _with_quality(wishes: dict[str, Any]) -> dict[str, Any]:
    if wishes["encoding"] == "u8" and wishes["quality"] is not None:
        raise UsageError("--quality means nothing for u8, which stores pixels", "add --format jpeg, or leave it out")
    if wishes["encoding"] == "jpeg" and wishes["quality"] is None:
        return {**wishes, "quality": DEFAULT_QUALITY}
    return wishes


def _tell_made(answer: "MakeAnswer", quiet: bool) -> None:
    click.echo(
        f"{answer.data}: {answer.train_images:,} images to train and {answer.val_images:,} to validate on, "
        f"{answer.classes} classes, {format_bytes(answer.bytes)}"
    )
    _hint(f"took {format_seconds(answer.seconds)}", answer.hint, quiet)


def _tell_prepared(answer: "PrepareAnswer", quiet: bool) -> None:
    for split in answer.splits:
        left_out = f", bad images left out: {split.skipped:,}" if split.skipped else ""
        click.echo(f"{split.name}: {split.examples:,} examples, {format_bytes(split.bytes)}{left_out}")
    click.echo(f"{answer.data}: {answer.classes} classes, {format_bytes(answer.bytes)} on disk")
    click.echo("What it changes in augmentation:")
    for change in answer.changes:
        click.echo(f"  - {change}")
    for name in answer.skipped_names:
        click.secho(f"left out: {name}", fg="yellow", err=True)
    _hint(f"took {format_seconds(answer.seconds)}", answer.hint, quiet)


def _tell_checked(answer: "CheckAnswer") -> None:
    for path in answer.damaged:
        click.echo(f"damaged: {path}")
    whole = "intact" if answer.intact else f"{len(answer.damaged)} of {answer.files} files are damaged"
    click.echo(f"{answer.target}: {whole}; {answer.examples:,} examples, {format_bytes(answer.bytes)}")
    if answer.hint:
        click.echo(f"hint: {answer.hint}", err=True)


def _hint(took: str, hint: str, quiet: bool) -> None:
    if not quiet:
        click.echo(took, err=True)
        click.echo(f"hint: {hint}", err=True)
