"""What a search had no time for."""

from collections.abc import Iterator

from traindyno.analysis.find.attempts import lacks_time
from traindyno.analysis.find.findings import Findings
from traindyno.core.units import format_seconds

WORTH_TELLING_SECONDS = 5.0
MOST_NAMED = 8


def untried_changes(findings: Findings) -> list[str]:
    """What there was no time for, each once."""
    tried = {attempt.change for attempt in findings.attempts if attempt.trials}
    return list(
        dict.fromkeys(
            attempt.change for attempt in findings.attempts if lacks_time(attempt) and attempt.change not in tried
        )
    )


def untried_verdicts(findings: Findings) -> Iterator[str]:
    """How much was not tried for want of time, what was left of it, and what to do."""
    untried, left = untried_changes(findings), findings.seconds_left
    if not untried:
        return
    more = f" and {len(untried) - MOST_NAMED} more" if len(untried) > MOST_NAMED else ""
    yield (
        f"Not tried, as the time budget does not reach for it and the rounds that have to follow: "
        f"{'; '.join(untried[:MOST_NAMED])}{more}."
    )
    unused = ""
    if left is not None and left > WORTH_TELLING_SECONDS:
        unused = f"About {format_seconds(left)} were left, too little for any of it with its rounds. "
    yield f"{unused}A longer --time-budget would try more."
