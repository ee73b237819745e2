"""Tables of a round below its checks and arms: importance, proposals and the best runs."""

from traindyno.core.answers import Importance, RangeProposal, RoundAnswer
from traindyno.core.answers.rounds import ProposalKind
from traindyno.core.rounds import RoundTrial
from traindyno.report.charts.rounds_runs import ENDINGS, searched_runs, value_text, values_text
from traindyno.report.charts.rounds_scores import Scores, round_scores
from traindyno.report.view import Column, Row, Table
from traindyno.report.views.rounds_arms import arm_column, arm_words
from traindyno.report.wording import duration, known, one_line, share, share_interval

MOST_BEST_RUNS = 5
"""Beside the best of each arm."""
STABLE = "Stable in: the share of resamples of the runs in which it stays on the same side of what chance explains"
FLATTERED = "Best of many, so flattered: fresh seeds of `traindyno round adopt` are the evidence"
BEGUN = "One seed each; the gate of the next round shows how far seeds differ"
KINDS: dict[ProposalKind, str] = {
    "widen": "widen",
    "narrow": "narrow",
    "fix": "fix",
    "keep": "keep",
    "add_trials": "add trials",
}
PROPOSAL_COLUMNS = (
    Column(heading="parameter", right=False),
    Column(heading="next round", right=False),
    Column(heading="why", right=False),
)


def importance_table(answer: RoundAnswer) -> tuple[Table, ...]:
    several = len({each.arm for each in answer.importance}) > 1
    columns = (
        Column(heading="parameter", right=False),
        *([arm_column(answer)] if several else []),
        Column(heading="explains", unit="95 % interval", narrow="explains\n(95 %)"),
        Column(heading="stable in"),
        Column(heading="important", right=False),
    )
    ordered = sorted(answer.importance, key=lambda each: -each.importance)
    rows = tuple(_importance_row(answer, each, several) for each in ordered)
    title = "Importance of the searched parameters"
    return (Table(columns=columns, rows=rows, title=title, legend=(STABLE,)),) if rows else ()


def proposals_table(answer: RoundAnswer) -> tuple[Table, ...]:
    rows = tuple(
        Row(cells=(one_line(each.parameter, 60), _proposed(each), one_line(each.reason, 300)))
        for each in answer.proposals
    )
    return (Table(columns=PROPOSAL_COLUMNS, rows=rows, title="Proposed for the next round"),) if rows else ()


def best_runs_table(answer: RoundAnswer) -> tuple[Table, ...]:
    """The best of all runs, and that of each arm."""
    scores = round_scores(answer)
    columns = (
        Column(heading="#"),
        Column(heading=scores.name),
        *([arm_column(answer)] if answer.target else []),
        Column(heading="with", right=False),
        Column(heading="took"),
        Column(heading="run", right=False),
    )
    rows = tuple(_run_row(answer, scores, place, run) for place, run in _best_runs(answer, scores))
    legend = BEGUN if answer.goal == "initial" else FLATTERED
    return (Table(columns=columns, rows=rows, title="The best runs", legend=(legend,)),) if rows else ()


def _importance_row(answer: RoundAnswer, each: Importance, several: bool) -> Row:
    told = {True: "yes", False: "no", None: "not clear"}[each.is_important]
    explains = f"{share(each.importance)} ({share_interval(each.ci95)})" if all(map(known, each.ci95)) else "n/a"
    arm = (arm_words(answer, each.arm),) if several else ()
    cells = (one_line(each.parameter, 60), *arm, explains, share(each.stable), told)
    return Row(cells=cells, tone="good" if each.is_important else "plain")


def _proposed(each: RangeProposal) -> str:
    """`narrow: 0.03 to 0.6`, `fix: 0`, `keep`."""
    ends = "" if each.low is None or each.high is None else f"{each.low:.4g} to {each.high:.4g}"
    choices = ", ".join(value_text(value) for value in each.values)
    value = "" if each.value is None else value_text(each.value)
    told = next((text for text in (ends, choices, value) if text), "")
    return f"{KINDS[each.kind]}: {one_line(told, 120)}" if told else KINDS[each.kind]


def _best_runs(answer: RoundAnswer, scores: Scores) -> list[tuple[int, RoundTrial]]:
    sign = -1 if scores.higher_is_better else 1
    scored = [run for run in searched_runs(answer) if run.inside and run.feasible and known(run.score)]
    ranked = list(enumerate(sorted(scored, key=lambda run: sign * (run.score or 0.0)), start=1))
    first = {run.draw.arm: place for place, run in reversed(ranked)}
    return [(place, run) for place, run in ranked if place <= MOST_BEST_RUNS or place in first.values()]


def _run_row(answer: RoundAnswer, scores: Scores, place: int, run: RoundTrial) -> Row:
    values = {name: value for name, value in run.draw.values.items() if name != answer.target}
    cells = (
        str(place),
        scores.words(run.score),
        *([arm_words(answer, run.draw.arm)] if answer.target else []),
        one_line(values_text(values), 400),
        duration(run.seconds),
        f"{run.draw.phase} {run.draw.index}" + (f", {ENDINGS[run.ending]}" if run.ending != "ok" else ""),
    )
    return Row(cells=cells, tone="chosen" if place == 1 else "plain")
