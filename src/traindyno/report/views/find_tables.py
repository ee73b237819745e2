"""The tables of `find`: the finalists, what changes, and where the time went."""

import math

from traindyno.analysis.find.beside import baseline_beside, rates_agree
from traindyno.analysis.find.placed import Placed, is_gain, other_batch, placed_finalists
from traindyno.core.answers import Finalist, FindAnswer, Remedy, TimeSpent
from traindyno.report.finalists import differences, foretells_loss, in_order, setting_of, value_of
from traindyno.report.view import Column, Row, Table
from traindyno.report.wording import (
    batch,
    count,
    duration,
    known,
    one_line,
    rate,
    rate_interval,
    ratio_interval,
    share,
    signed_percent,
    size,
)

FINALIST_COLUMNS = (
    Column(heading="way to train", right=False, narrow="way\nto train"),
    Column(heading="batch size", narrow="batch\nsize"),
    Column(heading="throughput", unit="examples per second", narrow="throughput\n(examples/s)"),
    Column(heading="speed", unit="95 % interval", narrow="speed\n(95 %)"),
    Column(heading="memory"),
    Column(heading="workers"),
)
LEARNING_COLUMNS = (
    *FINALIST_COLUMNS[:3],
    Column(heading="speed"),
    Column(heading="examples needed", narrow="examples\nneeded"),
    Column(heading="speed to the same loss", unit="predicted, 95 % interval", narrow="to the same loss\n(predicted)"),
    *FINALIST_COLUMNS[4:],
)
UNSTEADY, UNSTEADY_WORDS = "(!)", "(!) a trial of it did not become steady, or two of them disagree"
"""Beside a rate, and below the table."""
GROUNDS_WORDS = "run: end to end, beside what was held; pairs: of steps that take turns; rule: not tried by itself"
SPENT_COLUMNS = (
    Column(heading="part of the search", right=False),
    Column(heading="trials"),
    Column(heading="took"),
    Column(heading="share"),
)
OFFER_COLUMNS = (
    Column(heading="offered, not used", right=False),
    Column(heading="predicted speed"),
    Column(heading="allow it with", right=False),
)


def finalists_table(answer: FindAnswer) -> tuple[Table, ...]:
    """By speed; where the noise of the gradients is known, by that to the same loss too."""
    placed = placed_finalists(answer)
    fastest = max((each.finalist.worth for each in placed if known(each.finalist.worth)), default=1.0)
    learning = foretells_loss(answer)
    rows = tuple(_finalist_row(each, fastest, learning) for each in placed)
    legend = tuple(line for each in placed for line in _finalist_notes(answer, each))
    legend += () if all(each.finalist.steady for each in placed) else (UNSTEADY_WORDS,)
    columns = LEARNING_COLUMNS if learning else FINALIST_COLUMNS
    return (Table(columns=columns, rows=rows, legend=legend, bar_column=5 if learning else 3),)


def changes_table(answer: FindAnswer) -> tuple[Table, ...]:
    """What to change and what speaks for it, and the same for the other batch where it differs from that."""
    other = other_batch(answer)
    ways = [answer.recommended, *([] if other is None else [other.finalist])]
    changed = {name for way in ways for name in way.changes}
    names = [name for name in in_order(answer.baseline.settings) if name in changed]
    compared = "baseline → recommended" if is_gain(answer) else "baseline"
    columns = [Column(heading="setting", right=False), Column(heading=compared, right=False)]
    columns += [] if other is None else [Column(heading=other.label, right=False)]
    told = any(way.rests_on for way in ways)
    columns += [Column(heading="rests on", right=False)] if told else []
    cells = [_change_cells(answer, name, None if other is None else other.finalist) for name in names]
    grounds = [(_grounds(ways, name),) if told else () for name in names]
    rows = tuple(Row(cells=(*each, *words)) for each, words in zip(cells, grounds, strict=True))
    legend = (GROUNDS_WORDS,) if told else ()
    return (Table(columns=tuple(columns), rows=rows, title="What changes", legend=legend),) if names else ()


def spent_table(answer: FindAnswer) -> tuple[Table, ...]:
    whole = sum(part.seconds for part in answer.spent)
    rows = tuple(_spent_row(part, whole) for part in answer.spent)
    trials = f"{duration(whole)} in {count(answer.trials)} {'simulated ' if answer.simulated else ''}trials"
    legend = (f"{trials}; the whole search took {duration(answer.seconds)}",)
    return (Table(columns=SPENT_COLUMNS, rows=rows, legend=legend, bar_column=0),) if rows else ()


def offers_table(answer: FindAnswer) -> tuple[Table, ...]:
    width = 3 if any(offer.command for offer in answer.offered) else 2
    rows = tuple(Row(cells=_offer_cells(offer)[:width]) for offer in answer.offered)
    return (Table(columns=OFFER_COLUMNS[:width], rows=rows),) if rows else ()


