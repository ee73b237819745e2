"""Whether a study is still on the machine where it was begun, and what it says if not."""

from collections.abc import Iterator, Sequence

from traindyno.app.workshop import Workshop
from traindyno.core.errors import UsageError
from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord
from traindyno.core.units import count_of, format_bytes
from traindyno.machine.facts import collect
from traindyno.runner.ray_words import kind_of
from traindyno.store.ledger import StudyRow

PLANS_BY_MACHINE = ("loader", "stalls", "find", "verify", "scale")
PLACES = ("hostname", "the GPUs")
"""What tells one machine from another of its kind. A study over a cluster is one of a kind."""


def check_plans_here(command: str, workshop: Workshop) -> None:
    """Some commands plan by the CPUs, memory and files of this machine: those of the trials must be like it."""
    if workshop.bench.executor == "local" or workshop.runner.simulated or command not in PLANS_BY_MACHINE:
        return
    here, there = (kind_of(facts, workshop.bench.device) for facts in (collect(), workshop.machine))
    if here != there:
        raise UsageError(
            f"`{command}` plans by the machine that it is typed on ({here}), and the cluster's is another ({there})",
            "type the command on a machine of that kind",
        )


def place_to_go_on(row: StudyRow, workshop: Workshop, elsewhere: bool) -> str | None:
    """What to call this machine in trials from now on, where the study was begun on another of its kind.

    Trials of two machines or versions in one study would be compared silently: that is refused, unless the user
    allows for `elsewhere`.
    """
    if row.machine is None or workshop.runner.simulated:
        return None
    differences = list(machine_differences(row.machine, workshop.machine))
    if workshop.bench.executor == "ray":
        differences = [each for each in differences if each[0] not in PLACES]
    if not differences:
        return None
    unlike = [each for each in differences if each[0] not in PLACES] or list(
        _unlike_gpus(row.machine, workshop.machine)
    )
    if elsewhere and not unlike:
        return ", ".join(str(now) for _, _, now in differences)
    what, then, now = [*unlike, *differences][0]
    raise UsageError(
        f"study {row.name!r} was begun with {what} {then}; here it is {now}",
        "begin a new study here, then `traindyno compare` the two"
        if unlike
        else "trials of two machines of one kind may share a study if you say --elsewhere; or begin a new one here",
    )


def machine_differences(then: MachineFacts, now: MachineFacts) -> Iterator[tuple[str, object, object]]:
    """What makes measurements of the two unlike: what it is, and what it was and is."""
    for what in ("hostname", "torch", "cuda", "cpu_model"):
        if getattr(then, what) != getattr(now, what):
            yield what, getattr(then, what), getattr(now, what)
    if None not in (then.cpus_usable, now.cpus_usable) and then.cpus_usable != now.cpus_usable:
        yield "so many usable CPUs:", then.cpus_usable, now.cpus_usable
    before, after = ([gpu.uuid for gpu in facts.gpus] for facts in (then, now))
    if before != after:
        yield "the GPUs", ", ".join(before) or "none", ", ".join(after) or "none"


def _unlike_gpus(then: MachineFacts, now: MachineFacts) -> Iterator[tuple[str, object, object]]:
    before, after = ([(gpu.name, gpu.memory_bytes) for gpu in facts.gpus] for facts in (then, now))
    if before != after:
        yield "the GPUs", _in_words(before), _in_words(after)


def _in_words(gpus: list[tuple[str, int | None]]) -> str:
    return ", ".join(f"{name} of {format_bytes(memory)}" for name, memory in gpus) or "none"


def several_places(records: Sequence[TrialRecord], workshop: Workshop) -> tuple[str, ...]:
    """The warning of a study that went on elsewhere, whichever machine it ended on."""
    if workshop.bench.executor != "local":
        return ()
    moved = [record.conditions.machine for record in records if record.conditions.machine is not None]
    if not moved:
        return ()
    places = ", ".join(sorted(set(moved)))
    return (
        f"{len(moved)} of {count_of(len(records), 'trial')} ran on another machine of the same kind ({places}): "
        "ratios within a trial hold, while rates and times of different trials may differ by what the machines do.",
    )
