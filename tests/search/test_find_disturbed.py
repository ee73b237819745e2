"""Searches on a machine that is disturbed, or with little time: what is left out and what disagrees is said."""

from collections import Counter

import msgspec
import pytest

from search.simulated_find import BASELINE, COMPUTE_BOUND, answer_of, goal_of, plan_of, search
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.analysis.find.steadiness import disagreements
from traindyno.analysis.find.untried import untried_verdicts
from traindyno.core.records import Block, Measurement, TrialRecord
from traindyno.core.setups import step_settings


def slowed(record: TrialRecord, factor: float) -> TrialRecord:
    """The same trial while something else had the machine."""
    told = record.measurement
    assert told is not None
    blocks = tuple(Block(steps=block.steps, seconds=factor * block.seconds) for block in told.blocks)
    anatomy = told.anatomy
    if anatomy is not None:
        phases = tuple(
            each if each.phase == "load" else msgspec.structs.replace(each, seconds=factor * each.seconds)
            for each in anatomy.phases
        )
        plain = factor * anatomy.plain_step_seconds
        anatomy = msgspec.structs.replace(
            anatomy, phases=phases, plain_step_seconds=plain, plain_ci95=(plain, plain), load_wait_seconds=0.0
        )
    measurement: Measurement = msgspec.structs.replace(
        told, blocks=blocks, step_seconds=factor * told.step_seconds, anatomy=anatomy
    )
    return msgspec.structs.replace(record, measurement=measurement)


def test_a_dear_run_that_was_rejected_does_not_use_up_the_time_for_switches() -> None:
    def dear(record: TrialRecord) -> TrialRecord:
        if record.spec.kind == "feed" and record.spec.settings.num_workers > 0:
            return msgspec.structs.replace(slowed(record, 50.0), seconds=40.0)
        return msgspec.structs.replace(record, seconds=5.0)

    quick_loader = "fetch_seconds=1e-5,decode_seconds=1e-3,augment_seconds=1e-5"
    history = search(goal_of(budget_seconds=150.0, keep=("decoder",)), quick_loader, tamper=dear)
    kinds = [record.spec.kind for record in history]
    rejected = next(place for place, record in enumerate(history) if record.seconds == 40.0)
    assert "pair" in kinds[rejected:]
    assert sum(record.seconds for record in history) <= 150.0


def test_what_there_was_no_time_for_is_named_with_the_way_out() -> None:
    goal = goal_of(budget_seconds=60.0)
    found = answer_of(goal, search(goal))
    untried = [attempt.change for attempt in found.attempts if "time budget does not reach" in attempt.outcome]
    told = " ".join(found.verdicts)
    assert untried
    assert untried[0] in told
    assert "A longer --time-budget would try more." in told


def test_time_that_is_left_and_fits_nothing_is_told() -> None:
    goal = goal_of(budget_seconds=60.0)
    findings = plan_of(goal).findings(search(goal))
    left = findings.seconds_left
    assert left is not None
    assert left == pytest.approx(60.0 - findings.spent_seconds, abs=0.5 * len(findings.log))
    findings.seconds_left = 73.0
    assert "About 1 min 13 s were left" in " ".join(untried_verdicts(findings))


def test_a_baseline_that_ran_without_rounds_confirms_nothing() -> None:
    goal = goal_of(budget_seconds=45.0)
    found = answer_of(goal, search(goal))
    assert found.recommended.changes == {}
    assert not found.recommended.confirmed
    whole = goal_of()
    assert answer_of(whole, search(whole)).baseline.confirmed


def test_a_step_taken_apart_at_quite_another_speed_does_not_say_what_binds_the_baseline() -> None:
    def disturb(record: TrialRecord) -> TrialRecord:
        return slowed(record, 14.0) if record.spec.kind == "anatomy" else record

    goal = goal_of(keep=("num_workers", "decoder", "batch_size"))
    calm, history = search(goal), search(goal, tamper=disturb)
    found = answer_of(goal, history)
    assert answer_of(goal, calm).bound_before == found.bound_before
    assert found.bound_before.startswith("data")
    assert found.step_before == ()
    assert found.headroom.unknown_because is not None
    assert not found.baseline.steady
    (warning,) = disagreements(history)
    assert "the baseline" in warning
    assert disagreements(calm) == ()


def test_nothing_stays_adopted_where_there_is_nothing_to_change() -> None:
    def unshown(record: TrialRecord) -> TrialRecord:
        changed = record.spec.settings != BASELINE and record.spec.repeat >= FIRST_ROUND
        return slowed(record, 30.0) if changed else record

    goal = goal_of(keep=("batch_size",))
    found = answer_of(goal, search(goal, tamper=unshown))
    assert found.recommended.changes == {}
    assert any("adopted at first" in attempt.outcome and attempt.side == "data" for attempt in found.attempts)
    assert not any(attempt.adopted for attempt in found.attempts)


def test_a_prediction_that_missed_has_the_name_of_the_table() -> None:
    def unshown(record: TrialRecord) -> TrialRecord:
        changed = record.spec.settings != BASELINE and record.spec.repeat >= FIRST_ROUND
        return slowed(record, 30.0) if changed else record

    goal = goal_of(keep=("batch_size",))
    found = answer_of(goal, search(goal, tamper=unshown))
    missed = [verdict for verdict in found.verdicts if "simulation missed" in verdict]
    assert missed
    assert all("missed runner-up" in verdict for verdict in missed)