def speed_words(ratio: float | None) -> str:
    """`1.03×`."""
    return f"{ratio:.2f}×" if ratio is not None and known(ratio) else "n/a"


def speed_interval(ratio: float | None, interval: tuple[float, float] | None) -> str:
    """`1.84× (1.82 to 1.86)`; one whose interval has no end may be anything, and does not stand there as if exact."""
    unbounded = interval is not None and interval[1] == math.inf
    return f"{speed_words(ratio)} ± over 100 %" if unbounded else ratio_interval(ratio, interval)


def way_cells(label: str, finalist: Finalist) -> tuple[str, ...]:
    """A way to train in the columns of finalists."""
    return (
        label,
        batch(finalist.batch_size),
        rate_interval(finalist.examples_per_second, finalist.ci95) + ("" if finalist.steady else f" {UNSTEADY}"),
        speed_interval(finalist.speedup, finalist.speedup_ci95) if finalist.changes else speed_words(finalist.speedup),
        size(finalist.peak_memory_bytes),
        setting_of(finalist, "num_workers"),
    )


def _finalist_row(placed: Placed, fastest: float, learning: bool) -> Row:
    worth = placed.finalist.worth
    bar = worth / fastest if known(worth) else None
    cells = (_learning_cells if learning else way_cells)(placed.label, placed.finalist)
    return Row(cells=cells, tone="chosen" if placed.chosen else "plain", bar=bar)


def _learning_cells(label: str, finalist: Finalist) -> tuple[str, ...]:
    cells = way_cells(label, finalist)
    sooner = speed_interval(finalist.worth, finalist.worth_ci95) if finalist.changes else speed_words(finalist.worth)
    return (*cells[:3], speed_words(finalist.speedup), speed_words(finalist.examples_needed), sooner, *cells[4:])


def _finalist_notes(answer: FindAnswer, placed: Placed) -> tuple[str, ...]:
    """How it differs from what is recommended, what that saves, what was predicted, whether the rounds were run."""
    finalist, predicted = placed.finalist, placed.finalist.predicted_examples_per_second
    notes = [] if placed.known_by_label else [f"with {differences(finalist, answer.recommended)}"]
    notes += [f"saves {_listed(finalist.cheaper_in)}"] if finalist.cheaper_in else []
    if predicted is not None and known(predicted) and finalist.examples_per_second > 0:
        miss = signed_percent(predicted / finalist.examples_per_second - 1)
        notes.append(f"predicted {rate(predicted)} examples/s ({miss})")
    notes += rates_apart(answer.baseline, finalist)
    if not finalist.confirmed and finalist.changes:
        notes.append(f"not confirmed, from {_processes(finalist.processes)}, its interval within one process")
    return (f"{placed.label}: {'; '.join(notes)}",) if notes else ()


def rates_apart(baseline: Finalist, finalist: Finalist) -> list[str]:
    """Where runs differ much, the middle of their ratios is not the ratio of the rates in the middle."""
    if rates_agree(baseline, finalist):
        return []
    ratio, beside = finalist.examples_per_second / baseline.examples_per_second, baseline_beside(baseline, finalist)
    rounds = "the middle of its rounds, each against the baseline beside it"
    speed = rounds if finalist.confirmed else "against a single run of the baseline"
    counts = f"beside it the baseline counts as {rate(beside)} examples/s"
    return [f"its speed is {speed}; the rates give {ratio:.2f}×, and {counts}"]


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(one_line(name) for name in names)


def _processes(number: int) -> str:
    return "a single process" if number == 1 else f"{count(number)} processes"


def _change_cells(answer: FindAnswer, name: str, other: Finalist | None) -> tuple[str, ...]:
    before, after = value_of(answer.baseline, name), value_of(answer.recommended, name)
    cells = [one_line(name), setting_of(answer.baseline, name)]
    cells[1] += "" if before == after else f" → {setting_of(answer.recommended, name)}"
    if other is not None:
        cells.append("" if value_of(other, name) == after else setting_of(other, name))
    return tuple(cells)


def _grounds(ways: list[Finalist], name: str) -> str:
    """Of the first way that changes it; an answer from before these were told says nothing."""
    return next((one_line(way.rests_on.get(name, ""), 200) for way in ways if name in way.changes), "")


def _spent_row(part: TimeSpent, whole: float) -> Row:
    of_all = part.seconds / whole if whole > 0 else None
    cells = (one_line(part.part), count(part.trials), duration(part.seconds), share(of_all))
    return Row(cells=cells, bar=of_all)


def _offer_cells(offer: Remedy) -> tuple[str, ...]:
    command = one_line(offer.command or "", 400)
    return one_line(offer.action, 200), speed_words(offer.predicted_speedup), command
