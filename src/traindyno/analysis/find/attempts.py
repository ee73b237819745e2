"""What was tried, or looked at and not tried, as one line each."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import forecast_seconds
from traindyno.analysis.find.pairs import Said
from traindyno.analysis.find.rates import faster_by
from traindyno.analysis.find.words import changes_in_words, noise_words
from traindyno.analysis.intervals import tells_nothing
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.analysis.switch_candidates import Candidate, names_of, value_words
from traindyno.core.answers.find import Attempt
from traindyno.core.records import Failure, Settings, TrialRecord
from traindyno.core.setups import Setup, step_settings

AT_FIRST = "adopted at first"
UNSHOWN = "the last rounds did not show the gain"
NOISE = "the noise scale of the gradients"
SHORT_OF_TIME = "the time budget does not reach"
GIVEN_UP, NO_MARGIN = "given up: ", "it does not run with the margin of memory held back"
NO_TIME = f"not tried: {SHORT_OF_TIME}"
UNPROVED = "it was not proved end to end"
UNCOMPARED = "not compared: what is held has not run end to end"
FAR_FASTER = 1.25
"""More than the simulation errs by, so that a run may be compared with what it foretells."""


def tried_end_to_end(findings: Findings, setup: Setup, record: TrialRecord, least: float) -> Attempt:
    """One run end to end beside what is held; adopted if it is faster by `least`, for a closer look comes later.

    What is held may not have run with the step as it is now. Then it counts as what it should take, which must be far
    more; or it does not run at all.
    """
    change = changes_in_words(setup.changes(findings.held)) or "what is held, end to end"
    if record.measurement is None:
        return _failed("data", change, record)
    attempt = Attempt(side="data", change=change, outcome="not faster", trials=1, seconds=record.seconds)
    mine, theirs = findings.rate(setup), findings.rate(findings.held)
    gain = None if mine is None or theirs is None else faster_by({0: mine}, {0: theirs})
    if gain is None:
        return _beside_a_forecast(findings, setup, attempt)
    adopted, within = gain[0] >= least, _within_process(findings, setup)
    open_still = "not told apart: its steps differ too much" if tells_nothing(*gain) else attempt.outcome
    outcome = "adopted" if adopted else open_still
    return msgspec.structs.replace(
        attempt, outcome=outcome, adopted=adopted, ratio=gain[0], ci95=gain[1], within_process=within
    )


def _beside_a_forecast(findings: Findings, setup: Setup, attempt: Attempt) -> Attempt:
    if findings.feeds.get(findings.held):
        return msgspec.structs.replace(attempt, outcome="adopted: what was held failed end to end", adopted=True)
    mine, foretold = findings.rate(setup), forecast_seconds(findings, findings.held)
    ratio = None if mine is None or foretold is None else foretold / mine.step_seconds
    if ratio is None or ratio < FAR_FASTER:
        return msgspec.structs.replace(attempt, outcome=UNCOMPARED)
    return msgspec.structs.replace(attempt, outcome="adopted", adopted=True, ratio=ratio, predicted=True)


def uncompared(findings: Findings) -> list[Setup]:
    """What ran with the step as it is, and with nothing to be compared with."""
    step = step_settings(findings.held.settings)
    told = {attempt.change for attempt in findings.attempts if attempt.outcome == UNCOMPARED}
    ran = [other for other in findings.feeds if step_settings(other.settings) == step and findings.rate(other)]
    return [other for other in ran if changes_in_words(other.changes(findings.held)) in told]


def rather_what_ran(attempt: Attempt, ratio: float) -> Attempt:
    """Something uncompared that is held in the end; the ratio is to what the other should take."""
    outcome = "adopted: what was held has not run with this step, and should be slower"
    return msgspec.structs.replace(attempt, outcome=outcome, adopted=True, ratio=ratio, predicted=True)


def fewer_suffice(findings: Findings, setup: Setup) -> None:
    """Write down that fewer workers are as fast as those held, in the place of what was said of the same two runs."""
    mine, theirs = findings.rate(setup), findings.rate(findings.held)
    assert mine is not None
    assert theirs is not None
    gain = faster_by({0: mine}, {0: theirs})
    assert gain is not None
    change = changes_in_words(setup.changes(findings.held))
    said = [each for each in findings.attempts if (each.change, each.ratio) == (change, gain[0])]
    findings.attempts = [each for each in findings.attempts if each not in said]
    attempt = Attempt(
        side="data",
        change=change,
        outcome="adopted: as fast with fewer",
        adopted=True,
        ratio=gain[0],
        ci95=gain[1],
        within_process=_within_process(findings, setup),
        trials=sum(each.trials for each in said),
        seconds=sum(each.seconds for each in said),
    )
    findings.attempts.append(attempt)


def _within_process(findings: Findings, setup: Setup) -> bool:
    """Whether it or what is held ran once so far."""
    return any(len(findings.runs(each)) == 1 for each in (setup, findings.held))


def ruled_out(setup: Setup, held: Setup, best_seconds: float, seconds: float) -> Attempt:
    """A way to load that cannot win, by the simulation; the ratio is to the best."""
    return Attempt(
        side="data",
        change=changes_in_words(setup.changes(held)),
        outcome="ruled out: the best way to load should be as fast or faster",
        ratio=best_seconds / seconds,
        predicted=True,
    )


def bet_on(findings: Findings, ratio: float) -> Attempt:
    """What is held without having run, because the time reaches for the last rounds alone."""
    change = changes_in_words(findings.held.changes(findings.baseline))
    outcome = "adopted by the simulation: there was time for the last rounds alone"
    return Attempt(side="data", change=change, outcome=outcome, adopted=True, ratio=ratio, predicted=True)


def enough_workers(findings: Findings, setup: Setup, ratio: float) -> Attempt:
    """More workers than what is held has, without a run; the last rounds show whether that was right."""
    change = changes_in_words(setup.changes(findings.held))
    outcome = "adopted by the simulation: the faster step needs more"
    return Attempt(side="data", change=change, outcome=outcome, adopted=True, ratio=ratio, predicted=True)


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
    return msgspec.structs.replace(attempt, outcome=f"{AT_FIRST}; {why}", adopted=False)


def left_out_again(attempt: Attempt, held: Settings, recommended: Settings) -> Attempt:
    """A switch that what is held has and a simpler way, which won the last rounds, has not."""
    parts = attempt.change.replace(" and ", ", ").split(", ")
    gone = all(part in _in_words(held) and part not in _in_words(recommended) for part in parts)
    if attempt.side != "step" or not gone:
        return attempt
    return not_kept(attempt, "end to end it was as fast without")


def _in_words(settings: Settings) -> set[str]:
    return {f"{name}={value_words(getattr(settings, name))}" for name in Settings.__struct_fields__}


def lack_margin(attempt: Attempt) -> bool:
    """Whether switches had to go for the memory that is to stay free."""
    return attempt.outcome == f"{GIVEN_UP}{NO_MARGIN}"


def given_up(members: Sequence[Candidate], why: str) -> Attempt:
    """Switches that were adopted and had to go again."""
    return Attempt(side="step", change=names_of(tuple(members)), outcome=f"{GIVEN_UP}{why}")


def out_of_time(side: str, change: str) -> Attempt:
    return Attempt(side=side, change=change, outcome=NO_TIME)


def to_be_judged_again(attempt: Attempt) -> bool:
    """Whether something was left out beside a step that is no longer held."""
    told = attempt.outcome.startswith("not tried") and attempt.trials == 0
    return told and (attempt.side == "step" or not lacks_time(attempt))


def lacks_time(attempt: Attempt) -> bool:
    return attempt.outcome.endswith(SHORT_OF_TIME)


def not_tried(side: str, change: str, why: str) -> Attempt:
    return Attempt(side=side, change=change, outcome=f"not tried: {why}")


def _failed(side: str, change: str, record: TrialRecord) -> Attempt:
    why = record.failure.message if record.failure is not None else record.outcome
    return Attempt(side=side, change=change, outcome=f"failed: {why}", trials=1, seconds=record.seconds)
