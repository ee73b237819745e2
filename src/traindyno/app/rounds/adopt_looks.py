"""At how many fresh seeds of each a proof is looked at: what was seen stays seen, and what was adopted stands."""

from collections.abc import Sequence

from traindyno.analysis.rounds.adoption import conclude_adoption
from traindyno.analysis.rounds.adoption_runs import completed_looks
from traindyno.analysis.rounds.power import fewest_seeds, level_of_look
from traindyno.core.errors import UsageError
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AdoptRequest


def looks_of(before: AdoptRequest, records: Sequence[TrialRecord], seeds: int | None) -> tuple[int, ...]:
    """The numbers of seeds at which is looked. What was not decided on, because runs were missing, was no look."""
    seen = completed_looks(before, records)
    if seen and seeds != seen[-1]:
        _check_further(before, records, seen, seeds)
    if seeds is None or seeds == before.looks[-1]:
        return before.looks
    return seen if seen and seeds == seen[-1] else (*seen, seeds)


def _check_further(
    before: AdoptRequest, records: Sequence[TrialRecord], seen: tuple[int, ...], seeds: int | None
) -> None:
    """What was adopted stands, whatever further runs would say; and nobody looks again at fewer seeds."""
    answer = conclude_adoption(before, records, seconds=0.0, simulated=False)
    if answer.verdict == "adopt" and (seeds or before.looks[-1]) != seen[-1]:
        raise UsageError(
            f"{answer.winner} was adopted in {before.round_study} on {seen[-1]} seeds of each, and that stands",
            f"go on with `traindyno round next {before.round_study}`",
        )
    if seeds is not None and seeds < seen[-1]:
        raise UsageError(
            f"{before.round_study} was looked at with {seen[-1]} seeds of each, and what was seen cannot be unseen",
            f"give --seeds {seen[-1] + 1} or more, or leave it away",
        )


def check_price(before: AdoptRequest | None, records: Sequence[TrialRecord], minimum_gain: float | None) -> None:
    """A price that is said once the result is known would be the one that suits it."""
    judged_by = None if before is None else before.round.minimum_gain
    if before is None or minimum_gain in (None, judged_by) or not completed_looks(before, records):
        return
    raise UsageError(
        f"{before.round_study} was judged with a minimum gain of {judged_by:g}, and what a change must be worth is "
        "said before its runs are seen",
        "leave --minimum-gain away; another round can have another price: `minimum_gain` in its file",
    )


def check_seeds(looks: Sequence[int], tests: int) -> None:
    """Seeds that could prove nothing are refused before they are run."""
    fewest = fewest_seeds(level_of_look(len(looks) - 1), tests)
    if looks[-1] < fewest:
        against = "one candidate" if tests == 1 else f"{tests} candidates"
        raise UsageError(
            f"with {looks[-1]} seeds of each not even the clearest gain of {against} could be told from luck",
            f"give --seeds {fewest} or more",
        )
