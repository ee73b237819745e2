"""What the switches of a study come to, in sentences."""

import math
from collections.abc import Iterator, Sequence

from traindyno.analysis.switch_candidates import Candidate, names_of, value_words
from traindyno.analysis.switch_choice import Choice, faster_copies, is_faster
from traindyno.analysis.switch_choice_verdicts import choice_verdicts, fault, times
from traindyno.analysis.switch_findings import Findings, Rung
from traindyno.analysis.switch_losses import STEPS, loss_spread
from traindyno.core.answers import SwitchEffect
from traindyno.core.requests import SwitchesRequest
from traindyno.core.units import format_percent, format_seconds

LESS_MEMORY = 0.95
LONG_WARM_UP_SECONDS = 1.0
UNSETTLED = 1.2
"""An interval that reaches this far to both sides of 1 says nothing of a speed."""
PRICED = {
    "determinism": "Reproducibility",
    "read_metrics": "Reading the loss on the host after every step",
}
"""Switches that people set for other reasons than speed, as the subject of a sentence about their price."""


def switch_verdicts(
    request: SwitchesRequest,
    findings: Findings,
    chosen: Choice,
    effects: Sequence[SwitchEffect],
    epoch_examples: int | None,
) -> tuple[str, ...]:
    """The best single switch, the combination, then prices, memory, losses, warm-up and what limits the study."""
    of = dict(zip(findings.candidates, effects, strict=True))
    return (
        *choice_verdicts(findings, chosen),
        *_interactions(findings),
        *_copies(findings, of, chosen),
        *_prices(request, of),
        *_memory(of),
        *_losses(request, findings, of),
        *_warm_up(of, chosen, _epoch_steps(request, epoch_examples)),
        *_limits(request, findings),
    )


def _interactions(findings: Findings) -> Iterator[str]:
    """What gains nothing alone and something with others is why combinations are measured."""
    for rung in findings.rungs:
        if rung.kept and rung.ratio is not None and rung.instead_of is None:
            yield from _interaction(findings, rung, rung.ratio)
    failed = [rung for rung in findings.rungs if rung.tried.failure is not None]
    for rung in failed:
        assert rung.tried.failure is not None
        yield f"{names_of(rung.members)} failed together: {rung.tried.failure.message}"


def _interaction(findings: Findings, rung: Rung, ratio: float) -> Iterator[str]:
    alone = [effect[0] for candidate in rung.added if (effect := findings.effect(candidate)) is not None]
    if len(alone) < len(rung.added) or any(is_faster(findings, candidate) for candidate in rung.added):
        return
    others = tuple(member for member in rung.members if member not in rung.added)
    each = " and ".join(f"{ratio:.2f}×" for ratio in alone)
    verb = "give" if len(alone) > 1 else "gives"
    there = f"on top of {names_of(others)}" if others else "together"
    yield f"{names_of(rung.added)} alone {verb} {each}, {there} {ratio:.2f}×."


def _copies(findings: Findings, of: dict[Candidate, SwitchEffect], chosen: Choice) -> Iterator[str]:
    others = " beside the others, and is not in their speedup" if chosen.members else ""
    for candidate in faster_copies(findings):
        effect = of[candidate]
        if effect.ratio is not None and effect.ci95 is not None:
            yield (
                f"{candidate.name} gives {times(effect.ratio, effect.ci95)} where each step is handed a batch from the "
                f"host. It is recommended{others}."
            )


def _prices(request: SwitchesRequest, of: dict[Candidate, SwitchEffect]) -> Iterator[str]:
    for candidate, effect in of.items():
        if candidate.switch not in PRICED or effect.ratio is None or effect.ci95 is None:
            continue
        turned_off = candidate.value in (False, "none")
        priced = getattr(request.settings, candidate.switch) if turned_off else candidate.value
        ratio, (low, high) = effect.ratio, effect.ci95
        if turned_off:
            ratio, low, high = 1 / ratio, 1 / high, 1 / low if low > 0 else math.inf
        what = f"{PRICED[candidate.switch]} ({candidate.switch}={value_words(priced)})"
        if high < 1:
            yield f"{what} costs {format_percent(1 - ratio, 0 if ratio < 0.98 else 1)} of the speed."
        elif low <= 1:
            yield f"{what} was not shown to cost speed ({times(ratio, (low, high))})."


def _memory(of: dict[Candidate, SwitchEffect]) -> Iterator[str]:
    for candidate, effect in of.items():
        if effect.memory_ratio is None or effect.memory_ratio > LESS_MEMORY or effect.loss_agrees is False:
            continue
        remedy = "" if candidate.recommendable else " It is a remedy where memory is short, and is not adopted."
        speed = f"{effect.ratio:.2f}× the speed"
        if effect.ci95 is not None and effect.ci95[0] * UNSETTLED < 1 < effect.ci95[1] / UNSETTLED:
            speed = "a speed that is not settled"
        yield f"{candidate.name} takes {format_percent(effect.memory_ratio, 0)} of the memory at {speed}.{remedy}"


def _losses(request: SwitchesRequest, findings: Findings, of: dict[Candidate, SwitchEffect]) -> Iterator[str]:
    spread = loss_spread(findings.baseline_losses)
    for candidate, effect in of.items():
        if effect.loss_agrees is False:
            apart = (
                "is not finite" if effect.loss_difference is None else f"differs by {abs(effect.loss_difference):.3g}"
            )
            seeds = "" if spread is None else f" (seeds alone: {spread:.3g})"
            yield f"{candidate.name}: the loss after {STEPS} steps {apart}{seeds}. It is not recommended."
    if findings.dropped is not None and findings.dropped_check is not None and findings.members:
        why = fault(findings.dropped_check)
        yield f"{findings.dropped.name} was taken out of the combination, for with it {why}."
    if findings.failed_losses is not None:
        yield f"Losses could not be compared: {findings.failed_losses} Check them before you adopt a switch."
    if request.workload.mode == "infer" and request.check_losses:
        yield "Inference has no loss to compare: check the outputs before you adopt a switch that rounds otherwise."


def _warm_up(of: dict[Candidate, SwitchEffect], chosen: Choice, epoch_steps: int | None) -> Iterator[str]:
    for candidate in chosen.members:
        effect = of[candidate]
        seconds, steps = effect.warm_up_seconds, effect.pays_back_after_steps
        if seconds is None or seconds < LONG_WARM_UP_SECONDS or steps is None:
            continue
        again = effect.warm_up_seconds_again
        later = "" if again is None else f" ({format_seconds(again) if again else 'no longer'} the next time)"
        slow = f"{candidate.name} takes {format_seconds(seconds)} longer to start{later}"
        late = (
            f", later than an epoch ({epoch_steps:,} steps)" if epoch_steps is not None and steps > epoch_steps else ""
        )
        yield f"{slow}; alone it pays back after {steps:,} steps{late}."


def _epoch_steps(request: SwitchesRequest, epoch_examples: int | None) -> int | None:
    return None if epoch_examples is None else max(1, epoch_examples // request.settings.batch_size)


def _limits(request: SwitchesRequest, findings: Findings) -> Iterator[str]:
    if request.repeats == 1:
        yield "Each switch had one pair: the intervals do not cover how far processes differ. Use --repeats 2 or more."
    if findings.bounded:
        yield "The combination was ended at its limit of pairs: another one may be faster still."
