"""The conclusion of `verify`: whether a gain that was promised is still there."""

from collections.abc import Iterator, Sequence

from traindyno.analysis.find.rounds import BASELINE, FEWEST_ROUNDS, Entry, finalists
from traindyno.analysis.find.words import between, times, within
from traindyno.core.answers.find import Finalist, VerifyAnswer
from traindyno.core.answers.interval import Interval
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.requests import VerifyRequest
from traindyno.core.settings_comments import others_took
from traindyno.core.setups import Setup

RECOMMENDED = "recommended"
MORE_ROUNDS = "More --repeats would tell."
NEAR_THE_PROMISE = 0.97
"""A gain that reaches this share of the promised one counts as kept."""


def entries_of(baseline: Setup, recommended: Setup) -> tuple[Entry, ...]:
    return Entry(name=BASELINE, setup=baseline), Entry(name=RECOMMENDED, setup=recommended)


def conclude_verify(
    request: VerifyRequest, entries: Sequence[Entry], *, trials: int, seconds: float, simulated: bool = False
) -> VerifyAnswer:
    """What the rounds say beside what the file says."""
    for entry in entries:
        if entry.failure is not None and entry.failure.failure is not None:
            failure = entry.failure.failure
            raise NothingMeasuredError(f"the {entry.name} settings do not run here: {failure.message}", failure.remedy)
    found = finalists(entries)
    if len(found) < len(entries):
        raise NothingMeasuredError("no round was finished", "give it more time with --time-budget")
    baseline, recommended = found
    rounds = min(len(entry.measured) for entry in entries)
    return VerifyAnswer(
        model=request.workload.model,
        mode=request.workload.mode,
        baseline=baseline,
        recommended=recommended,
        speedup=recommended.speedup,
        speedup_ci95=recommended.speedup_ci95,
        promised_speedup=request.promised_speedup,
        promised_ci95=request.promised_ci95,
        holds=_holds(recommended, request.promised_speedup),
        open_because=_open_because(request, recommended, rounds),
        verdicts=tuple(_verdicts(request, recommended, rounds)),
        trials=trials,
        seconds=seconds,
        simulated=simulated,
    )


def still_holds(speedup: float, ci95: Interval, promised: float | None) -> bool | None:
    """Whether the gain is there, and as large as promised; null where the rounds leave that open.

    It is kept if it is more than chance and not clearly short of the promise; it is lost if it clearly is. A promise
    of no gain, as for a batch that must change, need not be more than chance.
    """
    gain_promised = promised is None or promised > 1.0
    least = NEAR_THE_PROMISE * (1.0 if promised is None else promised)
    least = max(1.0, least) if gain_promised else least
    if ci95[1] < least:
        return False
    if speedup >= least and (ci95[0] > 1.0 or not gain_promised):
        return True
    return None


def _holds(recommended: Finalist, promised: float | None) -> bool | None:
    if not recommended.changes or not recommended.confirmed:
        return None
    return still_holds(recommended.speedup, recommended.speedup_ci95, promised)


def _verdicts(request: VerifyRequest, recommended: Finalist, rounds: int) -> Iterator[str]:
    if not recommended.changes:
        yield "Nothing was promised and nothing changes: the settings of the file are the baseline's own."
        return
    yield _verdict(request, recommended, rounds)
    if request.promise_simulated:
        yield "The promise was simulated: made up by the simulated runner, not measured."
    if request.promise_confirmed is False:
        yield "The promise was not confirmed: no repeated rounds by turns with the baseline agreed on it."
    if request.promise_others_cpu_share is not None:
        yield f"The promise is of a busy machine: {others_took(request.promise_others_cpu_share)} meanwhile."


def _verdict(request: VerifyRequest, recommended: Finalist, rounds: int) -> str:
    now, holds = _now(recommended, request.promised_speedup), _holds(recommended, request.promised_speedup)
    if holds is None:
        why = _open_because(request, recommended, rounds) or f"{now}. {MORE_ROUNDS}"
        return f"It is open whether the gain still holds: {why}"
    return f"The gain {'holds' if holds else 'does not hold'} here: {now}."


def _open_because(request: VerifyRequest, recommended: Finalist, rounds: int) -> str | None:
    """What is wrong with the rounds themselves; null where they are enough, whatever they say."""
    if recommended.confirmed or not recommended.changes:
        return None
    now = _now(recommended, request.promised_speedup)
    if rounds < FEWEST_ROUNDS:
        return f"only one round was finished, in which it was {now}."
    return f"its rounds differ, and in the slower one it was {now}. {MORE_ROUNDS}"


def _now(recommended: Finalist, promised: float | None) -> str:
    """What was measured beside what was promised; with both ends of the interval where they decide the verdict."""
    is_open = _holds(recommended, promised) is None
    interval = within(recommended.speedup, recommended.speedup_ci95) if is_open else between(recommended.speedup_ci95)
    told = "" if promised is None else f", and {times(promised)} was promised"
    return f"{times(recommended.speedup)} as fast as the baseline ({interval}){told}"
