"""What is concluded about a tuning round: checks first, then effects, then what is adopted on which evidence."""

from typing import Literal

from traindyno.core.answers.document import Rehearsal
from traindyno.core.answers.interval import Interval
from traindyno.core.base import Record
from traindyno.core.rounds import Configuration, GoalKind, RoundTrial, Value

CheckState = Literal["passed", "failed", "warning", "unknown"]
ProposalKind = Literal["widen", "narrow", "fix", "keep", "add_trials"]
AdoptVerdict = Literal["adopt", "keep", "undecided", "equivalent"]


class Check(Record, frozen=True):
    """One thing that must hold before a round is believed. `next_step` says what to do where it does not.

    `subject` is the parameter, the arm or the run it is about; null where it is about the whole round.
    """

    name: str
    state: CheckState
    text: str
    next_step: str | None = None
    subject: str | None = None


class ArmRow(Record, frozen=True):
    """One value of the target with its own search. `infeasible` counts the runs without a score by how they ended.

    `seconds` are those of the best run, `examples_per_second` the median over its runs, null where several ran at once.
    """

    arm: str
    trials: int
    feasible: int
    infeasible: dict[str, int]
    best_score: float | None
    best_values: dict[str, Value]
    best_index: int | None
    best_branch: str
    seconds: float | None = None
    examples_per_second: float | None = None


class IsolationRow(Record, frozen=True):
    """The best that `k` draws of an arm's nuisances can be expected to give, which arms can be compared by.

    `difference` is to the incumbent's arm, or the first where it is in none; null for that arm itself.
    """

    arm: str
    k: int
    expected_best: float | None
    ci95: Interval | None
    difference: float | None = None
    difference_ci95: Interval | None = None


class BestOfK(Record, frozen=True):
    """What the best of k draws is expected to score, for k from 1 on; unbiased. `saturated`: more add little."""

    arm: str
    expected: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    saturated: bool | None


class Importance(Record, frozen=True):
    """How much of the score's variation a parameter explains within an arm, and how far that varies over resamples.

    `stable` is the share of resamples in which it stayed on its side of what counts as important.
    """

    parameter: str
    arm: str
    importance: float
    ci95: Interval
    stable: float
    is_important: bool | None


class RangeProposal(Record, frozen=True):
    """What to do with a parameter in the next round, and why."""

    parameter: str
    kind: ProposalKind
    reason: str
    low: float | None = None
    high: float | None = None
    values: tuple[Value, ...] = ()
    value: Value | None = None


class Origin(Record, frozen=True):
    """Where a gain over the incumbent comes from: tuning the nuisances again, or the target itself.

    Both are as the search saw them. `retuned` is the incumbent's own target value at its best, null where it is no arm.
    """

    incumbent: float
    retuned: float | None
    best: float
    text: str


class BestFound(Record, frozen=True):
    """The best run of the search, as a configuration by field. It is a candidate, not yet evidence."""

    arm: str
    score: float
    configuration: Configuration
    index: int
    branch: str


class RoundAnswer(Record, frozen=True):
    """What a round has shown so far. `ready` says whether its checks allow conclusions; `runs` are all of its runs.

    `incumbent_scores` are those of the gate's runs. `adopted` is what `round adopt` said since, if it did.
    """

    round: str
    campaign: str
    goal: GoalKind
    question: str | None
    metric: str
    higher_is_better: bool
    target: str | None
    ready: bool
    checks: tuple[Check, ...]
    arms: tuple[ArmRow, ...]
    isolation: tuple[IsolationRow, ...]
    best_of_k: tuple[BestOfK, ...]
    importance: tuple[Importance, ...]
    proposals: tuple[RangeProposal, ...]
    incumbent: Configuration
    incumbent_scores: tuple[float, ...]
    best: BestFound | None
    origin: Origin | None = None
    runs: tuple[RoundTrial, ...] = ()
    planned_trials: int = 0
    adopted: AdoptVerdict | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False


