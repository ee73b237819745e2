"""What each change of a way to train rests on: the trial that spoke for it, the simulation, or a rule."""

import re

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.switch_candidates import value_words
from traindyno.core.answers.find import Attempt, Finalist

BY_RULE = {"persistent_workers": "rule: workers do not start anew"}
"""What is changed without a trial of its own."""
_BEGINS = r"(?:^|, | and )"


def grounds_of(findings: Findings, found: Finalist) -> dict[str, str]:
    """By the name of what changes, in the words of one cell."""
    return {name: _grounds(findings, found, name) for name in found.changes}


def _grounds(findings: Findings, found: Finalist, name: str) -> str:
    if name in BY_RULE:
        return BY_RULE[name]
    change = f"{name}={value_words(found.changes[name])}"
    attempts = [each for each in findings.attempts if _is_part(change, each) and (each.adopted or name == "batch_size")]
    return _words(findings, attempts[-1], name) if attempts else _in_the_end(findings, found)


def _is_part(change: str, attempt: Attempt) -> bool:
    return re.search(rf"{_BEGINS}{re.escape(change)}(?:$|, | and )", attempt.change) is not None


def _words(findings: Findings, attempt: Attempt, name: str) -> str:
    """How it was looked at, how many times as fast it was, and together with what."""
    gain = "" if attempt.ratio is None or attempt.side == "batch" else f", {attempt.ratio:.2f}×"
    others = [each for each in re.findall(rf"{_BEGINS}(\w+)=", attempt.change) if each != name]
    return f"{_how(findings, attempt)}{gain}{f' with {_listed(others)}' if others else ''}"


def _how(findings: Findings, attempt: Attempt) -> str:
    if attempt.side == "batch":
        return "resident run, simulation" if findings.has_data else "run"
    if attempt.side == "step":
        return "pairs"
    if not attempt.predicted:
        return "run"
    return "run against a simulation" if attempt.trials else "simulation"


def _in_the_end(findings: Findings, found: Finalist) -> str:
    """A simpler way to train, or what the simulation chose for another batch: what ran is all of it together."""
    in_rounds = any(entry.name == found.name and entry.measured for entry in findings.entries)
    return "last rounds" if in_rounds else "run with all of it"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
