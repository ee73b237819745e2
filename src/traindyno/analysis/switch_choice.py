"""Which switches may go into a combination, in which order, and which of what was measured to recommend."""

from traindyno.analysis.intervals import Interval
from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.switch_findings import Findings
from traindyno.core.base import Record
from traindyno.core.records import Pair

HARMLESS = 0.6
"""A partner that alone is slower than this share of the baseline's speed is not tried together with others either.

Where launching is the limit, mixed precision alone easily costs a quarter, and gains once the step is one graph.
"""


class Choice(Record, frozen=True):
    """What to adopt: nothing, a switch or several, with what it was measured to give and the pairs that say so."""

    members: tuple[Candidate, ...]
    ratio: float
    ci95: Interval
    pairs: tuple[Pair, ...] = ()


def is_eligible(findings: Findings, candidate: Candidate) -> bool:
    """Whether a switch may be adopted at all: it ran, it may be recommended, and its loss is not known to differ.

    In a study that was cut before its losses, nothing that could change them is.
    """
    check = findings.checks.get(candidate)
    sound = check.sound if check is not None else not candidate.changes_arithmetic
    return candidate.recommendable and sound and findings.effect(candidate) is not None


def is_faster(findings: Findings, candidate: Candidate) -> bool:
    effect = findings.effect(candidate)
    return effect is not None and effect[1][0] > 1.0


def may_combine(findings: Findings, candidate: Candidate) -> bool:
    """Faster alone, or a partner that does no great harm alone. Copies are not made where others are measured."""
    effect = findings.effect(candidate)
    if effect is None or not candidate.recommendable or candidate.supply != "resident":
        return False
    return effect[1][0] > 1.0 or (candidate.partner and effect[0] > HARMLESS)


def climbing_order(findings: Findings) -> tuple[Candidate, ...]:
    """What to combine, the fastest alone first; nothing if there is neither a faster one nor two partners.

    A partner may be faster by its value and not be shown to be: those that are shown come first.
    """
    ratios = {
        candidate: effect[0]
        for candidate in findings.candidates
        if may_combine(findings, candidate)
        and is_eligible(findings, candidate)
        and (effect := findings.effect(candidate)) is not None
    }
    ordered = tuple(sorted(ratios, key=lambda candidate: -ratios[candidate]))
    faster = [candidate for candidate in ordered if is_faster(findings, candidate)]
    if not faster and len({candidate.switch for candidate in ordered}) < 2:
        return ()
    first = faster[0] if faster else ordered[0]
    return (first, *(candidate for candidate in ordered if candidate is not first))


def choose(findings: Findings) -> Choice:
    """The combination if it was shown to be faster than the baseline, else the best single switch, else nothing."""
    final = findings.final_effect()
    if final is not None and final[1][0] > 1.0:
        assert findings.final is not None
        return Choice(members=findings.members, ratio=final[0], ci95=final[1], pairs=findings.final.pairs)
    single = best_single(findings)
    if single is None:
        return Choice(members=(), ratio=1.0, ci95=(1.0, 1.0))
    effect = findings.effect(single)
    assert effect is not None
    return Choice(members=(single,), ratio=effect[0], ci95=effect[1], pairs=findings.singles[single].pairs)


def best_single(findings: Findings) -> Candidate | None:
    """The fastest that may be adopted and was measured with the batch resident, as the combination is."""
    faster = [
        (effect[0], candidate)
        for candidate in findings.candidates
        if candidate.supply == "resident"
        and is_eligible(findings, candidate)
        and is_faster(findings, candidate)
        and (effect := findings.effect(candidate)) is not None
    ]
    return max(faster, key=lambda each: each[0])[1] if faster else None


def faster_copies(findings: Findings) -> tuple[Candidate, ...]:
    """What speeds up copies: measured apart, with a batch moved each step, and adopted beside the combination."""
    return tuple(
        candidate
        for candidate in findings.candidates
        if candidate.supply != "resident" and is_eligible(findings, candidate) and is_faster(findings, candidate)
    )
