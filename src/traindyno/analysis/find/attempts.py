"""What was tried, or looked at and not tried, as one line each."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.pairs import Said
from traindyno.analysis.find.rates import faster_by
from traindyno.analysis.find.words import changes_in_words, noise_words
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.switch_candidates import Candidate, names_of, value_words
from traindyno.core.answers.find import Attempt
from traindyno.core.records import Failure, Settings, TrialRecord
from traindyno.core.setups import Setup

UNSHOWN = "the last rounds did not show the gain"
NOISE = "the noise scale of the gradients"
SHORT_OF_TIME = "the time budget does not reach"
NO_TIME = f"not tried: {SHORT_OF_TIME}"
UNPROVED = "it was not proved end to end"


def tried_end_to_end(findings: Findings, setup: Setup, record: TrialRecord, least: float) -> Attempt:
    """One run end to end beside what is held; adopted if it is faster by `least`, for a closer look comes later."""
    change = changes_in_words(setup.changes(findings.held)) or "what is held, end to end"
    if record.measurement is None:
        return _failed("data", change, record)
    mine, theirs = findings.rate(setup), findings.rate(findings.held)
    gain = None if mine is None or theirs is None else faster_by({0: mine}, {0: theirs})
    adopted = gain is None or gain[0] >= least
    attempt = Attempt(
        side="data",
        change=change,
        outcome="adopted" if adopted else "not faster",
        adopted=adopted,
        trials=1,
        seconds=record.seconds,
    )
    if gain is None:
        return msgspec.structs.replace(attempt, outcome="adopted: the first to run end to end with the step as it is")
    within = _within_process(findings, setup)
    return msgspec.structs.replace(attempt, ratio=gain[0], ci95=gain[1], within_process=within)


def fewer_suffice(findings: Findings, setup: Setup) -> Attempt:
    """Fewer workers that are as fast as those held."""
    mine, theirs = findings.rate(setup), findings.rate(findings.held)
    assert mine is not None
    assert theirs is not None
    gain = faster_by({0: mine}, {0: theirs})
    assert gain is not None
    change = changes_in_words(setup.changes(findings.held))
    return Attempt(
        side="data",
        change=change,
        outcome="adopted: as fast with fewer",
        adopted=True,
        ratio=gain[0],
        ci95=gain[1],
        within_process=_within_process(findings, setup),
    )


def _within_process(findings: Findings, setup: Setup) -> bool:
    """Whether it or what is held ran once so far."""
    return any(len(findings.runs(each)) == 1 for each in (setup, findings.held))


def ruled_out(setup: Setup, held: Setup, best_seconds: float, seconds: float) -> Attempt:
    """A supplier that cannot win, by the simulation; the ratio is to the best supplier."""
    return Attempt(
        side="data",
        change=changes_in_words(setup.changes(held)),
        outcome="ruled out: the best supplier should be as fast or faster",
        ratio=best_seconds / seconds,
        predicted=True,
    )


def unprobed(setup: Setup, held: Setup, record: TrialRecord | None) -> Attempt:
    change = changes_in_words(setup.changes(held)) or "what an example costs"
    return Attempt(side="data", change=change, outcome=NO_TIME) if record is None else _failed("data", change, record)


def tried_switches(
    members: tuple[Candidate, ...],
    said: Said | None,
    failure: str | None,
    *,
    adopted: bool,
    records: list[TrialRecord],
) -> Attempt:
    """Switches together or alone, on top of what was held."""
    attempt = Attempt(
        side="step",
        change=names_of(members),
        outcome="adopted" if adopted else "not faster",
        adopted=adopted,
        trials=len(records),
        seconds=sum(record.seconds for record in records),
    )
    if failure is not None:
        return msgspec.structs.replace(attempt, outcome=f"failed: {failure}")
    if said is None:
        return attempt
    ratio, interval = said.effect
    outcome = attempt.outcome if adopted else _refusal(said)
    within = said.within_process
    return msgspec.structs.replace(attempt, outcome=outcome, ratio=ratio, ci95=interval, within_process=within)


def _refusal(said: Said) -> str:
    ratio, (low, _) = said.effect
    if low > 1 and not said.within_process:
        return "faster, but by too little"
    return "not clearly faster" if ratio > 1 else "not faster"


def noise_read(noise: NoiseEstimate, records: Sequence[TrialRecord]) -> Attempt:
    """Runs whose gradients were read, and what they say of their noise."""
    noises, seconds = noises_of(records), sum(record.seconds for record in records)
    if not noises:
        return msgspec.structs.replace(_failed("batch", NOISE, records[-1]), seconds=seconds)
    untold = "not told: the readings do not tell the gradient from nothing"
    found = untold if noise.value is None else noise_words(noise)
    runs = "a run" if len(noises) == 1 else f"{len(noises)} runs"
    outcome = f"{found}, read in {runs} of {max(each.steps for each in noises):,} steps"
    return Attempt(side="batch", change=NOISE, outcome=outcome, trials=len(records), seconds=seconds)


def failure_words(failure: Failure | None) -> str | None:
    return None if failure is None else failure.message


def not_kept(attempt: Attempt, why: str) -> Attempt:
    """What was adopted on the way, where the answer is that there is nothing to change."""
    if not attempt.adopted:
        return attempt
    return msgspec.structs.replace(attempt, outcome=f"adopted at first; {why}", adopted=False)


def left_out_again(attempt: Attempt, held: Settings, recommended: Settings) -> Attempt:
    """A switch that what is held has and a simpler way, which won the last rounds, has not."""
    parts = attempt.change.replace(" and ", ", ").split(", ")
    gone = all(part in _in_words(held) and part not in _in_words(recommended) for part in parts)
    if attempt.side != "step" or not gone:
        return attempt
    return not_kept(attempt, "end to end it was as fast without")


def _in_words(settings: Settings) -> set[str]:
    return {f"{name}={value_words(getattr(settings, name))}" for name in Settings.__struct_fields__}


def given_up(members: Sequence[Candidate], why: str) -> Attempt:
    """Switches that were adopted and had to go again."""
    return Attempt(side="step", change=names_of(tuple(members)), outcome=f"given up: {why}")


def out_of_time(side: str, change: str) -> Attempt:
    return Attempt(side=side, change=change, outcome=NO_TIME)


def not_tried(side: str, change: str, why: str) -> Attempt:
    return Attempt(side=side, change=change, outcome=f"not tried: {why}")


def _failed(side: str, change: str, record: TrialRecord) -> Attempt:
    why = record.failure.message if record.failure is not None else record.outcome
    return Attempt(side=side, change=change, outcome=f"failed: {why}", trials=1, seconds=record.seconds)
