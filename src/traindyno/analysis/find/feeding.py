"""Where the time of a fed step goes, by the very runs that timed the same step on resident data before."""

from collections.abc import Sequence

from traindyno.analysis.anatomy_bounds import EXPOSED_FROM
from traindyno.analysis.find.rates import resident_of
from traindyno.analysis.intervals import combine_processes, median, ratio_interval, relative_half_width, t_interval
from traindyno.analysis.second_look import has_drifted
from traindyno.analysis.sustained import sustained
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Measurement, TrialRecord

WORTH_SPLITTING = 0.95
"""A step that comes so near to the one with resident data loses nothing that is worth a word."""


class Feeding(Record, frozen=True):
    """Shares of a fed step of `step_seconds`: the step `alone`, `waiting` for its batch, and what is `longer` beside
    the loader. They add up to 1.

    On a GPU the last two are null: its host runs ahead, and what that waits the device need not wait. Of several
    processes each number is the middle one; `processes_agree` says that they lose their time alike.
    """

    step_seconds: float
    resident_examples_per_second: float
    of_resident: float
    ci95: Interval
    waiting: float | None = None
    waiting_ci95: Interval | None = None
    processes_agree: bool = False
    drift: float | None = None
    """How many times as long the step by itself took after its loader had run as before."""

    @property
    def alone(self) -> float:
        return min(1.0, self.of_resident)

    @property
    def longer(self) -> float | None:
        return None if self.waiting is None else 1.0 - self.alone - self.waiting

    @property
    def alone_seconds(self) -> float:
        return self.alone * self.step_seconds

    @property
    def beside_seconds(self) -> float | None:
        """What the step takes beside the loader, without waiting."""
        return None if self.waiting is None else (1.0 - self.waiting) * self.step_seconds

    @property
    def is_known(self) -> bool:
        """Whether the share that it reaches says anything: its interval reaches no further than itself."""
        return relative_half_width(self.of_resident, self.ci95) <= 1.0

    @property
    def is_settled(self) -> bool:
        """Whether it can be told what it loses its time to: the share is known, or all processes say the same."""
        return self.is_known or self.processes_agree

    @property
    def waits(self) -> bool:
        """Whether waiting for a batch costs most of what it loses; on a GPU whatever it loses counts as that."""
        if self.waiting is None or self.longer is None:
            return 1.0 - self.alone > EXPOSED_FROM
        return self.waiting > EXPOSED_FROM and self.waiting >= self.longer

    @property
    def slows_down(self) -> bool:
        """Whether it loses time for which it does not wait; on a GPU this is about a step that was seen not to wait."""
        if self.longer is None:
            return 1.0 - self.ci95[1] > EXPOSED_FROM
        return self.longer > EXPOSED_FROM and not self.waits and not self.may_be_drift

    @property
    def may_be_drift(self) -> bool:
        """Whether a step that seems to take longer beside the loader may be no more than a CPU that slowed down."""
        return has_drifted(self.drift) and 1.0 - min(1.0, self.ci95[1]) - (self.waiting or 0.0) <= EXPOSED_FROM


def feeding_of(records: Sequence[TrialRecord], *, on_cpu: bool) -> Feeding | None:
    """The middle of all processes; null where none timed its step on resident data, too."""
    measured = [record.measurement for record in records if record.measurement is not None]
    each = [found for one in measured if (found := _of_process(one, on_cpu)) is not None]
    if len(each) <= 1:
        return each[0] if each else None
    of_resident, ci95 = combine_processes([one.of_resident for one in each], [one.ci95 for one in each])
    waits = [one.waiting for one in each if one.waiting is not None]
    drifts = [one.drift for one in each if one.drift is not None]
    drift = median(drifts) if drifts else None
    if has_drifted(drift):
        # All processes err the same way: many of them know no more than one.
        lows, highs = ([one.ci95[end] for one in each] for end in (0, 1))
        ci95 = min(ci95[0], median(lows)), max(ci95[1], median(highs))
    return Feeding(
        step_seconds=median([one.step_seconds for one in each]),
        resident_examples_per_second=median([one.resident_examples_per_second for one in each]),
        of_resident=of_resident,
        ci95=ci95,
        waiting=min(median(waits), 1.0 - min(1.0, of_resident)) if waits else None,
        waiting_ci95=t_interval(waits) if waits else None,
        processes_agree=len({(one.waits, one.slows_down) for one in each}) == 1,
        drift=drift,
    )


def _of_process(measurement: Measurement, on_cpu: bool) -> Feeding | None:
    resident, fed, told = resident_of(measurement), sustained(measurement), measurement.loading
    if resident is None or told is None:
        return None
    share, ci95 = ratio_interval(fed.step_seconds, fed.ci95, resident.step_seconds, resident.ci95)
    waited = told.wait_seconds if on_cpu else None
    return Feeding(
        step_seconds=fed.step_seconds,
        resident_examples_per_second=resident.examples_per_second,
        of_resident=share,
        ci95=ci95,
        waiting=None if waited is None else min(waited / fed.step_seconds, 1.0 - min(1.0, share)),
        drift=told.resident_drift,
    )
