"""Every trial of the study, failures with their evidence."""

from typing import Any

from traindyno.core.answers import Document
from traindyno.report.conditions import trial_conditions
from traindyno.report.renderers.html_parts import end_of, escape, facts_table, folded, preformatted
from traindyno.report.trials import TrialRow, outcome_words, reason, trial_rows
from traindyno.report.wording import batch, duration, one_line, rate_interval, share, size

EVIDENCE_LIMIT_BYTES, ALL_EVIDENCE_LIMIT_BYTES, TEXTS_OF_A_FAILURE = 6_000, 450_000, 3
HEADINGS = (
    "#",
    "kind",
    "batch size",
    "outcome",
    "examples per second",
    "time per step",
    "memory",
    "took",
    "conditions",
)
SHORT_FACTS = ("error_type", "exit_code", "signal", "phase")


def trials_section(document: Document) -> str:
    """A row for each trial; below a failed one, what is known about why."""
    trials = trial_rows(document)
    if not trials:
        return "<p>No trial was run for this answer.</p>"
    several = len({trial.model for trial in trials}) > 1
    failures = sum(not trial.ok for trial in trials)
    limit = min(EVIDENCE_LIMIT_BYTES, ALL_EVIDENCE_LIMIT_BYTES // max(1, failures * TEXTS_OF_A_FAILURE))
    headings = ("#", "model", *HEADINGS[1:]) if several else HEADINGS
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(_rows(trial, several, len(headings), limit) for trial in trials)
    summary = f"<p>{len(trials)} trial{_s(len(trials))}, {failures} without a measurement.</p>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'{summary}<div class="scroll trials">{table}</div>'


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _rows(trial: TrialRow, several: bool, columns: int, limit: int) -> str:
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in _cells(trial, several))
    if trial.ok:
        return f"<tr>{cells}</tr>"
    evidence = folded(reason(trial), _evidence(trial.failure, limit))
    return f'<tr class="bad open">{cells}</tr><tr class="evidence"><td colspan="{columns}">{evidence}</td></tr>'


def _cells(trial: TrialRow, several: bool) -> tuple[str, ...]:
    held_back = f"{share(trial.margin)} margin" if trial.margin else ""
    kind = ", ".join(part for part in (trial.kind, trial.fed, held_back) if part)
    unsteady = " (not steady)" if trial.steady is False else ""
    figures = (
        rate_interval(trial.examples_per_second, trial.ci95) + unsteady if trial.examples_per_second else "",
        duration(trial.step_seconds) if trial.step_seconds else "",
        size(trial.peak_bytes) if trial.peak_bytes else "",
    )
    model = (one_line(trial.model or "", 60),) if several else ()
    ending = (duration(trial.seconds), trial_conditions(trial.conditions))
    return (
        str(trial.ordinal),
        *model,
        kind,
        batch(trial.batch_size),
        outcome_words(trial.outcome),
        *figures,
        *ending,
    )


def _evidence(failure: dict[str, Any], limit: int) -> str:
    details = failure.get("details") or {}
    facts = [("message", end_of(str(failure.get("message") or "none"), limit))]
    facts += [("remedy", str(failure["remedy"]))] if failure.get("remedy") else []
    facts += [(name.replace("_", " "), str(failure[name])) for name in SHORT_FACTS if failure.get(name) is not None]
    facts += [(str(name), one_line(value, 400)) for name, value in details.items()]
    texts = (("Traceback", failure.get("traceback")), ("End of the log", failure.get("log_tail")))
    blocks = "".join(f"<h3>{name}</h3>{preformatted(end_of(str(text), limit))}" for name, text in texts if text)
    return facts_table(facts) + blocks
