"""A decision on fresh seeds in sentences: the verdict first, then what it rests on and what it does not say."""

from collections.abc import Mapping, Sequence

from traindyno.analysis.rounds.adoption_pending import still_to_come
from traindyno.analysis.rounds.adoption_remarks import known, remarks
from traindyno.analysis.rounds.adoption_runs import CandidateRuns
from traindyno.analysis.rounds.power import MOST_SEEDS
from traindyno.analysis.rounds.target_effect import effect_sentences
from traindyno.analysis.rounds.words import amount, change_words, figure, metric_of
from traindyno.core.answers.rounds import AdoptAnswer, CandidateRow
from traindyno.core.requests import AdoptRequest
from traindyno.core.resuming import adopt_command
from traindyno.core.rounds import RoundMetric
from traindyno.core.units import count_of


def adoption_verdicts(
    answer: AdoptAnswer,
    request: AdoptRequest,
    runs: Sequence[CandidateRuns],
    *,
    spreadless: bool,
    told_apart: Sequence[str] = (),
) -> tuple[str, ...]:
    """`spreadless`: of some candidate and the incumbent all runs score the same, whatever their seed.

    `told_apart` are those that the winner is shown to be better than.
    """
    if not all(each.complete for each in runs):
        return still_to_come(request, runs)
    winner = next(row for row in answer.rows if row.label == answer.winner)
    return (
        _decision(answer, winner),
        *_open(answer, winner, request, spreadless=spreadless),
        *_below_the_price(answer, winner),
        *_other_rows(answer),
        *effect_sentences(answer),
        *remarks(answer, winner, request, told_apart=told_apart),
    )


def further_look(answer: AdoptAnswer, request: AdoptRequest, moved: Mapping[str, str] | None = None) -> str:
    """What to type for as many seeds as would about decide it; `moved` says where the user's code lies now."""
    options = ["--seeds", f"{answer.needed_seeds}", *(["--despite-checks"] if answer.failed_checks else [])]
    return adopt_command(request.round, *options, study=request.round_study, moved=moved)


def _decision(answer: AdoptAnswer, winner: CandidateRow) -> str:
    compared = _compared(answer, winner)
    if answer.verdict == "adopt":
        return f"Adopt {winner.label}: {compared}."
    if answer.verdict == "keep":
        return f"Keep the incumbent, for {_why_kept(answer, winner)}: {compared}."
    if answer.verdict == "equivalent":
        taken = winner.label if answer.configuration == winner.configuration else "the incumbent"
        return f"Equivalent, so the simpler is taken, {taken}: {compared}."
    return f"Undecided, so the incumbent stays: {compared}."


def _why_kept(answer: AdoptAnswer, winner: CandidateRow) -> str:
    incumbent = answer.rows[0]
    if winner.failed > incumbent.failed:
        return (
            f"{winner.failed} of {len(winner.scores)} runs of {winner.label} failed, and {incumbent.failed} of its own"
        )
    if known(winner.gain) > 0:
        return "no gain that would be worth its price can be left"
    is_worse = winner.ci95 is not None and winner.ci95[1] <= 0
    return (
        "the best of the others is worse"
        if is_worse
        else "none of the others shows a gain, which proves not that none has"
    )


def _compared(answer: AdoptAnswer, winner: CandidateRow) -> str:
    incumbent, metric = answer.rows[0], metric_of(answer)
    scores = {*winner.scores, *incumbent.scores}
    if len(scores) == 1 and not winner.failed and not incumbent.failed:
        return f"every run of both has {metric.name} {figure(scores.pop(), metric)}"
    gain = known(winner.gain)
    at_least = "at least " if gain >= 0 and incumbent.failed > winner.failed else ""
    return (
        f"{winner.label} has {metric.name} {_mean(winner, metric)} and the incumbent "
        f"{_mean(incumbent, metric)} over {count_of(answer.seeds, 'fresh seed')} of each, "
        f"{change_words(gain, winner.ci95, metric, at_least)}; "
        f"p = {winner.p_value:.2g} by {_test(winner)}, where less than {answer.level:.3g} is asked for"
    )


def _mean(row: CandidateRow, metric: RoundMetric) -> str:
    return "none, as every run failed," if row.mean is None else figure(row.mean, metric)


def _test(row: CandidateRow) -> str:
    return "Welch's test" if row.test == "Welch" else "the exact permutation test"


def _open(answer: AdoptAnswer, winner: CandidateRow, request: AdoptRequest, *, spreadless: bool) -> list[str]:
    """What would decide it."""
    if answer.verdict != "undecided":
        return []
    if spreadless and len(set(winner.scores)) == 1:
        return [
            "All runs of each score exactly the same, whatever their seed: if the job does not use its seed, more runs "
            "prove nothing. Let it begin with other weights and another order for every seed."
        ]
    if answer.needed_seeds is not None:
        more = count_of(answer.needed_seeds - answer.seeds, "more seed")
        return [
            f"It needs about {more} of each, if the gain is as large as it looks (`{further_look(answer, request)}`)."
        ]
    if answer.minimum_gain == 0:
        return [
            f"No reasonable number of seeds (up to {MOST_SEEDS}) would tell them apart. Say in the next round's file "
            "what a change must gain to be worth having (`minimum_gain`), and two can be shown to be equal."
        ]
    return [f"No reasonable number of seeds (up to {MOST_SEEDS}) would decide it: treat them as equal."]


def _below_the_price(answer: AdoptAnswer, winner: CandidateRow) -> list[str]:
    real = winner.p_value is not None and winner.p_value < answer.level
    if answer.verdict == "adopt" or not real or winner.gain is None or winner.gain >= answer.minimum_gain:
        return []
    return [
        f"The gain is real, but below the {amount(answer.minimum_gain, metric_of(answer))} that a change must be worth."
    ]


def _other_rows(answer: AdoptAnswer) -> list[str]:
    others, metric = [row for row in answer.rows[1:] if row.label != answer.winner], metric_of(answer)
    return [
        f"{row.label} against the incumbent: {change_words(known(row.gain), row.ci95, metric)}, p = {row.p_value:.2g}."
        for row in others
    ]
