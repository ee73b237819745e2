"""What a look at fresh seeds still waits for, in sentences."""

from collections.abc import Sequence

from traindyno.analysis.rounds.adoption_runs import CandidateRuns
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


def _meanwhile(until_then: str | None) -> str:
    return "nothing is decided before all have ended" if until_then is None else f"{until_then} stands until then"
