"""When a process of a shared study plans for all, how far ahead, when it looks at the whole, and how long it waits.

What few processes do, thousands could not: each would read a study that grows with all of them. So only one plans at a
time, for as many as will ask soon, and all looks at the whole together take a small share of the store's time.
"""

import random
from collections.abc import Callable, Sequence

from traindyno.app.watching import RENEW_SECONDS
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.strategy import Proposal, SharedStrategy

FEW = 8
"""So many others may run beside a process that sees the whole study after each of its own trials."""
AHEAD_SHARE = 0.1
"""Of the trials that run, so many are planned ahead of their results: a search learns from what has ended."""
LOOK_SHARE = 0.05
"""Of the store's time, so much goes to looks at the whole study, of all processes together."""
PLAN_SECONDS = 30.0
"""A turn to plan lasts so long if who has it is gone."""
ASKING_SECONDS = 10.0
"""After so long a planner is content with what it has: it holds a trial's lease meanwhile."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 30.0
IDLE_SHARE = 0.1
"""Who finds nothing to do asks again after this share of its waiting so far."""
IDLE_SHARE_OF_MANY, FIRST_PAUSE_OF_MANY_SECONDS, PAUSE_SECONDS_EACH = 0.5, 1.0, 0.02
"""Of many that wait, some other takes what comes up: all together ask some fifty times a second."""
FIRST_LOOK_SECONDS = 0.1
"""What a look is taken to need by who has made none."""
REST_SECONDS = 1.0
STAY_SECONDS = 120.0
"""So often all others hear how the study stands."""


def ahead_of(running: int) -> int:
    """How many trials are to wait when planning is over, beside so many that run."""
    return max(1, int(AHEAD_SHARE * running))


def low_mark(running: int) -> int:
    """When only so many wait, it is time to plan; while few run, that is when nothing does."""
    return ahead_of(running) // 2 if running > FEW else 0


def is_time_to_plan(left: int, running: int) -> bool:
    """Whether who took a trial and left so many plans before it runs its own.

    At the low mark one taker does; if nothing comes of it, another at half of that, and so on: never all of them.
    """
    mark = low_mark(running)
    while mark > left:
        mark //= 2
    return running > FEW and mark == left


def look_interval_seconds(look_seconds: float, running: int) -> float:
    """How long a process does not look again, so that those of all take no more than their share."""
    return look_seconds * running / LOOK_SHARE if running > FEW else 0.0


def rest_seconds(look_seconds: float) -> float:
    """How long nobody plans again after there was nothing to plan, unless something has ended."""
    return min(max(REST_SECONDS, look_seconds / LOOK_SHARE), LONGEST_PAUSE_SECONDS)


def pause_seconds(
    idle_seconds: float, workers: int, planning_rests: bool, chance: Callable[[], float] = random.random
) -> float:
    """How long one waits that has found nothing to do for so long; not all till the same moment.

    `workers` are the most that were seen to run: at a study's end few still do, and all the others wait. Of many, who
    hears that planning rests waits long at once: there is more to do soon only while another plans.
    """
    patient = PAUSE_SECONDS_EACH * workers
    if workers <= FEW:
        usual = max(FIRST_PAUSE_SECONDS, IDLE_SHARE * idle_seconds)
    else:
        first = max(FIRST_PAUSE_OF_MANY_SECONDS, patient if planning_rests else 0.0)
        usual = max(first, IDLE_SHARE_OF_MANY * idle_seconds)
    return min(usual, max(LONGEST_PAUSE_SECONDS, patient)) * (0.75 + 0.5 * chance())


def stay_seconds(is_owner: bool) -> float:
    """How often a process says that it is still in the study: its owner with every renewal, so that it stays owned."""
    return RENEW_SECONDS if is_owner else STAY_SECONDS


def plan(
    strategy: SharedStrategy,
    finished: Sequence[TrialRecord],
    asked_for: Sequence[TrialSpec],
    count: int,
    is_enough: Callable[[], bool] = lambda: False,
) -> list[Proposal]:
    """Up to so many next trials, each asked for as if those before it ran already; at least one, if there is one."""
    proposals: list[Proposal] = []
    while len(proposals) < count and not (proposals and is_enough()):
        proposal = strategy.ask(finished, [*asked_for, *(each.spec for each in proposals)])
        if proposal is None:
            break
        proposals.append(proposal)
    return proposals
