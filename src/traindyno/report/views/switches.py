"""Which switches make training faster: each alone, the combination step by step, and what to adopt."""

import shlex

import msgspec

from traindyno.analysis.commands import settings_words
from traindyno.core.answers import Combination, Document, SwitchEffect, SwitchesAnswer
from traindyno.core.records import Settings
from traindyno.report.charts.switches import baseline_words, switches_chart
from traindyno.report.conditions import RunSettings
from traindyno.report.view import Adoption, Column, Headline, Number, Row, Sheet, Table, Tone, View
from traindyno.report.wording import count, duration, known, one_line, rate, ratio_interval, share

EFFECT_COLUMNS = (
    Column(heading="switch", right=False),
    Column(heading="speed alone", unit="95 % interval", narrow="speed alone\n(95 %)"),
    Column(heading="memory"),
    Column(heading="longer start", unit="again", narrow="longer start\n(again)"),
    Column(heading="pays back after", unit="steps", narrow="pays back\n(steps)"),
    Column(heading="loss", right=False),
)
LEFT_OUT_COLUMNS = (Column(heading="switch", right=False), Column(heading="why", right=False))
LADDER_COLUMNS = (
    Column(heading="tried", right=False),
    Column(heading="speed against what was held", unit="95 % interval", narrow="speed against\nwhat was held"),
    Column(heading="kept", right=False),
)
SHEET_COLUMNS = (
    "model", "batch_size", "switch", "value", "ratio", "ratio_ci95_low", "ratio_ci95_high", "memory_ratio",
    "warm_up_seconds", "warm_up_seconds_again", "pays_back_after_steps", "loss_agrees", "loss_difference", "adopted",
    "skipped_because", "failed_because",
)  # fmt: skip
METHOD = (
    "Each switch was tried alone: two processes, one with the switch and one without, took turns block by block, in "
    "rounds of random order. A ratio above 1 is faster; its interval covers the variation between pairs of processes, "
    "pooled over all switches. Where a switch changes the arithmetic, 100 training steps with it must end in a loss "
    "that differs from the baseline's at the same seed by no more than the baseline's own losses over three seeds. "
    "Then the best switch was held and each next one tried on top; what was faster stayed. Precision, memory format "
    "and compiling were tried even if alone they gained nothing, other values of what was held in its place, and the "
    "combination without each of the three. What is recommended was at last measured against the baseline in fresh "
    "pairs; where they did not show it to be faster, it is not."
)
MORE_SECONDS = 0.5


def title(document: Document) -> str:
    answer: SwitchesAnswer = document.answer
    return f"Switches of {one_line(answer.model)} ({baseline_words(answer)})"