def test_of_several_pairs_the_middle_one_says_what_a_step_takes() -> None:
    goal = goal_of(keep=("num_workers", "decoder"))
    history = search(goal, COMPUTE_BOUND)
    pair = next(record.measurement.pair for record in history if record.measurement and record.measurement.pair)
    findings = plan_of(goal).findings(history[:1])
    faster = msgspec.structs.replace(BASELINE, cudnn_benchmark=True)
    for factor in (0.5, 0.9, 4.0):
        seconds = factor * pair.baseline.step_seconds
        candidate = msgspec.structs.replace(pair.candidate, step_seconds=seconds)
        findings.note_pair(faster, BASELINE, msgspec.structs.replace(pair, candidate=candidate))
    known = findings.resident[step_settings(BASELINE)]
    assert findings.resident[step_settings(faster)] == pytest.approx(0.9 * known)


def test_what_a_step_took_by_itself_takes_the_place_of_what_pairs_foretold() -> None:
    """Pairs that were adopted for being fast by chance multiply to a step that does not exist."""
    goal = goal_of(keep=("num_workers", "decoder"))
    history = search(goal, COMPUTE_BOUND)
    pair = next(record.measurement.pair for record in history if record.measurement and record.measurement.pair)
    findings = plan_of(goal).findings(history[:1])
    faster = msgspec.structs.replace(BASELINE, cudnn_benchmark=True)
    lucky = msgspec.structs.replace(pair.candidate, step_seconds=0.5 * pair.baseline.step_seconds)
    findings.note_pair(faster, BASELINE, msgspec.structs.replace(pair, candidate=lucky))
    told = findings.resident_seconds(faster)
    assert told is not None
    ran = next(record for record in history if record.spec.kind == "feed")
    spec = msgspec.structs.replace(ran.spec, settings=faster)
    findings.note_resident(msgspec.structs.replace(ran, spec=spec))
    measured = findings.resident_seconds(faster)
    assert measured == findings.resident_seconds(BASELINE)
    assert measured > 1.5 * told
    findings.note_pair(faster, BASELINE, msgspec.structs.replace(pair, candidate=lucky))
    assert findings.resident_seconds(faster) == measured


@pytest.mark.parametrize(("budget_seconds", "most"), [(3600.0, 5), (40.0, 3)])
def test_a_gain_that_three_pairs_leave_open_is_looked_at_longer_only_where_time_abounds(
    budget_seconds: float, most: int
) -> None:
    def shaken(record: TrialRecord) -> TrialRecord:
        if record.measurement is None or record.measurement.pair is None:
            return record
        ratio = (1.35, 3.0, 0.9, 1.36, 1.34)[record.spec.repeat]
        pair = msgspec.structs.replace(record.measurement.pair, ratio=ratio, ci95=(0.7 * ratio, 1.4 * ratio))
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, pair=pair))

    goal = goal_of(has_data=False, budget_seconds=budget_seconds)
    pairs = Counter(record.spec.settings for record in search(goal, tamper=shaken) if record.spec.kind == "pair")
    assert max(pairs.values()) == most


def rounds_of(history: list[TrialRecord]) -> set[int]:
    return {record.spec.repeat for record in history if record.spec.repeat >= FIRST_ROUND}


@pytest.mark.parametrize(("budget", "rounds"), [(None, 3), (400.0, 6)])
def test_rounds_that_differ_are_followed_by_more_while_a_budget_lasts(budget: float | None, rounds: int) -> None:
    def uneven(record: TrialRecord) -> TrialRecord:
        changed, number = record.spec.settings.precision == "bf16", record.spec.repeat - FIRST_ROUND
        factor = (1.0, 1.5, 1.2, 1.4, 1.1, 1.3)[number] if changed and number >= 0 else 1.0
        return msgspec.structs.replace(slowed(record, factor), seconds=5.0)

    goal = goal_of(budget_seconds=budget, cpus=12)
    history = search(goal, tamper=uneven)
    assert len(rounds_of(history)) == rounds
    answer = answer_of(goal, history)
    assert answer.recommended.processes == rounds
    assert sum(record.seconds for record in history) <= (budget or 1e9)


def test_rounds_that_agree_leave_the_rest_of_the_budget() -> None:
    history = search(goal_of(budget_seconds=400.0), tamper=lambda record: msgspec.structs.replace(record, seconds=5.0))
    assert len(rounds_of(history)) == 3


def believed_too_fast(record: TrialRecord) -> TrialRecord:
    """A step in lower precision that is slow when it is fed, and only then."""
    is_fed = record.spec.kind == "feed" and record.spec.settings.precision == "bf16"
    return slowed(record, 1.5) if is_fed else record


def test_a_step_that_should_not_wait_is_run_with_its_data_before_that_is_believed() -> None:
    goal = goal_of(cpus=8, decoders=("pil", "nvjpeg"))
    calm = [record.spec for record in search(goal, COMPUTE_BOUND)]
    (look,) = [spec for spec in calm if spec.kind == "feed" and spec.repeat == 0 and spec.settings != BASELINE]
    assert look.settings.precision == "bf16"
    slow = [record.spec for record in search(goal, COMPUTE_BOUND, believed_too_fast)]
    first_round = next(place for place, spec in enumerate(slow) if spec.repeat == FIRST_ROUND)
    assert {spec.settings.decoder for spec in slow[:first_round] if spec.kind in ("probe", "feed")} > {"pil"}
