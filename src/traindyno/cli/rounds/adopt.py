"""`traindyno round adopt`."""

from typing import Any

import click

from traindyno.cli.output import Output, output_options, report_option
from traindyno.cli.parameters import BUDGET, MEASURING, MEMORY, Finite

_LIMITS = {
    "device": "device",
    "runner": "runner",
    "time_budget": "time_budget_seconds",
    "memory_limit": "memory_limit_bytes",
    "step_timeout": "step_timeout_seconds",
    "trial_timeout": "trial_timeout_seconds",
    "executor": "executor",
    "address": "address",
}
"""The bench's field for each option that may differ from the round's; all else must be as it was there."""


@click.command("adopt")
@click.argument("round_study", metavar="ROUND")
@click.option(
    "--seeds", type=click.IntRange(2), metavar="N",
    help="Fresh seeds of each in all; more than before are a further look. [default: as the round's file says]",
)  # fmt: skip
@click.option("--arm", "arms", multiple=True, metavar="VALUE", help="Prove the best of this arm; may be repeated.")
@click.option(
    "--minimum-gain", type=Finite(0), metavar="GAIN",
    help="What a change must gain to be worth having; not once it is decided. [default: as the round's file says]",
)  # fmt: skip
@click.option("--despite-checks", is_flag=True, help="Go on although checks of the round have failed.")
@click.option("--model", "models", multiple=True, metavar="FILE:FUNCTION", help="Name the round's own code again.")
@click.option(
    "--processes", type=int, default=1, show_default=True, metavar="N",
    help="Run it with so many processes here, which share the CPUs.",
)  # fmt: skip
@click.option("--device", metavar="DEVICE", help="cuda, cuda:1 or cpu. [default: as the round]")
@click.option("--time-budget", type=BUDGET, metavar="TIME", help="Stop after this long; the same command goes on.")
@click.option("--memory-limit", type=MEMORY, metavar="BYTES", help="Memory a run may take. [default: as the round]")
@click.option("--step-timeout", type=MEASURING, metavar="TIME", help="A step that takes longer is a hang.")
@click.option("--trial-timeout", type=MEASURING, metavar="TIME", help="Limit of one run. [default: as the round]")
@click.option("--runner", metavar="RUNNER", help="fork, spawn or simulated[:limit=N,...]. [default: as the round]")
@click.option(
    "--executor", type=click.Choice(["local", "ray"]),
    help="Where runs go: on this machine, or over a Ray cluster. [default: as the round]",
)  # fmt: skip
@click.option("--address", metavar="HOST:PORT", help="The Ray cluster's head. [default: as the round]")
@click.option("--dry-run", is_flag=True, help="Print candidates, fresh seeds and the expected time, train nothing.")
@report_option
@output_options
def command(
    round_study: str,
    seeds: int | None,
    arms: tuple[str, ...],
    minimum_gain: float | None,
    despite_checks: bool,
    models: tuple[str, ...],
    processes: int,
    store: str,
    dry_run: bool,
    **values: Any,
) -> int:
    """Prove the best of ROUND against the incumbent with fresh seeds, and decide: adopt, keep, undecided or equivalent.

    The search's own runs do not count, for the best of many flatters itself. All looks at the same question together
    adopt what is no better in less than 5 % of cases.
    """
    from traindyno.app.rounds.adopt import adopt
    from traindyno.app.rounds.adopt_request import adopt_request
    from traindyno.app.sources import hash_source
    from traindyno.cli.running import run

    output = Output.take(values, store)
    request, remarks = adopt_request(
        store,
        round_study,
        seeds=seeds,
        arms=arms,
        despite_checks=despite_checks,
        minimum_gain=minimum_gain,
        bench={field: values[option] for option, field in _LIMITS.items() if values[option] is not None},
    )
    if dry_run:
        from traindyno.app.rehearsals.rounds import rehearse_adopt

        return output.deliver_rehearsal(rehearse_adopt(request, store, remarks))
    named = tuple((model, hash_source(model)) for model in models)
    return run(lambda context: adopt(request, context, named, remarks, processes), output, store, None)
