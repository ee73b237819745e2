"""How many trials a study of switches still takes, as far as one can tell."""

from collections.abc import Sequence

from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.switch_findings import Findings, Tried
from traindyno.analysis.switch_losses import SEEDS
from traindyno.search.switches.climb import MOST_PAIRS


def trials_left(
    findings: Findings, candidates: Sequence[Candidate], checked: Sequence[Candidate], repeats: int, combine: bool
) -> int:
    """The rest of the rounds, of the losses and of the fresh pairs, and about two attempts to combine per partner."""
    singles = sum(_pairs_left(findings.singles.get(candidate, Tried()), repeats) for candidate in candidates)
    losses = max(0, SEEDS - len(findings.baseline_losses)) if checked else 0
    losses += sum(candidate not in findings.checks for candidate in checked)
    final = min((_pairs_left(tried, repeats) for tried in findings.finals.values()), default=repeats)
    if not combine:
        return singles + losses + final
    partners = sum(candidate.partner for candidate in candidates)
    attempts = 0 if findings.finals else max(0, min(MOST_PAIRS, 2 * partners) - len(findings.rungs))
    return singles + losses + attempts + final + (findings.members_check is None and bool(checked))


def _pairs_left(tried: Tried, repeats: int) -> int:
    return 0 if tried.failure is not None or tried.apart else max(0, repeats - len(tried.pairs))
