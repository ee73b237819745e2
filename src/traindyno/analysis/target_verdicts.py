"""Times to a target in sentences."""

import math
from collections.abc import Iterator, Sequence

from traindyno.analysis.survival import FEWEST_FOR_INTERVAL, median_time
from traindyno.analysis.target_runs import Entrant
from traindyno.analysis.target_standing import BEHIND, NOT_TOLD_APART, TOO_NEAR, Standing
from traindyno.analysis.training import NEVER_FINITE
from traindyno.core.answers import TargetRow
from traindyno.core.learning import Target
from traindyno.core.units import format_percent, format_seconds

START_SHARE = 0.1
"""The first step is worth a word from this share of the time on."""
COARSE = 0.2
"""A time is coarse where more than this share of it lies between two evaluations."""


def target_words(target: Target) -> str:
    """`accuracy 0.97`."""
    return f"{target.metric} {target.value:g}"


def target_verdicts(
    target: Target, entrants: Sequence[Entrant], rows: Sequence[TargetRow], time: Standing, examples: Standing
) -> tuple[str, ...]:
    """Who is first comes first."""
    return (
        *_first(target, entrants, rows, time),
        *_examples(rows, examples, time),
        *_misses(target, entrants, rows),
        *_too_easy(entrants),
        *_first_step(entrants, time),
        *_resolution(entrants, time),
        *_few_seeds(rows),
    )


def _first(target: Target, entrants: Sequence[Entrant], rows: Sequence[TargetRow], time: Standing) -> Iterator[str]:
    by_label = {row.label: row for row in rows}
    if time.leader is None:
        yield _nobody(target, entrants, rows)
        return
    leader = by_label[time.leader]
    seconds = format_seconds(leader.median_seconds)
    if not time.comparisons:
        alone = "" if len(rows) == 1 else "; nothing else could be run"
        yield f"{time.leader} reaches {target_words(target)} in {seconds} of training{alone}."
    elif time.winner is not None:
        others = [_times(by_label[each.second], leader) for each in time.comparisons]
        yield f"{time.winner} reaches {target_words(target)} first, in {seconds} of training; {_listed(others)}."
    else:
        yield _undecided(time, leader.seeds, _finer(entrants))


def _nobody(target: Target, entrants: Sequence[Entrant], rows: Sequence[TargetRow]) -> str:
    """The median run of no contender was there: the target, or the length of a run, is at fault."""
    best = [row for row in rows if row.best_metric is not None]
    if not best or all(each.never_finite == len(each.runs) for each in entrants):
        return f"No run reached {target_words(target)}."
    pick = max if target.metric == "accuracy" else min
    row = pick(best, key=lambda each: each.best_metric or 0.0)
    some = any(each.reached for each in rows)
    who = "None of these ways reaches" if some else "No run reached"
    how = " in half of its runs" if some else ""
    return (
        f"{who} {target_words(target)}{how}; the best seen was {row.best_metric:.4g}, with {row.label}. "
        "Ask for less, or let runs be longer with --epochs."
    )


def _undecided(time: Standing, seeds: int, finer: str) -> str:
    """Why there is no winner, reason by reason."""
    leader, told = str(time.leader), []
    if behind := time.others(BEHIND):
        told.append(
            f"There is no winner: {leader} has the shortest median, but {_listed(behind)} "
            "is sooner on the whole, with fewer misses."
        )
    if equals := time.others(NOT_TOLD_APART):
        some = f"{seeds} seed{'' if seeds == 1 else 's'}"
        more = "no sensible number would do" if time.needed_seeds is None else f"about {time.needed_seeds} would do"
        told.append(f"{_listed([leader, *equals])} cannot be told apart in time with {some}; {more}.")
    if near := time.others(TOO_NEAR):
        told.append(f"{_listed([leader, *near])} differ by less than lies between two evaluations{finer}.")
    return " ".join(told)


def _times(row: TargetRow, leader: TargetRow) -> str:
    ratio = row.median_seconds / leader.median_seconds
    return f"{row.label} takes {ratio:.2f} times as long" if math.isfinite(ratio) else f"{row.label} misses it"