def headline(document: Document) -> Headline:
    answer: SwitchesAnswer = document.answer
    tried = ("switches tried", count(sum(effect.ratio is not None for effect in answer.effects)))
    before = ("baseline", f"{rate(answer.baseline_examples_per_second)} examples/s")
    if (copies := _copies_words(answer)) and not recommended_words(answer):
        return Headline(value=copies, label="is recommended for copies, and nothing else", beside=(before, tried))
    beside = [
        ("95 % interval", f"{answer.speedup_ci95[0]:.2f} to {answer.speedup_ci95[1]:.2f}×"),
        before,
        ("recommended", f"{rate(answer.examples_per_second)} examples/s"),
        ("memory", share(answer.memory_ratio)),
        tried,
    ]
    return Headline(value=f"{answer.speedup:.2f}×", label=_label(answer), beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: SwitchesAnswer = document.answer
    return (*_effects_table(answer), *_ladder_table(answer), *_left_out_table(answer))


def conclusion(document: Document) -> tuple[str, ...]:
    answer: SwitchesAnswer = document.answer
    before = f"{rate(answer.baseline_examples_per_second)} examples/s"
    if not answer.recommended:
        return (f"Nothing is recommended: {_why_nothing(answer)} (the baseline: {before})",)
    return (*_speedup_lines(answer, before), *_copies_line(answer), f"Options: {option_words(answer)}")


def verdicts(document: Document) -> tuple[str, ...]:
    answer: SwitchesAnswer = document.answer
    return tuple(one_line(verdict, 400) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    answer: SwitchesAnswer = document.answer
    return Sheet(columns=SHEET_COLUMNS, rows=tuple(_sheet_row(answer, effect) for effect in answer.effects))


def adoptions(document: Document) -> tuple[Adoption, ...]:
    answer: SwitchesAnswer = document.answer
    if not answer.recommended:
        return ()
    return (
        Adoption(
            model=answer.model,
            batch_size=answer.batch_size,
            training=answer.mode == "train",
            run=RunSettings(device=answer.baseline.get("device"), precision=answer.baseline.get("precision")),
            switches=answer.recommended,
        ),
    )


def recommended_words(answer: SwitchesAnswer) -> str:
    """`precision=bf16, compile=default`: what the speedup is of. What speeds up copies was measured by itself."""
    return ", ".join(_name(effect) for effect in answer.effects if effect.adopted and not effect.with_copies)


def option_words(answer: SwitchesAnswer) -> str:
    """The recommended settings as the options of this and other commands."""
    settings = msgspec.convert(answer.baseline | answer.recommended, Settings)
    precision = [] if settings.precision == "fp32" else ["--precision", settings.precision]
    return shlex.join(["--batch-size", str(settings.batch_size), *precision, *settings_words(settings)])


def ordered_effects(answer: SwitchesAnswer) -> list[SwitchEffect]:
    """Those that were measured, the fastest first."""
    measured = [effect for effect in answer.effects if known(effect.ratio)]
    return sorted(measured, key=lambda effect: -(effect.ratio or 0.0))


def _copies_words(answer: SwitchesAnswer) -> str:
    return ", ".join(_name(effect) for effect in answer.effects if effect.adopted and effect.with_copies)


def _speedup_lines(answer: SwitchesAnswer, before: str) -> tuple[str, ...]:
    if not (names := recommended_words(answer)):
        return ()
    return (
        f"Recommended: {names}: {ratio_interval(answer.speedup, answer.speedup_ci95)} as fast",
        f"{rate(answer.examples_per_second)} instead of {before}, {share(answer.memory_ratio)} of the memory",
    )


def _copies_line(answer: SwitchesAnswer) -> tuple[str, ...]:
    if not (names := _copies_words(answer)):
        return ()
    beside = recommended_words(answer)
    start, end = ("Also recommended", ", which is not in the ratio") if beside else ("Recommended", "")
    return (f"{start}: {names}, where batches are copied to the device{end}",)


def _why_nothing(answer: SwitchesAnswer) -> str:
    faster = any(effect.ci95 is not None and effect.ci95[0] > 1.0 for effect in answer.effects)
    return "what looked faster cannot be adopted, see above" if faster else "no switch was shown to be faster"


def _label(answer: SwitchesAnswer) -> str:
    return f"as fast with {recommended_words(answer)}" if answer.recommended else "nothing is recommended"


def _name(effect: SwitchEffect) -> str:
    return one_line(f"{effect.switch}={effect.value}", 60)


def _effects_table(answer: SwitchesAnswer) -> tuple[Table, ...]:
    effects = ordered_effects(answer)
    fastest = max((effect.ratio or 0.0 for effect in effects), default=1.0)
    rows = tuple(_effect_row(effect, fastest) for effect in effects)
    legend = (*_seen_losses(effects), *_unseen_losses(effects))
    return (Table(columns=EFFECT_COLUMNS, rows=rows, legend=legend, bar_column=1),) if rows else ()


def _effect_row(effect: SwitchEffect, fastest: float) -> Row:
    cells = (
        _name(effect),
        ratio_interval(effect.ratio, effect.ci95),
        share(effect.memory_ratio),
        _longer_start(effect),
        count(effect.pays_back_after_steps) if effect.pays_back_after_steps else "",
        _loss_words(effect),
    )
    tone: Tone = "chosen" if effect.adopted else "bad" if effect.loss_agrees is False else "plain"
    return Row(cells=cells, tone=tone, bar=(effect.ratio or 0.0) / fastest)


def _longer_start(effect: SwitchEffect) -> str:
    """What it takes longer at first, and once the compiler's results are on disk; nothing if that is nothing."""
    if (effect.warm_up_seconds or 0.0) < MORE_SECONDS:
        return ""
    if (again := effect.warm_up_seconds_again) is None:
        return duration(effect.warm_up_seconds)
    return f"{duration(effect.warm_up_seconds)} ({duration(again) if again >= MORE_SECONDS else 'none'})"


def _loss_words(effect: SwitchEffect) -> str:
    return "" if effect.loss_agrees is None else "within" if effect.loss_agrees else "beyond"


def _seen_losses(effects: list[SwitchEffect]) -> tuple[str, ...]:
    seen = any(effect.loss_agrees is not None for effect in effects)
    return ("loss: whether it differs from the baseline's within the spread of seeds, or beyond",) if seen else ()


def _unseen_losses(effects: list[SwitchEffect]) -> tuple[str, ...]:
    """Why the losses of some were not compared, with their names."""
    names: dict[str, list[str]] = {}
    for effect in effects:
        if effect.loss_agrees is None and effect.loss_note:
            names.setdefault(one_line(effect.loss_note, 200), []).append(_name(effect))
    return tuple(f"loss not compared ({note}): {', '.join(several)}" for note, several in names.items())


def _ladder_table(answer: SwitchesAnswer) -> tuple[Table, ...]:
    rows = tuple(_rung_row(rung) for rung in answer.combinations)
    return (Table(columns=LADDER_COLUMNS, rows=rows, title="The combination, step by step"),) if rows else ()


def _rung_row(rung: Combination) -> Row:
    cells = (one_line(rung.tried, 80), ratio_interval(rung.ratio, rung.ci95), "yes" if rung.kept else "no")
    return Row(cells=cells, tone="good" if rung.kept else "plain")


def _left_out_table(answer: SwitchesAnswer) -> tuple[Table, ...]:
    reasons = [(effect, effect.skipped_because or effect.failed_because) for effect in answer.effects]
    rows = tuple(Row(cells=(_name(effect), one_line(why, 200))) for effect, why in reasons if why)
    return (Table(columns=LEFT_OUT_COLUMNS, rows=rows, title="Not measured"),) if rows else ()


def _sheet_row(answer: SwitchesAnswer, effect: SwitchEffect) -> tuple[Number, ...]:
    return (
        answer.model, answer.batch_size, effect.switch, effect.value, effect.ratio, *(effect.ci95 or (None, None)),
        effect.memory_ratio, effect.warm_up_seconds, effect.warm_up_seconds_again, effect.pays_back_after_steps,
        effect.loss_agrees, effect.loss_difference, effect.adopted, effect.skipped_because, effect.failed_because,
    )  # fmt: skip


SWITCHES = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=switches_chart,
    adoptions=adoptions,
    method=METHOD,
)
