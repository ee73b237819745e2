"""Which switches may go into a combination, in which order, and which of what was measured to recommend."""

from collections.abc import Mapping, Sequence

from traindyno.analysis.switch_candidates import Candidate
from traindyno.analysis.switch_findings import Findings, Members
from traindyno.analysis.switch_starts import excess_seconds
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.records import Pair

HARMLESS = 0.3
"""A partner that alone is slower than this share of the baseline's speed is not tried together with others either.

Where launching is the limit, casting adds launches: a precision can be slow alone and gain once the step is one graph.
The limit was chosen on simulated step times.
"""
SLOW_START_SECONDS = 10.0
"""Beyond what the baseline needs: compiling, or trying out kernels."""
WORTH_A_SLOW_START = 1.01
"""What gains less alone is not worth a trial that starts slowly."""
MOST_SINGLES = 3
"""Of so many single switches that look fastest, the next is measured again where fresh pairs refute the one before."""


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
    """Faster alone, or a partner that does no great harm alone. Copies are not made where others are measured.

    What starts slowly and is no partner must be worth that.
    """
    effect = findings.effect(candidate)
    if effect is None or not candidate.recommendable or candidate.supply != "resident":
        return False
    if candidate.partner:
        return effect[1][0] > 1.0 or effect[0] > HARMLESS
    return effect[1][0] > 1.0 and (effect[0] >= WORTH_A_SLOW_START or not starts_slowly(findings, candidate))


def climbing_order(findings: Findings) -> tuple[Candidate, ...]:
    """What to combine; nothing if there is neither a faster one nor two partners.

    The fastest alone comes first. A partner may be faster by its value and not be shown to be: those that are shown
    come first. What starts slowly comes last, partners at the very end: all that is tried on top of them starts as
    slowly. Only where nothing else is faster, one of them comes first.
    """
    ratios = {
        candidate: effect[0]
        for candidate in findings.candidates
        if may_combine(findings, candidate)
        and is_eligible(findings, candidate)
        and (effect := findings.effect(candidate)) is not None
    }

    def place(candidate: Candidate) -> tuple[bool, bool, float]:
        slow = starts_slowly(findings, candidate)
        return slow, slow and candidate.partner, -ratios[candidate]

    ordered = tuple(sorted(ratios, key=place))
    faster = [candidate for candidate in ordered if is_faster(findings, candidate)]
    if not faster and len({candidate.switch for candidate in ordered}) < 2:
        return ()
    first = _first(findings, faster, ratios) if faster else ordered[0]
    return (first, *(candidate for candidate in ordered if candidate is not first))


def likely_combinations(findings: Findings) -> tuple[Members, ...]:
    """What will probably be held in the end, of what starts slowly: the fastest values, with each precision.

    Alone they may lose what they gain together, so that none of the precisions is more likely than another.
    """
    effects = {
        each: effect[0]
        for each in findings.candidates
        if each.partner and may_combine(findings, each) and (effect := findings.effect(each)) is not None
    }
    precisions = [each for each in effects if each.switch == "precision"]
    best: dict[str, Candidate] = {}
    for each in sorted(effects, key=lambda each: -effects[each]):
        if each not in precisions and is_faster(findings, each):
            best.setdefault(each.switch, each)
    if not precisions or not any(starts_slowly(findings, each) for each in best.values()):
        return ()
    return tuple((precision, *best.values()) for precision in precisions)


def starts_slowly(findings: Findings, candidate: Candidate) -> bool:
    """Whether its first process took far longer to its steady step than the baseline beside it."""
    tried = findings.singles.get(candidate)
    if tried is None or not tried.pairs:
        return False
    pair = tried.pairs[0]
    return excess_seconds(pair.candidate) - excess_seconds(pair.baseline) > SLOW_START_SECONDS


def _first(findings: Findings, faster: Sequence[Candidate], ratios: Mapping[Candidate, float]) -> Candidate:
    quick = [candidate for candidate in faster if not starts_slowly(findings, candidate)]
    return quick[0] if quick else max(faster, key=lambda candidate: ratios[candidate])


def choose(findings: Findings) -> Choice:
    """What to adopt: the combination, unless a single switch is faster; nothing, where nothing was shown to be.

    Fresh pairs, where there are some, have the last word. Every member of the combination was shown to gain on top of
    the others, so that a single switch must be shown to be faster than all of them, not only look so; where one of
    them had to go for its loss, nobody has compared the rest.
    """
    shown = [choice for members in _contenders(findings) if (choice := _shown(findings, members)) is not None]
    if not shown:
        return Choice(members=(), ratio=1.0, ci95=(1.0, 1.0))
    first, *others = shown
    if first.members != _combination(findings) or not others:
        return first
    single = others[0]
    faster = single.ratio > first.ratio if findings.dropped is not None else single.ci95[0] > first.ratio
    return single if faster else first


def to_confirm(findings: Findings) -> Members | None:
    """What to measure against the baseline again before it is recommended; null when that is done."""
    wanted = (_combination(findings), choose(findings).members)
    return next((members for members in wanted if members and members not in findings.finals), None)


def refuted(findings: Findings) -> tuple[Members, ...]:
    """What looked faster, and was not by its fresh pairs."""
    effects = {members: findings.final_effect(members) for members in findings.finals}
    return tuple(members for members, effect in effects.items() if effect is not None and effect[1][0] <= 1.0)


def _contenders(findings: Findings) -> tuple[Members, ...]:
    """The combination, then the fastest single switches."""
    combination = _combination(findings)
    singles = [(single,) for single in faster_singles(findings)[:MOST_SINGLES]]
    return (combination, *singles) if combination else tuple(singles)


def _combination(findings: Findings) -> Members:
    """What is left of the combination; nothing, if that is one of the single switches that are faster alone."""
    alone = len(findings.members) == 1 and findings.members[0] in faster_singles(findings)
    return () if alone else findings.members


def _shown(findings: Findings, members: Members) -> Choice | None:
    """The members, if they were shown to be faster: by their fresh pairs if there are any."""
    alone = findings.singles.get(members[0]) if len(members) == 1 else None
    tried = findings.finals.get(members, alone)
    effect = None if tried is None else findings.compared(tried, members)
    if tried is None or effect is None or effect[1][0] <= 1.0:
        return None
    return Choice(members=members, ratio=effect[0], ci95=effect[1], pairs=tried.pairs)


def best_single(findings: Findings) -> Candidate | None:
    """The fastest that may be adopted, unless its fresh pairs do not show it."""
    fastest = faster_singles(findings)[:MOST_SINGLES]
    return next((single for single in fastest if _shown(findings, (single,)) is not None), None)


def faster_singles(findings: Findings) -> tuple[Candidate, ...]:
    """What may be adopted and looks faster with the batch resident, as the combination has it; the fastest first."""
    ratios = {
        candidate: effect[0]
        for candidate in findings.candidates
        if candidate.supply == "resident"
        and is_eligible(findings, candidate)
        and is_faster(findings, candidate)
        and (effect := findings.effect(candidate)) is not None
    }
    return tuple(sorted(ratios, key=lambda candidate: -ratios[candidate]))


def faster_copies(findings: Findings) -> tuple[Candidate, ...]:
    """What speeds up copies: measured apart, with a batch moved each step, and adopted beside the combination."""
    return tuple(
        candidate
        for candidate in findings.candidates
        if candidate.supply != "resident" and is_eligible(findings, candidate) and is_faster(findings, candidate)
    )
