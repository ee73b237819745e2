"""What `find` found in pictures: the step before and after, the finalists' speed, and that of everything tried."""

from typing import Any

from traindyno.analysis.find.placed import BASELINE, RECOMMENDED, Placed, is_gain, placed_finalists
from traindyno.analysis.stall_verdicts import UNSETTLED
from traindyno.core.answers import Attempt, Document, FindAnswer, StepShare
from traindyno.report.charts.phase_bars import COLORS, PhaseBar, phases_panel
from traindyno.report.charts.ratios import ratio_row, ratios_panel
from traindyno.report.charts.style import BLUE, GREEN, GREY, ORANGE, PALE_GREY, chart_title, finished
from traindyno.report.finalists import foretells_loss
from traindyno.report.wording import duration, known, one_line

STEP_TITLES = {
    BASELINE: "The baseline's step; that of what was found is not known",
    RECOMMENDED: "The step of what was found; the baseline's is not known",
}
"""Where only one of both is drawn."""
FINALISTS = "Speed end to end, against the baseline"
LEARNING = "Speed to the same loss, against the baseline; at another batch predicted"
ATTEMPTS = "Speed of each change, against what it was tried on"
WITHIN_MARK, OF_ONE = "*", "of one pair or one run"
LONGEST_MARKED = 46
"""Letters of a change whose mark a chart must not cut off with its end."""
ADOPTED, REJECTED, PREDICTED = "adopted", "not adopted", "predicted, not measured"
ATTEMPT_COLORS = {ADOPTED: GREEN, REJECTED: BLUE, PREDICTED: PALE_GREY}
OTHERS, UNCONFIRMED = "other finalists", "from single processes, not confirmed"
FINALIST_COLORS = {BASELINE: GREY, RECOMMENDED: GREEN, OTHERS: BLUE, UNCONFIRMED: ORANGE}


def find_chart(document: Document) -> dict[str, Any] | None:
    """All pictures below each other; null when there is nothing to draw."""
    answer: FindAnswer = document.answer
    panels = (
        _steps(answer),
        _finalists(answer, FINALISTS),
        _learning(answer),
        _attempts(answer, _attempts_title(answer)),
    )
    return _whole(document, f"Fastest settings for {one_line(answer.model, 50)}", panels)


def steps_chart(document: Document) -> dict[str, Any] | None:
    """The step before and after, as far as each was taken apart; null when neither was."""
    return _whole(document, _steps_title(document.answer), (_steps(document.answer),))


def finalists_chart(document: Document) -> dict[str, Any] | None:
    """How many times as fast as the baseline; null when nothing took part beside it."""
    answer, learning = document.answer, _learning(document.answer)
    if learning is None:
        return _whole(document, FINALISTS, (_finalists(answer),))
    return _whole(document, "Finalists", (_finalists(answer, FINALISTS), learning))


def attempts_chart(document: Document) -> dict[str, Any] | None:
    """Everything tried that has a ratio; null when nothing has."""
    return _whole(document, _attempts_title(document.answer), (_attempts(document.answer),))


def numbered(place: int, attempt: Attempt) -> str:
    """`3. compile=default`: by its number it is found in the table, whose mark it has."""
    if attempt.within_process:
        return f"{place}. {one_line(attempt.change, LONGEST_MARKED)} {WITHIN_MARK}"
    return f"{place}. {one_line(attempt.change, 56)}"


def _attempts_title(answer: FindAnswer) -> str:
    marked = any(attempt.within_process for attempt in answer.attempts)
    return f"{ATTEMPTS} ({WITHIN_MARK} {OF_ONE})" if marked else ATTEMPTS


def _steps(answer: FindAnswer) -> Any:
    bars = _step_bars(answer)
    return phases_panel(bars) if bars else None


def _step_bars(answer: FindAnswer) -> list[PhaseBar]:
    before = _bar(BASELINE, answer.step_before, answer.bound_before)
    after = _bar(RECOMMENDED, answer.step_after, answer.bound_after)
    return [bar for bar in (before, after if is_gain(answer) else None) if bar is not None]


def _steps_title(answer: FindAnswer) -> str:
    """What is drawn; of a gain also what is not, because no trial took it apart, or none that is believed."""
    if not is_gain(answer):
        return "The step"
    names = [bar.name for bar in _step_bars(answer)]
    return STEP_TITLES[names[0]] if len(names) == 1 else "The step before and after"


def _bar(name: str, parts: tuple[StepShare, ...], bound: str) -> PhaseBar | None:
    drawn = [part for part in parts if part.phase in COLORS and part.seconds > 0]
    if not drawn:
        return None
    return PhaseBar(
        name=name,
        seconds_per_example={part.phase: part.seconds_per_example for part in drawn},
        shares={part.phase: part.share for part in drawn},
        seconds_words=duration(sum(part.seconds_per_example for part in parts)),
        share_words=_bound_words(bound),
    )


def _bound_words(bound: str) -> str:
    """`data: decode` → `data-bound (decode)`, `compute, shared with the loader` → `compute-bound (shared …)`."""
    told = one_line(bound, 40)
    if told == UNSETTLED:
        return f"bound {UNSETTLED}"
    kind, _, more = told.partition(", " if ", " in told else ": ")
    return f"{kind}-bound{f' ({more})' if more else ''}"


def _finalists(answer: FindAnswer, title: str | None = None) -> Any:
    placed = [each for each in placed_finalists(answer) if known(each.finalist.speedup)]
    if len(placed) < 2:
        return None
    rows = [ratio_row(_label(each), each.finalist.speedup, each.finalist.speedup_ci95, _state(each)) for each in placed]
    return ratios_panel(rows, FINALIST_COLORS, title)


def _learning(answer: FindAnswer) -> Any:
    """The same by time to the same loss, where that is predicted."""
    placed = [each for each in placed_finalists(answer) if known(each.finalist.worth)]
    if not foretells_loss(answer) or len(placed) < 2:
        return None
    rows = [ratio_row(_label(each), each.finalist.worth, each.finalist.worth_ci95, _state(each)) for each in placed]
    return ratios_panel(rows, FINALIST_COLORS, LEARNING)


def _label(placed: Placed) -> str:
    return f"{placed.label} (batch {placed.finalist.batch_size})"


def _state(placed: Placed) -> str:
    if placed.label == BASELINE:
        return BASELINE
    if not placed.finalist.confirmed:
        return UNCONFIRMED
    return RECOMMENDED if placed.chosen else OTHERS


def _attempts(answer: FindAnswer, title: str | None = None) -> Any:
    rows = [row for place, each in enumerate(answer.attempts, start=1) if (row := _attempt_row(place, each))]
    return ratios_panel(rows, ATTEMPT_COLORS, title) if rows else None


def _attempt_row(place: int, attempt: Attempt) -> dict[str, Any] | None:
    """A prediction has no interval, and is drawn without one."""
    if attempt.ratio is None or not known(attempt.ratio):
        return None
    state = ADOPTED if attempt.adopted else PREDICTED if attempt.predicted else REJECTED
    interval = (attempt.ratio, attempt.ratio) if attempt.predicted else attempt.ci95
    return ratio_row(numbered(place, attempt), attempt.ratio, interval, state)


def _whole(document: Document, title: str, panels: tuple[Any, ...]) -> dict[str, Any] | None:
    import altair

    drawn = [panel for panel in panels if panel is not None]
    if not drawn:
        return None
    whole = altair.vconcat(*drawn, spacing=30).resolve_scale(x="independent", y="independent", color="independent")
    return finished(whole.properties(title=chart_title(document, title)))
