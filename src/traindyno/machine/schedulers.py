"""What a batch scheduler granted this job on this node, read from the variables it sets."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from traindyno.machine.files import whole_number

_PLAIN_VARIABLES = (
    ("SLURM_CPUS_PER_TASK", "Slurm"),
    ("SLURM_CPUS_ON_NODE", "Slurm"),
    ("PBS_NUM_PPN", "PBS"),
    ("PBS_NCPUS", "PBS"),
)


class Grant(NamedTuple):
    cpus: int
    source: str


def cpu_grant(environment: Mapping[str, str], hostname: str) -> Grant | None:
    """The tightest grant that any scheduler states for this node, or null outside a job."""
    return min(_grants(environment, hostname), default=None)


def _grants(environment: Mapping[str, str], hostname: str) -> Iterator[Grant]:
    for variable, scheduler in _PLAIN_VARIABLES:
        cpus = whole_number(environment.get(variable))
        if cpus:
            yield Grant(cpus, f"{scheduler} ({variable})")
    if "PBS_JOBID" in environment and (cpus := whole_number(environment.get("NCPUS"))):
        yield Grant(cpus, "PBS (NCPUS)")
    if cpus := _lsf_slots(environment, hostname):
        yield Grant(cpus, "LSF (LSB_MCPU_HOSTS)")
    elif cpus := whole_number(environment.get("LSB_DJOB_NUMPROC")):
        yield Grant(cpus, "LSF (LSB_DJOB_NUMPROC)")


def _lsf_slots(environment: Mapping[str, str], hostname: str) -> int | None:
    """This host's share in `hostA 4 hostB 8`; names may or may not carry their domain."""
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    slots = {_short(host): whole_number(count) for host, count in zip(words[::2], words[1::2], strict=False)}
    return slots.get(_short(hostname))


def _short(hostname: str) -> str:
    return hostname.partition(".")[0].lower()
