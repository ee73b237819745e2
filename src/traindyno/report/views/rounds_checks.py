"""The checks of a round as a table: what failed before all else, and what all others found."""

from collections.abc import Sequence

from traindyno.core.answers import Check, RoundAnswer
from traindyno.core.answers.rounds import CheckState
from traindyno.report.view import Column, Row, Table, Tone
from traindyno.report.wording import one_line

SPREADING = 10
"""Every check has a row of its own while there are no more than this."""
LONGEST_FINDINGS = 320
ORDER: tuple[CheckState, ...] = ("failed", "warning", "unknown", "passed")
TONES: dict[CheckState, Tone] = {"failed": "bad", "warning": "plain", "unknown": "plain", "passed": "plain"}
CHECK_COLUMNS = (
    Column(heading="state", right=False),
    Column(heading="check", right=False),
    Column(heading="finding", right=False),
    Column(heading="next step", right=False),
)


def checks_table(answer: RoundAnswer) -> tuple[Table, ...]:
    """What failed first; where there are many rows, checks of one kind that do not forbid anything share one."""
    ordered = sorted(answer.checks, key=lambda check: ORDER.index(check.state))
    alone = [check for check in ordered if check.state in ("failed", "warning") or len(ordered) <= SPREADING]
    others = [check for check in ordered if check not in alone]
    kinds = dict.fromkeys((check.state, check.name) for check in others)
    rows = [_check_row(check) for check in alone]
    rows += [_shared_row([check for check in others if (check.state, check.name) == kind]) for kind in kinds]
    return (Table(columns=CHECK_COLUMNS, rows=tuple(rows), title="Checks"),) if rows else ()


def _check_row(check: Check) -> Row:
    name = f"{check.name}: {check.subject}" if check.subject else check.name
    cells = (check.state, one_line(name, 100), one_line(check.text, 400), one_line(check.next_step or "", 400))
    return Row(cells=cells, tone=TONES[check.state])


def _shared_row(checks: Sequence[Check]) -> Row:
    first = checks[0]
    if len(checks) == 1:
        return _check_row(first)
    cells = (first.state, one_line(first.name, 100), _shared_text(checks), one_line(first.next_step or "", 400))
    return Row(cells=cells, tone=TONES[first.state])


def _shared_text(checks: Sequence[Check]) -> str:
    """All that passed checks found, where that is short; or else whom they are about, and what the first found."""
    first, texts = checks[0], [f"{one_line(check.text, 400).rstrip('.')}." for check in checks]
    found = " ".join(texts)
    if first.state == "passed" and len(found) <= LONGEST_FINDINGS and len(set(texts)) == len(texts):
        return found
    subjects = one_line(", ".join(one_line(check.subject or "", 60) for check in checks if check.subject), 300)
    told = "passed" if first.state == "passed" else "cannot be told"
    return f"{len(checks)} {told}: {subjects}. Of the first: {one_line(first.text, 400)}"
