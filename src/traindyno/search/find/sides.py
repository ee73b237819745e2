"""Which side to search: the data's or the step's, by what each could gain at best."""

from traindyno.analysis.find.attempts import not_tried
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import step_gain, waiting_gain
from traindyno.core.records import Settings
from traindyno.core.setups import step_settings
from traindyno.core.units import format_percent
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.moves import StepSearch
from traindyno.search.find.supply import SupplySearch
from traindyno.search.replaying import Trying

WORTH_SEARCHING = 1.03
"""A side that could gain less than this at best is not searched."""

MOST_VISITS = 2


def search_sides(hunt: Hunt) -> Trying[None]:
    """The side where more is to be gained first; the data's again when the step has changed."""
    visits: dict[str, set[Settings]] = {"data": set(), "step": set()}
    while True:
        gains = _gains(hunt, visits)
        side = max(gains, key=lambda each: gains[each], default=None)
        if side is None or gains[side] < WORTH_SEARCHING:
            _say_what_was_left(hunt.findings, gains)
            return
        search = SupplySearch(hunt) if side == "data" else StepSearch(hunt)
        yield from hunt.logged(side, search.improve())
        visits[side].add(step_settings(hunt.findings.held.settings))


def _gains(hunt: Hunt, visits: dict[str, set[Settings]]) -> dict[str, float]:
    """What each side could gain at best, of those that have not been searched as things are."""
    held, seen = hunt.findings.held, visits["data"]
    gains = {}
    if hunt.goal.has_data and len(seen) < MOST_VISITS and step_settings(held.settings) not in seen:
        gains["data"] = waiting_gain(hunt.findings, held)
    if not visits["step"]:
        gains["step"] = step_gain(hunt.findings, held)
    return gains


def _say_what_was_left(findings: Findings, gains: dict[str, float]) -> None:
    """A side that was never searched is named with what it could have gained."""
    for side, gain in gains.items():
        gained = format_percent(max(0.0, gain - 1), 0)
        if side == "step":
            why = f"training waits for its data; a step three times as fast would gain {gained}"
            findings.attempts.append(not_tried("step", "switches", why))
        elif not any(part == "data" for part, _ in findings.log):
            why = f"training does not wait for its data; without any waiting it would gain {gained}"
            findings.attempts.append(not_tried("data", "workers, decoders and sources", why))