def _examples(rows: Sequence[TargetRow], examples: Standing, time: Standing) -> Iterator[str]:
    if len(rows) < 2 or examples.leader is None:
        return
    row = next(each for each in rows if each.label == examples.leader)
    if examples.winner is not None:
        also = " as well" if examples.winner == time.winner else ""
        yield f"{examples.winner} needs the fewest examples{also}: {row.examples:,.0f}."
    elif equals := [*examples.others(NOT_TOLD_APART), *examples.others(TOO_NEAR)]:
        yield f"In examples, {_listed([examples.leader, *equals])} cannot be told apart."


def _misses(target: Target, entrants: Sequence[Entrant], rows: Sequence[TargetRow]) -> Iterator[str]:
    """Every contender that missed, how near it came, and why, as far as that is known."""
    never = {each.label: each.never_finite for each in entrants}
    for row in rows:
        if row.reached < row.seeds:
            missed = f"{row.label} missed the target in {row.seeds - row.reached} of {row.seeds} runs"
            best = "" if row.best_metric is None else f"; the best {target.metric} it showed was {row.best_metric:.4g}"
            yield f"{missed}, which count as infinite{best}{''.join(_reasons(row, never[row.label]))}."


def _reasons(row: TargetRow, never_finite: int) -> Iterator[str]:
    if row.diverged > never_finite:
        yield f"; {row.diverged - never_finite} diverged, so its learning rate is too high"
    if never_finite:
        look = NEVER_FINITE[0].lower() + NEVER_FINITE[1:-1]
        yield f"; in {never_finite} the loss was no number from the first step on: {look}"
    if row.missing:
        yield f"; {row.missing} could not be run: {row.failure}"


def _too_easy(entrants: Sequence[Entrant]) -> Iterator[str]:
    easy = [each.label for each in entrants if each.first_evaluations * 2 >= len(each.runs)]
    if easy:
        yield (
            f"The target is too easy for {_listed(easy)}: met at the first evaluation, so nobody knows when. "
            f"Ask for more{_finer(entrants)}."
        )


def _first_step(entrants: Sequence[Entrant], time: Standing) -> Iterator[str]:
    """Short runs are mostly start: what wins there need not win where training goes on for long."""
    leader = next((each for each in entrants if each.label == time.leader), None)
    if leader is None or leader.first_step_seconds is None:
        return
    share = leader.first_step_seconds / median_time(leader.seconds.seen)
    if share > START_SHARE:
        told = f"{format_percent(min(share, 1.0), 0)} of {leader.label}'s time"
        yield f"The first step, which allocates and compiles, is {told}: longer training pays it only once as well."


def _resolution(entrants: Sequence[Entrant], time: Standing) -> Iterator[str]:
    leader = next((each for each in entrants if each.label == time.leader), None)
    if leader is None or leader.resolution_seconds is None:
        return
    share = leader.resolution_seconds / median_time(leader.seconds.seen)
    advice = f" That is coarse{_finer(entrants)}." if share > COARSE else ""
    way = f"{format_percent(share, 0)} of {leader.label}'s way to the target"
    yield (
        f"Runs were evaluated every {_every(entrants):,} examples, {way}: "
        f"what differs by less cannot be told apart.{advice}"
    )


def _finer(entrants: Sequence[Entrant]) -> str:
    """What to type for closer evaluations, as far as the largest batch allows any."""
    largest = max(each.spec.settings.batch_size for each in entrants)
    finer = max(largest, _every(entrants) // 4)
    return f"; give --eval-examples {finer}" if finer < _every(entrants) else f"; a batch of {largest} allows no more"


def _every(entrants: Sequence[Entrant]) -> int:
    recipe = entrants[0].spec.recipe
    assert recipe is not None
    assert recipe.evaluation_examples is not None
    return recipe.evaluation_examples


def _few_seeds(rows: Sequence[TargetRow]) -> Iterator[str]:
    if rows[0].seeds < FEWEST_FOR_INTERVAL:
        yield f"With fewer than {FEWEST_FOR_INTERVAL} seeds a median has no 95 % interval: give --seeds more."


def _listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
