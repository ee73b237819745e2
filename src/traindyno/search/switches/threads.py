"""How many threads torch computes with on a CPU."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch


def values(situation: Situation) -> tuple[Value, ...]:
    """Half the CPUs, and where cores have two threads each, as many as there are cores and as there are threads.

    Not as many as it computes with already.
    """
    if situation.on_gpu:
        return (situation.usable_cpus,)
    usable, cores = situation.usable_cpus, situation.physical_cores or situation.usable_cpus
    counts = {max(1, usable // 2), min(usable, cores), usable}
    default = situation.default_threads or (usable if cores == usable else None)
    return tuple(sorted(counts - {situation.baseline.threads or default})) or (usable,)


def reason_not(situation: Situation, value: Value) -> str | None:
    if situation.on_gpu:
        return "on a GPU, threads of torch do not compute the step"
    return "there is one CPU" if situation.usable_cpus == 1 else None


SWITCH = Switch(
    name="threads",
    question="Does torch compute faster with another number of threads?",
    values=values,
    reason_not=reason_not,
)
