"""The switches that a study tries, one file each. To add one: a new file here and a line in `SWITCHES`."""

from collections.abc import Collection
from difflib import get_close_matches

from traindyno.analysis.switch_candidates import Candidate
from traindyno.core.errors import UsageError
from traindyno.search.switches import (
    accumulation,
    activation_checkpointing,
    compile_mode,
    cudnn_benchmark,
    determinism,
    expandable_segments,
    memory_format,
    optimizer_kernel,
    pin_memory,
    precision,
    read_metrics,
    tf32,
    threads,
)
from traindyno.search.switches.switch import Situation, Switch

SWITCHES: dict[str, Switch] = {
    module.SWITCH.name: module.SWITCH
    for module in (
        precision,
        memory_format,
        compile_mode,
        tf32,
        cudnn_benchmark,
        optimizer_kernel,
        threads,
        pin_memory,
        expandable_segments,
        activation_checkpointing,
        accumulation,
        read_metrics,
        determinism,
    )
}


def find_candidates(
    situation: Situation, only: Collection[str] = (), skip: Collection[str] = ()
) -> tuple[Candidate, ...]:
    """Every value of the wanted switches; those that do not apply are among them with the reason."""
    for name in (*only, *skip):
        _check_name(name)
    wanted = [switch for name, switch in SWITCHES.items() if name not in skip and (not only or name in only)]
    if not wanted:
        raise UsageError("no switch is left to try", "leave some of --skip away")
    return tuple(candidate for switch in wanted for candidate in switch.candidates(situation))


def _check_name(name: str) -> None:
    if name not in SWITCHES:
        near = get_close_matches(name, SWITCHES, n=1)
        known = f"there are {', '.join(SWITCHES)}"
        raise UsageError(f"there is no switch {name!r}", f"did you mean {near[0]}? {known}" if near else known)
