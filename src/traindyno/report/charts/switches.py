"""Dots with intervals on a line of equal speed: each switch alone, and below it the steps of the combination."""

from typing import Any

from traindyno.core.answers import Combination, Document, SwitchEffect, SwitchesAnswer
from traindyno.report.charts.ratios import ratio_row, ratios_panel
from traindyno.report.charts.style import BLUE, GREEN, INK, PALE_GREY, RED, chart_title, finished
from traindyno.report.wording import known, one_line

ADOPTED, ALONE, SPOILT, KEPT, REFUSED = "adopted", "not adopted", "loss differs", "kept", "not kept"
SPEEDUP = "what is recommended, against the baseline"
COLORS = {ADOPTED: GREEN, ALONE: BLUE, SPOILT: RED, KEPT: GREEN, REFUSED: PALE_GREY, SPEEDUP: INK}


def switches_chart(document: Document) -> dict[str, Any] | None:
    """The switches, the fastest above, and the combination; null when nothing was measured."""
    import altair

    answer: SwitchesAnswer = document.answer
    alone = [_effect_row(effect) for effect in answer.effects if known(effect.ratio)]
    if not alone:
        return None
    alone.sort(key=lambda row: -row["ratio"])
    together = [_rung_row(place, rung) for place, rung in enumerate(answer.combinations, start=1)]
    in_speedup = any(effect.adopted and not effect.with_copies for effect in answer.effects)
    if together and in_speedup:
        together.append(ratio_row(SPEEDUP, answer.speedup, answer.speedup_ci95, SPEEDUP))
    panels = [ratios_panel(alone, COLORS, "Speed of each switch alone, against the baseline")]
    panels += [ratios_panel(together, COLORS, "The combination: speed against what was held")] if together else []
    title = chart_title(document, f"Switches of {one_line(answer.model, 40)} ({baseline_words(answer)})")
    whole = altair.vconcat(*panels, spacing=30).resolve_scale(x="independent", color="independent")
    return finished(whole.properties(title=title))


def baseline_words(answer: SwitchesAnswer) -> str:
    """`train, batch 64, fp32, cuda:0`: what each switch is compared with; the first trial has one of them already."""
    settings = (answer.baseline.get(name) for name in ("precision", "device"))
    words = (answer.mode, f"batch {answer.batch_size}", *settings)
    return ", ".join(one_line(word) for word in words if word)


def _effect_row(effect: SwitchEffect) -> dict[str, Any]:
    state = ADOPTED if effect.adopted else SPOILT if effect.loss_agrees is False else ALONE
    return ratio_row(f"{effect.switch}={effect.value}", effect.ratio or 0.0, effect.ci95, state)


def _rung_row(place: int, rung: Combination) -> dict[str, Any]:
    return ratio_row(f"{place}. {rung.tried}", rung.ratio, rung.ci95, KEPT if rung.kept else REFUSED)
