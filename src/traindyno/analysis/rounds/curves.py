"""What the learning curves of the best runs say of a round: whether their ends can be compared at all."""

from collections.abc import Callable, Mapping, Sequence

from traindyno.analysis.rounds.arms import runs_by_arm
from traindyno.analysis.rounds.curve_shapes import FEWEST_PLACES, CurveShape, shape_of
from traindyno.analysis.rounds.spread import lead_of, seed_spread
from traindyno.analysis.rounds.trials import best_first, sign
from traindyno.analysis.rounds.words import amount, arm_words, listed
from traindyno.core.answers.rounds import Check
from traindyno.core.rounds import Round, RoundTrial

BEST_RUNS = 3
"""Of each arm; what most of them show is said of it."""
Shapes = Mapping[str, Sequence[CurveShape]]


def curve_checks(round: Round, trials: Sequence[RoundTrial]) -> tuple[Check, ...]:
    """One check for each thing that curves can show, over the best runs of every arm."""
    searched = runs_by_arm(round, trials)
    tolerance = max((seed_spread(trials) or 0.0) / 2, round.minimum_gain)
    shapes = {arm: found for arm, runs in searched.items() if (found := _shapes(round, runs, tolerance))}
    if not shapes:
        return (_unknown(round),) if any(searched.values()) else ()
    return (
        _overfitting(round, shapes),
        _length(round, shapes),
        _best_step(round, shapes),
        _swings(round, trials, shapes),
    )


def _shapes(round: Round, runs: Sequence[RoundTrial], tolerance: float) -> list[CurveShape]:
    whole = [each for each in best_first(round.metric, runs) if each.ending == "ok"]
    found = [shape_of(each.curve, sign(round.metric), tolerance) for each in whole[:BEST_RUNS]]
    return [shape for shape in found if shape is not None]


def _unknown(round: Round) -> Check:
    more = (
        "tell points on its way"
        if round.job.function
        else "train longer (epochs), or be evaluated more often (evaluation_examples)"
    )
    return Check(
        name="curves",
        state="unknown",
        text=f"The best runs have fewer than {FEWEST_PLACES} evaluations each: their curves say nothing.",
        next_step=f"Let the job {more}.",
    )


def _most(shapes: Shapes, read: Callable[[CurveShape], float | None]) -> dict[str, float]:
    """The arms most of whose best runs show something, with the middle one of their figures."""
    found = {arm: sorted(value for each in runs if (value := read(each)) is not None) for arm, runs in shapes.items()}
    return {arm: values[len(values) // 2] for arm, values in found.items() if 2 * len(values) > len(shapes[arm])}


def _where(round: Round, arms: Mapping[str, float]) -> str:
    named = [arm_words(round, arm) for arm in arms if arm]
    return f" ({listed(named)})" if named else ""


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _overfitting(round: Round, shapes: Shapes) -> Check:
    name, found = "overfitting", _most(shapes, lambda each: each.overfits_from)
    if not found:
        return Check(name=name, state="passed", text="The loss on other examples does not rise again in the best runs.")
    return Check(
        name=name,
        state="warning",
        text=f"The best runs overfit{_where(round, found)}: the loss on other examples rises from about "
        f"{_percent(min(found.values()))} of the run on, while the training loss still falls.",
        next_step="Make the strength of regularisation (weight_decay, label_smoothing, dropout) a nuisance of the next "
        "round, or make runs shorter.",
    )


def _length(round: Round, shapes: Shapes) -> Check:
    """Too short, long enough, or longer than needed."""
    name, improving = "run length", _most(shapes, lambda each: each.improving)
    if improving:
        gain = amount(max(improving.values()), round.metric)
        return Check(
            name=name,
            state="warning",
            text=f"The best runs still improve when they end{_where(round, improving)}, by {gain} in the last quarter: "
            "longer ones may rank otherwise.",
            next_step=_longer(round),
        )
    saturated = _most(shapes, lambda each: each.saturated_at)
    if len(saturated) == len(shapes):
        return Check(
            name=name,
            state="passed",
            text=f"The best runs change no more after {_percent(max(saturated.values()))} of their length.",
            next_step="Shorter runs would do to explore; leave the last round its length.",
        )
    return Check(name=name, state="passed", text="The best runs have settled when they end.")


def _longer(round: Round) -> str:
    for field in ("steps", "epochs"):
        length = round.job.values.get(field)
        if isinstance(length, int | float) and not isinstance(length, bool):
            return f"Set {field} = {type(length)(1.5 * length):g} under [job] in a new round, before arms are believed."
    return "Make runs half as long again in a new round, before arms are believed."


def _decay(round: Round) -> str:
    """A job of the user's own decays its rate in its own way."""
    return "Let the job's rate decay" if round.job.function else 'Let the rate decay (schedule = "cosine")'


def _best_step(round: Round, shapes: Shapes) -> Check:
    name, lost = "best step", _most(shapes, lambda each: each.lost)
    if not lost:
        return Check(name=name, state="passed", text="The best runs end about as well as they ever were.")
    at = _most({arm: shapes[arm] for arm in lost}, lambda each: each.best_at)
    less = amount(max(lost.values()), round.metric)
    return Check(
        name=name,
        state="warning",
        text=f"The best runs were better before their end{_where(round, lost)}: by {less}, at about "
        f"{_percent(min(at.values()))} of their length.",
        next_step=f"{_decay(round)}, make runs shorter, or regularise more.",
    )


def _swings(round: Round, trials: Sequence[RoundTrial], shapes: Shapes) -> Check:
    """Swings of the last quarter against what arms differ by: then an end is luck."""
    name, lead = "late swings", lead_of(round, trials)
    largest = max(_most(shapes, lambda each: each.swing).values())
    told = f"The best runs swing by {amount(largest, round.metric)} in their last quarter"
    if lead is None or largest <= lead.difference:
        than = "." if lead is None else f", and the best two arms differ by {amount(lead.difference, round.metric)}."
        return Check(name=name, state="passed", text=f"{told}{than}")
    return Check(
        name=name,
        state="warning",
        text=f"{told}, more than the best two arms differ by ({amount(lead.difference, round.metric)}).",
        next_step=f"{_decay(round)}, or evaluate on more examples; fresh seeds must decide.",
    )
