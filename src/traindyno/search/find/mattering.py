"""Which switches cannot matter to the step that is held, by what is known of it."""

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.switch_candidates import Candidate
from traindyno.core.units import format_percent, format_seconds
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.switch_order import BEFORE_DATA, COMPILED, GRAPHS

SMALL_SHARE = 0.05
"""Of the budget, for a pair of a switch that usually gains little: with a compiled step it takes a minute."""
GRAPHS_FROM = 0.2
"""Graphs of kernels are tried, and first, where launching takes this share of the step, or more.

That is known of the baseline alone: lower precision adds casts to launch, and compiling shortens the step, so that on a
busy host launching may be the limit even then.
"""


def cannot_matter(candidate: Candidate, hunt: Hunt) -> str | None:
    """Why something gains nothing here, by what is known of the step; null if it may."""
    share = host_share(hunt.findings)
    if candidate.value == GRAPHS and share is not None and share < GRAPHS_FROM:
        return f"launching the baseline's kernels would take {format_percent(share, 0)} of the step"
    if candidate.switch == "tf32" and hunt.findings.held.settings.precision != "fp32":
        return "products of lower precision do not use TF32"
    if candidate.switch == "memory_format" and not hunt.findings.may_lay_out:
        return "neither an input nor a weight has four dimensions"
    if candidate.switch == "pin_memory" and not hunt.trials.has_data:
        return "there is nothing to load"
    return _takes_too_long(candidate, hunt)


def _takes_too_long(candidate: Candidate, hunt: Hunt) -> str | None:
    """A switch that usually gains little may take little of the time."""
    budget, seconds = hunt.purse.budget_seconds, hunt.purse.prices.cost("pair")
    is_part_of_held = candidate.value == COMPILED and hunt.findings.held.settings.compile == GRAPHS
    may_gain_much = candidate.switch in BEFORE_DATA and not is_part_of_held
    if may_gain_much or not hunt.purse.prices.is_compiled:
        return None
    if budget is None or seconds <= SMALL_SHARE * budget:
        return None
    return f"it usually gains little, and comparing two compiled steps takes about {format_seconds(seconds)}"


def host_share(findings: Findings) -> float | None:
    """What the host needs to launch a step, as a share of the step that is held; null where it is not known."""
    record = findings.anatomies.get(findings.baseline)
    told = record.measurement.anatomy if record is not None and record.measurement is not None else None
    step = findings.resident_seconds(findings.held.settings)
    return None if told is None or told.host_step_seconds is None or not step else told.host_step_seconds / step
