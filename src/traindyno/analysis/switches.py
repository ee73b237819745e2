"""From the findings of a study of switches to its answer."""

from typing import Any

import msgspec

from traindyno.analysis.intervals import median
from traindyno.analysis.probes import NOT_APPLICABLE
from traindyno.analysis.switch_candidates import Candidate, all_applied, names_of, value_words
from traindyno.analysis.switch_choice import Choice, choose, faster_copies
from traindyno.analysis.switch_effects import memory_ratio
from traindyno.analysis.switch_findings import Findings, Rung, Tried
from traindyno.analysis.switch_losses import LossCheck, loss_spread
from traindyno.analysis.switch_starts import Start, baseline_start, pays_back_after, warm_up_again, warm_up_seconds
from traindyno.analysis.switch_verdicts import switch_verdicts
from traindyno.core.answers import Combination, SwitchEffect, SwitchesAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import Failure, Settings
from traindyno.core.requests import SwitchesRequest

NOT_REACHED = "not reached: the study ended before its turn"


def conclude_switches(
    request: SwitchesRequest,
    findings: Findings,
    *,
    epoch_examples: int | None = None,
    seconds: float = 0.0,
    simulated: bool = False,
) -> SwitchesAnswer:
    """Everything that the pairs and losses say. `epoch_examples` is the length of an epoch, where data has one."""
    chosen, copies = choose(findings), faster_copies(findings)
    adopted = (*chosen.members, *copies)
    baseline_step, step = _steps(findings, chosen)
    start = _start(findings, request.settings)
    effects = tuple(_effect(findings, candidate, candidate in adopted, start) for candidate in findings.candidates)
    size = request.settings.batch_size
    return SwitchesAnswer(
        model=request.workload.model,
        mode=request.workload.mode,
        batch_size=size,
        baseline=msgspec.to_builtins(request.settings),
        effects=effects,
        combinations=tuple(_combination(request.settings, rung) for rung in findings.rungs if rung.ratio is not None),
        recommended=_differences(request.settings, all_applied(adopted, request.settings)),
        speedup=chosen.ratio,
        speedup_ci95=chosen.ci95,
        memory_ratio=memory_ratio(chosen.pairs) if chosen.pairs else 1.0,
        baseline_examples_per_second=size / baseline_step,
        examples_per_second=size / step,
        loss_spread=loss_spread(findings.baseline_losses),
        verdicts=switch_verdicts(request, findings, chosen, effects, epoch_examples),
        seconds=seconds,
        simulated=simulated,
    )


def _steps(findings: Findings, chosen: Choice) -> tuple[float, float]:
    """Seconds per step of the baseline and of what is recommended, from the pairs that compare them."""
    if chosen.pairs:
        baseline = median([pair.baseline.step_seconds for pair in chosen.pairs])
        return baseline, baseline / chosen.ratio
    resident = [tried.pairs for candidate, tried in findings.singles.items() if candidate.supply == "resident"]
    pairs = [pair for each in resident or [tried.pairs for tried in findings.singles.values()] for pair in each]
    if not pairs:
        raise NothingMeasuredError("no switch could be measured", None)
    baseline = median([pair.baseline.step_seconds for pair in pairs])
    return baseline, baseline


def _start(findings: Findings, baseline: Settings) -> Start | None:
    pairs = [pair for tried in findings.singles.values() for pair in tried.pairs]
    return baseline_start(pairs, baseline.compile != "none") if pairs else None


def _effect(findings: Findings, candidate: Candidate, adopted: bool, start: Start | None) -> SwitchEffect:
    told = SwitchEffect(
        switch=candidate.switch,
        value=value_words(candidate.value),
        skipped_because=candidate.skipped_because,
        adopted=adopted,
        with_copies=candidate.supply != "resident",
    )
    tried = findings.singles.get(candidate)
    if tried is None:
        return msgspec.structs.replace(told, skipped_because=candidate.skipped_because or NOT_REACHED)
    if tried.failure is not None and tried.failure.details.get("code") == NOT_APPLICABLE[0]:
        return msgspec.structs.replace(told, skipped_because=tried.failure.message)
    if tried.failure is not None:
        return msgspec.structs.replace(told, failed_because=_why(tried.failure))
    effect = findings.effect(candidate)
    return msgspec.structs.replace(
        told,
        ratio=effect[0] if effect is not None else None,
        ci95=effect[1] if effect is not None else None,
        **_costs(
            tried, start, faster=effect is not None and effect[1][0] > 1.0, compiles=candidate.switch == "compile"
        ),
        **_losses(findings.checks.get(candidate)),
    )


def _why(failure: Failure) -> str:
    """A failure in one line; of running out of memory, that it was so."""
    words = failure.outcome.replace("_", " ")
    return words if failure.outcome.out_of_memory else failure.message or words


def _costs(tried: Tried, start: Start | None, *, faster: bool, compiles: bool) -> dict[str, Any]:
    if not tried.pairs or start is None:
        return {}
    return {
        "memory_ratio": memory_ratio(tried.pairs),
        "warm_up_seconds": warm_up_seconds(tried.pairs[0], start, first=True),
        "warm_up_seconds_again": warm_up_again(tried.pairs, start, compiles=compiles),
        "pays_back_after_steps": pays_back_after(tried.pairs, start) if faster else None,
    }


def _losses(check: LossCheck | None) -> dict[str, Any]:
    if check is None:
        return {}
    return {"loss_agrees": check.agrees, "loss_difference": check.difference, "loss_note": check.note}


def _combination(baseline: Settings, rung: Rung) -> Combination:
    assert rung.ratio is not None
    assert rung.ci95 is not None
    return Combination(
        tried=_rung_words(rung),
        settings=_differences(baseline, all_applied(rung.members, baseline)),
        ratio=rung.ratio,
        ci95=rung.ci95,
        kept=rung.kept,
    )


def _rung_words(rung: Rung) -> str:
    """`compile=default`, `precision=fp16 instead of precision=bf16`, or `without compile=default`."""
    if rung.instead_of is None:
        return names_of(rung.added)
    before = rung.instead_of.name
    return f"{names_of(rung.added)} instead of {before}" if rung.added else f"without {before}"


def _differences(baseline: Settings, settings: Settings) -> dict[str, Any]:
    before, after = msgspec.to_builtins(baseline), msgspec.to_builtins(settings)
    return {name: value for name, value in after.items() if value != before[name]}
