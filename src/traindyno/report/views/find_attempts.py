"""What a `find` tried as tables: in short below an answer, and in full on a page."""

from traindyno.analysis.find.attempts import AT_FIRST
from traindyno.core.answers import Attempt, FindAnswer
from traindyno.report.charts.find import OF_ONE, WITHIN_MARK
from traindyno.report.view import Column, Row, Table, Tone
from traindyno.report.views.find_tables import speed_interval, speed_words
from traindyno.report.wording import count, duration, one_line

TRIED_COLUMNS = (
    Column(heading="change", right=False),
    Column(heading="speed", unit="95 % interval", narrow="speed\n(95 %)"),
    Column(heading="what came of it", right=False),
)
ATTEMPT_COLUMNS = (
    Column(heading="#"),
    Column(heading="side", right=False),
    Column(heading="change", right=False),
    Column(heading="speed", unit="95 % interval", narrow="speed\n(95 %)"),
    Column(heading="what came of it", right=False),
    Column(heading="took"),
)
WITHIN = f"{WITHIN_MARK} {OF_ONE}: the interval does not cover how far processes differ"


def tried_table(answer: FindAnswer) -> tuple[Table, ...]:
    """What was measured on the way, in short: kept or rejected, with numbers."""
    tried = [each for each in answer.attempts if _is_tried(each)]
    rows = tuple(Row(cells=_attempt_cells(each), tone="chosen" if each.adopted else "plain") for each in tried)
    legend = [WITHIN] if any(attempt.within_process for attempt in tried) else []
    others = len(answer.attempts) - len(tried)
    legend += [f"{count(others)} more not tried, or ruled out: the report says why"] if others else []
    return (Table(columns=TRIED_COLUMNS, rows=rows, title="What was tried", legend=tuple(legend)),) if rows else ()


def _is_tried(attempt: Attempt) -> bool:
    """Measured, or adopted without, if only at first: what was ruled out or left out is neither."""
    held = attempt.adopted or attempt.outcome.startswith(AT_FIRST)
    return bool(attempt.trials) or held or (attempt.ratio is not None and not attempt.predicted)


def attempts_table(answer: FindAnswer) -> tuple[Table, ...]:
    rows = tuple(_attempt_row(place, attempt) for place, attempt in enumerate(answer.attempts, start=1))
    legend = (WITHIN,) if any(attempt.within_process for attempt in answer.attempts) else ()
    return (Table(columns=ATTEMPT_COLUMNS, rows=rows, legend=legend),) if rows else ()


def _attempt_row(place: int, attempt: Attempt) -> Row:
    cells = (
        str(place),
        one_line(attempt.side),
        *_attempt_cells(attempt),
        duration(attempt.seconds) if attempt.seconds else "",
    )
    tone: Tone = "chosen" if attempt.adopted else "plain"
    return Row(cells=cells, tone=tone)


def _attempt_cells(attempt: Attempt) -> tuple[str, str, str]:
    return one_line(attempt.change, 80), _ratio(attempt), _outcome(attempt)


def _outcome(attempt: Attempt) -> str:
    """In words also where it is coloured."""
    outcome = one_line(attempt.outcome, 240)
    return f"adopted: {outcome}" if attempt.adopted and not outcome.startswith("adopted") else outcome


def _ratio(attempt: Attempt) -> str:
    if attempt.ratio is None:
        return ""
    if attempt.predicted:
        return f"{speed_words(attempt.ratio)} (predicted)"
    mark = f" {WITHIN_MARK}" if attempt.within_process else ""
    return f"{speed_interval(attempt.ratio, attempt.ci95)}{mark}"
