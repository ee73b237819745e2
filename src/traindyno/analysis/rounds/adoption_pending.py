"""What a look at fresh seeds still waits for, in sentences."""

from collections import Counter
from collections.abc import Sequence

from traindyno.analysis.rounds.adoption_runs import CandidateRuns
from traindyno.analysis.rounds.next_steps import ENDING_WORDS
from traindyno.analysis.rounds.trials import round_trials
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest
from traindyno.core.units import count_of


def still_to_come(
    request: AdoptRequest, runs: Sequence[CandidateRuns], of: str = "", until_then: str | None = None
) -> tuple[str, ...]:
    """What a look waits for, and what holds `until_then`; nothing where that is not said."""
    planned, missing = len(runs) * request.looks[-1], sum(request.looks[-1] - len(each.trials) for each in runs)
    verb, rest = "is" if missing == 1 else "are", f" of {of}" if of else ""
    told = [f"{missing} of {planned} runs{rest} {verb} still to come; {_meanwhile(until_then)}."]
    if lost := sum(each.lost for each in runs):
        told.append(
            f"{count_of(lost, 'run')} {'was' if lost == 1 else 'were'} lost, which says nothing of the values: "
            "killed, not started, or ended by a time limit or an error of the data. The same command makes them again, "
            "with --trial-timeout or --step-timeout within other limits."
        )
    return tuple(told)


def no_score(request: AdoptRequest, records: Sequence[TrialRecord]) -> NothingMeasuredError:
    """That nothing can be compared, with how the runs ended; more time helps only those that a limit ended."""
    fresh = [each for each in round_trials(request.round, records) if each.draw.phase == "confirm"]
    endings = Counter(each.ending for each in fresh if not each.feasible)
    if not endings:
        return NothingMeasuredError("no run came to its end", "the same command goes on with them")
    ways = ", ".join(f"{count} {ENDING_WORDS[ending]}" for ending, count in endings.most_common())
    longer = ", or give runs more time with --trial-timeout" if endings["timed_out"] else ""
    return NothingMeasuredError(
        f"no fresh run gave a score: {ways}", f"look at the runs: traindyno show {request.round_study}.adopt{longer}"
    )


def _meanwhile(until_then: str | None) -> str:
    return "nothing is decided before all have ended" if until_then is None else f"{until_then} stands until then"
