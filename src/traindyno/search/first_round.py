"""The state of a sweep's first round: what ran, what should fit, and where to look for the end of memory."""

import math
from collections.abc import Sequence

from traindyno.analysis.probes import needs_two_examples, ran_out
from traindyno.core.base import Record
from traindyno.core.records import TrialRecord
from traindyno.search.memory_forecast import forecast_memory

_ANCHORS = (32, 8)
_FARTHEST_JUMP = 8
_MOST_FAILURES_BEFORE_ANY_RUNS = 3
_GUESSED_LARGEST = 1024


class FirstRound(Record, frozen=True):
    """`anchor`, `fitting` and `next_above` are the sizes to try next, in this order of preference.

    `barrier` is the smallest size that ran out of memory or time: nothing is tried from there on.
    """

    tried: tuple[int, ...]
    ran: tuple[int, ...]
    barrier: int | None
    anchor: int | None
    fitting: tuple[int, ...]
    next_above: int | None
    likely_left: int
    ladder_records: tuple[TrialRecord, ...]

    @property
    def complete(self) -> bool:
        """Whether every size asked for was tried or ruled out."""
        return self.anchor is None and not self.fitting and self.next_above is None

    def below_barrier(self, size: int) -> bool:
        return self.barrier is None or size < self.barrier


def read_first_round(records: Sequence[TrialRecord], ladder: Sequence[int], given: bool = False) -> FirstRound:
    """What the trials of the first round say about the sizes asked for, each by itself (`given`) or by doubling."""
    round_records = [record for record in records if record.spec.repeat == 0]
    tried = sorted({record.batch_size for record in round_records})
    ran = sorted({record.batch_size for record in round_records if record.ok})
    barrier = _barrier(round_records)
    left = [size for size in ladder if size not in tried and (barrier is None or size < barrier)]
    reach = _reach(round_records, ran)
    anchor = next((size for size in anchors(ladder) if size in left), None)
    return FirstRound(
        tried=tuple(tried),
        ran=tuple(ran),
        barrier=barrier,
        anchor=anchor,
        fitting=tuple(size for size in left if size <= reach),
        next_above=_next_above(round_records, left, ran, given),
        likely_left=_likely_left(round_records, left),
        ladder_records=tuple(record for record in round_records if record.batch_size in ladder),
    )


def anchors(ladder: Sequence[int]) -> tuple[int, ...]:
    """The sizes nearest to 32 and, apart from that one, to 8."""
    chosen: list[int] = []
    for wanted in _ANCHORS:
        others = [size for size in ladder if size not in chosen]
        if others:
            chosen.append(min(others, key=lambda size: abs(math.log(size / wanted))))
    return tuple(chosen)


def _barrier(records: Sequence[TrialRecord]) -> int | None:
    return min((record.batch_size for record in records if ran_out(record)), default=None)


def _reach(records: Sequence[TrialRecord], ran: Sequence[int]) -> int:
    """Up to which size memory should suffice, as far as the readings so far can be stretched."""
    if not ran:
        return 0
    forecast = forecast_memory(records)
    predicted = forecast.largest_batch() if forecast is not None else 0
    return max(ran[-1], min(predicted, _FARTHEST_JUMP * ran[-1]))


def _next_above(records: Sequence[TrialRecord], left: Sequence[int], ran: Sequence[int], given: bool) -> int | None:
    """The next size above the largest that ran; the smallest if none ran.

    Doubling goes no further after a failure, which may be memory in disguise; sizes that were asked for are tried.
    """
    broken = [
        record.batch_size for record in records if not (record.ok or ran_out(record) or needs_two_examples(record))
    ]
    if not ran:
        return left[0] if left and len(broken) < _MOST_FAILURES_BEFORE_ANY_RUNS else None
    above = next((size for size in left if size > ran[-1]), None)
    stopped = not given and above is not None and any(ran[-1] < size < above for size in broken)
    return None if stopped else above


def _likely_left(records: Sequence[TrialRecord], left: Sequence[int]) -> int:
    """How many sizes will probably still be tried, the first that fails included."""
    forecast = forecast_memory(records)
    end = forecast.largest_batch() if forecast is not None else _GUESSED_LARGEST
    fitting = sum(size <= end for size in left)
    return fitting + (1 if fitting < len(left) else 0)
