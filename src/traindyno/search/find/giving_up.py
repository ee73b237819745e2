"""Switches that were adopted and have to go again."""

from collections.abc import Sequence

from traindyno.analysis.find.attempts import given_up
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.switch_candidates import Candidate
from traindyno.search.find.trials import changed

FAILED_END_TO_END = "it ran by itself and failed end to end"


def step_back(findings: Findings) -> bool:
    """Hold a step that fails end to end as it was before it was compiled, or else without its switches, if any."""
    compiled = [member for member in findings.members if member.switch == "compile"]
    if findings.members:
        give_up(findings, compiled or findings.members, FAILED_END_TO_END)
        return True
    return False


def give_up(findings: Findings, members: Sequence[Candidate], why: str) -> None:
    """Hold the same without these switches: each as the baseline has it."""
    plain = findings.baseline.settings
    findings.attempts.append(given_up(members, why))
    findings.held = changed(findings.held, {member.switch: getattr(plain, member.switch) for member in members})
    findings.members = tuple(member for member in findings.members if member not in members)
    findings.effects.clear()
    for member in members:
        findings.ratios.pop(member.switch, None)
