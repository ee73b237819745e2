"""Whether the trial that took a step apart tells another story than the runs end to end of the same way to train."""

from traindyno.analysis.anatomy_bounds import EXPOSED_FROM
from traindyno.analysis.find.feeding import Feeding, feeding_of
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.rates import rate_of
from traindyno.analysis.find.steadiness import are_apart
from traindyno.core.answers import AnatomySize
from traindyno.core.answers.interval import Interval
from traindyno.core.setups import Setup
from traindyno.core.units import format_percent

UNLIKE = "when its step was taken apart, it ran at quite another speed"

Share = tuple[float, Interval]
"""Of a step, with its interval."""


def contradiction(findings: Findings, setup: Setup, step: AnatomySize) -> str | None:
    """How they contradict each other, in words; null if they do not, or nothing was fed."""
    runs = [record for record in findings.runs(setup) if record.spec.kind == "feed"]
    on_cpu = setup.settings.device == "cpu"
    fed = feeding_of(runs, on_cpu=on_cpu)
    if fed is None:
        return None
    if are_apart((step.examples_per_second, rate_of(runs).examples_per_second)):
        return UNLIKE
    seen, told = _stalled(step, on_cpu), _waiting(fed) if on_cpu else _lost(fed)
    if not _contradict(seen, told) or (not on_cpu and _is_slower_without_waiting(step, fed, seen)):
        return None
    verb = "waited for its data" if on_cpu else "stood still for its data"
    shares = f"{format_percent(seen[0], 0)} of the time, and {format_percent(told[0], 0)} in the runs end to end"
    return f"when its step was taken apart, it {verb} {shares}"


def _stalled(step: AnatomySize, on_cpu: bool) -> Share:
    """Waiting for a batch, and on a GPU for its way there."""
    names = ("load",) if on_cpu else ("load", "transfer")
    stalls = [step.phases[name] for name in names if name in step.phases]
    whole = sum(max(0.0, each.seconds) for each in step.phases.values())
    ends = [sum(each.ci95[end] for each in stalls) / whole for end in (0, 1)]
    return sum(each.share for each in stalls), (ends[0], ends[1])


def _waiting(fed: Feeding) -> Share:
    """Of a single process the interval is as wide as that of the share it reaches."""
    assert fed.waiting is not None
    half = (fed.ci95[1] - fed.ci95[0]) / 2
    return fed.waiting, fed.waiting_ci95 or (fed.waiting - half, fed.waiting + half)


def _lost(fed: Feeding) -> Share:
    return 1.0 - fed.alone, (1.0 - fed.ci95[1], 1.0 - fed.ci95[0])


def _contradict(one: Share, other: Share) -> bool:
    """Whether only one of them is a stall, and they differ by more than chance."""
    first, second = sorted((one[1], other[1]))
    return (one[0] > EXPOSED_FROM) != (other[0] > EXPOSED_FROM) and first[1] < second[0]


def _is_slower_without_waiting(step: AnatomySize, fed: Feeding, seen: Share) -> bool:
    """Whether a step that stood still for nothing took as long as it did end to end: it is slower beside the loader."""
    return seen[0] <= EXPOSED_FROM and abs(step.step_seconds / fed.step_seconds - 1) <= EXPOSED_FROM