class CandidateRow(Record, frozen=True):
    """One configuration over its fresh seeds, against the incumbent. `p_value` is corrected for how many there are.

    A run that diverged or failed counts as the worst there is, and is told in `failed`.
    """

    label: str
    configuration: Configuration
    changes: Configuration
    scores: tuple[float, ...]
    mean: float | None
    sd: float | None
    failed: int = 0
    gain: float | None = None
    ci95: Interval | None = None
    p_value: float | None = None
    test: str | None = None
    verdict: AdoptVerdict | None = None
    search_score: float | None = None
    seconds: float | None = None


class TargetEffect(Record, frozen=True):
    """What one value of the target gains against the incumbent's own value of it (`against`), both tuned.

    `ci95` is null where runs failed. `time_ratio` is of the seconds of training of a run, null where runs shared their
    machine, or where chance may have made it.
    """

    label: str
    against: str
    gain: float
    ci95: Interval | None
    time_ratio: float | None = None
    time_ratio_ci95: Interval | None = None


class AdoptAnswer(Record, frozen=True):
    """Whether a new configuration takes the incumbent's place. The figures are those of `winner`, the best candidate.

    `needed_seeds` of each are about what would decide it, where it is undecided. `level` is the error allowed at this
    look, `spent` what earlier looks have had of it. `failed_checks` of the round were passed over. `effects` are there
    where the incumbent's own value of the target was tuned again.
    """

    round: str
    campaign: str
    goal: GoalKind
    question: str | None
    metric: str
    higher_is_better: bool
    verdict: AdoptVerdict
    winner: str | None
    p_value: float | None
    gain: float | None
    ci95: Interval | None
    seeds: int
    needed_seeds: int | None
    minimum_gain: float
    level: float
    spent: float
    rows: tuple[CandidateRow, ...]
    configuration: Configuration
    commit: str | None = None
    verdicts: tuple[str, ...] = ()
    seconds: float = 0.0
    simulated: bool = False
    failed_checks: tuple[str, ...] = ()
    effects: tuple[TargetEffect, ...] = ()


class ProofRow(Record, frozen=True):
    """A configuration that fresh seeds are to prove, or the incumbent. `changes` is what the incumbent has otherwise.

    `run_seconds` is how long one run usually took in the round; null where no run of it came to its end.
    """

    label: str
    configuration: Configuration
    changes: Configuration
    runs_there: int
    runs_to_go: int
    run_seconds: float | None


class AdoptRehearsal(Rehearsal, frozen=True):
    """What a proof would do. `seeds` are fresh ones of each; `expected_seconds` those of all runs one by one."""

    round: str
    incumbent: ProofRow
    candidates: tuple[ProofRow, ...]
    seeds: int
    expected_seconds: float | None


class LedgerEntry(Record, frozen=True):
    """One decision of a campaign. `stale` names why it must be tuned again; null while it holds.

    `command` repeats it. `changes` are what it changed, `configuration` what held after it, `mean` and `sd` what that
    scored over its fresh seeds. `best_of`: no fresh seed was asked, `mean` is the best of so many runs of a search.
    `failed_checks` of its round were passed over.
    """

    round: str
    study: str
    decided: str
    verdict: AdoptVerdict
    question: str | None
    changes: Configuration
    configuration: Configuration
    gain: float | None
    ci95: Interval | None
    p_value: float | None
    seeds: int
    mean: float | None
    metric: str
    commit: str | None
    command: str
    stale: str | None = None
    sd: float | None = None
    simulated: bool = False
    best_of: int | None = None
    failed_checks: tuple[str, ...] = ()


class LedgerAnswer(Record, frozen=True):
    """What was decided when, oldest first, and the configuration that holds now. `simulated`: some of it is."""

    campaign: str
    entries: tuple[LedgerEntry, ...]
    configuration: Configuration
    verdicts: tuple[str, ...] = ()
    simulated: bool = False


class DraftAnswer(Record, frozen=True):
    """A round's file that was written, the reasons for what stands in it, and what it is warned of."""

    path: str
    text: str
    reasons: tuple[str, ...]
    lints: tuple[str, ...] = ()
