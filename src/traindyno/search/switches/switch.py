"""What a switch is: one field of the settings, the values worth trying, and when it means nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from traindyno.analysis.switch_candidates import Candidate, Value
from traindyno.core.base import Record
from traindyno.core.loading import Supply
from traindyno.core.records import Settings, WorkloadSpec


class Situation(Record, frozen=True):
    """What a switch may know before a trial: the workload, the baseline, and the machine.

    A simulated device is taken for a GPU. `physical_cores` is null where it is not known, and
    `default_threads`, which torch computes with on a CPU, where the environment does not say it.
    """

    workload: WorkloadSpec
    baseline: Settings
    usable_cpus: int = 1
    physical_cores: int | None = None
    default_threads: int | None = None
    has_cpp_compiler: bool = True
    max_autotune: bool = False

    @property
    def on_gpu(self) -> bool:
        return self.baseline.device != "cpu"

    @property
    def trains(self) -> bool:
        return self.workload.mode == "train"


def never(situation: Situation, value: Value) -> str | None:
    """For switches that mean something everywhere."""
    return None


@dataclass(frozen=True)
class Switch:
    """`name` is the field of the settings, `question` what a reader wants to know of it.

    `values` are tried one at a time against the baseline; `reason_not` says why one of them does not apply. See
    `Candidate` for the rest. A switch whose effect is on copies has the supply `cached` in both arms.
    """

    name: str
    question: str
    values: Callable[[Situation], tuple[Value, ...]]
    reason_not: Callable[[Situation, Value], str | None] = never
    changes_arithmetic: bool = False
    recommendable: bool = True
    partner: bool = False
    supply: Supply = "resident"

    def candidates(self, situation: Situation) -> tuple[Candidate, ...]:
        """Every value to try, and every one that does not apply with the reason."""
        return tuple(
            Candidate(
                switch=self.name,
                value=value,
                supply=self.supply,
                changes_arithmetic=self.changes_arithmetic,
                recommendable=self.recommendable,
                partner=self.partner,
                skipped_because=self.reason_not(situation, value),
            )
            for value in self.values(situation)
        )


def other_of(name: str) -> Callable[[Situation], tuple[Value, ...]]:
    """For what is on or off: whatever the baseline is not."""
    return lambda situation: (not getattr(situation.baseline, name),)


def others_of(name: str, values: tuple[Value, ...], off: Value) -> Callable[[Situation], tuple[Value, ...]]:
    """The values that the baseline does not have, and `off` if it has one of them."""

    def values_of(situation: Situation) -> tuple[Value, ...]:
        now = getattr(situation.baseline, name)
        back = () if now == off else (off,)
        return (*back, *(value for value in values if value != now))

    return values_of


def needs_gpu(why: str) -> Callable[[Situation, Value], str | None]:
    """For what means nothing on a CPU, and why."""
    return lambda situation, value: None if situation.on_gpu else why


def needs_training(situation: Situation, value: Value) -> str | None:
    return None if situation.trains else "inference has no backward pass and no optimiser"
