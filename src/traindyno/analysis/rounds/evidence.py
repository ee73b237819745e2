"""What fresh seeds say of one candidate against the incumbent, and the verdict that follows.

Scores are turned so that more is always better: a gain is above zero whether the metric is an accuracy or a loss.
"""

from traindyno.analysis.rounds.permutation import gain_interval, probability_of_gain
from traindyno.analysis.row_comparisons import Sample
from traindyno.core.answers.interval import Interval
from traindyno.core.answers.rounds import AdoptVerdict
from traindyno.core.base import Record


class Failures(Record, frozen=True):
    """How many runs of the incumbent and of a candidate failed, of as many seeds of each."""

    incumbent: int = 0
    candidate: int = 0
    seeds: int = 0

    @property
    def decide(self) -> bool:
        """Whether scores alone do not: some failed, and not simply all of both."""
        return 0 < self.incumbent + self.candidate < 2 * self.seeds


class Evidence(Record, frozen=True):
    """`p_value` is this candidate's alone, not yet corrected. Beyond either of `bounds` lies the look's error.

    `identical`: no run of the two differs from another. `spreadless`: seeds make no difference to either, so that all
    runs of one count as a single one, which has no interval.
    """

    gain: float
    ci95: Interval | None
    bounds: Interval
    p_value: float
    test: str
    variance: float
    identical: bool
    spreadless: bool


def evidence_of(incumbent: Sample, candidate: Sample, level: float) -> Evidence:
    """The comparison of two samples of at least two runs each."""
    spreadless = incumbent.parts is None and all(len(set(each.values)) == 1 for each in (incumbent, candidate))
    p_value, test = probability_of_gain(*(map(_once, (incumbent, candidate)) if spreadless else (incumbent, candidate)))
    return Evidence(
        gain=candidate.mean - incumbent.mean,
        ci95=None if spreadless else gain_interval(incumbent, candidate, 0.025),
        bounds=gain_interval(incumbent, candidate, level),
        p_value=p_value,
        test=test,
        variance=(incumbent.variance + candidate.variance) / 2,
        identical=len({*incumbent.values, *candidate.values}) == 1,
        spreadless=spreadless,
    )


def _once(sample: Sample) -> Sample:
    return Sample(label=sample.label, values=sample.values[:1])


def judge(
    evidence: Evidence, p_value: float, level: float, minimum_gain: float, failures: Failures | None = None
) -> AdoptVerdict:
    """The verdict on a candidate whose `p_value` is corrected for how many there are.

    What has no gain to show needs no proof against it: the incumbent is kept. Without a minimum gain there is no margin
    within which two could be called equal, unless no run differs. Where seeds make no difference at all, runs are no
    evidence of luck, however many there are.
    """
    low, high = evidence.bounds
    if failures is not None and failures.decide:
        return _judge_failing(evidence, p_value, level, minimum_gain, failures)
    if evidence.identical:
        return "equivalent"
    if evidence.spreadless:
        return "undecided"
    if p_value < level and evidence.gain >= minimum_gain:
        return "adopt"
    if -minimum_gain < low and high < minimum_gain:
        return "equivalent"
    return "keep" if evidence.gain <= 0 or high < minimum_gain else "undecided"


def _judge_failing(
    evidence: Evidence, p_value: float, level: float, minimum_gain: float, failures: Failures
) -> AdoptVerdict:
    """The verdict where runs failed, whose scores are made up: nothing is equal then.

    What fails more often than the incumbent is no better, whatever its other runs score. What fails less often gains
    at least what the scores say, so that a gain that is real needs no least size.
    """
    if failures.candidate > failures.incumbent:
        return "keep"
    price = minimum_gain if failures.candidate == failures.incumbent else 0.0
    if p_value < level and evidence.gain >= price and not evidence.spreadless:
        return "adopt"
    return "keep" if evidence.gain < 0 else "undecided"


def effect_to_show(evidence: Evidence, minimum_gain: float) -> float:
    """What more seeds would have to show: the gain itself, or else by how much it falls short of being worth it."""
    return evidence.gain if evidence.gain >= minimum_gain else minimum_gain - evidence.gain
