"""What a search says of what it found: nothing that its trials contradict, and nothing without its caution."""

import math

import msgspec

from search.imagined_gpu import searched
from search.simulated_find import BASELINE, COMPUTE_BOUND, answer_of, goal_of, search
from search.test_find_disturbed import slowed
from traindyno.analysis.find.rounds import FIRST_ROUND
from traindyno.analysis.find.single_runs import UNCHECKED
from traindyno.analysis.find.steadiness import own_rate
from traindyno.core.loading import Feed
from traindyno.core.records import Block, Settings, TrialRecord


def test_what_went_for_the_margin_is_told_and_how_to_have_it_where_the_baseline_leaves_none() -> None:
    goal = goal_of(cpus=24, keep=("precision", "batch_size"))
    found = answer_of(goal, search(goal, "limit=262," + COMPUTE_BOUND))
    assert found.verdicts[0].startswith("Nothing that was tried and leaves the margin of memory was shown to be faster")
    told = next(each for each in found.verdicts if "given up" in each)
    assert "does not leave 5 % of the memory free. Neither does the baseline, which holds 98 %" in told
    assert "--memory-margin 0%" in told


def test_what_was_given_up_for_the_margin_is_not_recommended_by_a_single_run() -> None:
    own = msgspec.structs.replace(BASELINE, num_workers=16)
    goal = goal_of(own, cpus=16, keep=("precision", "batch_size", "num_workers", "decoder"))
    found = answer_of(goal, search(goal, "limit=262,decode_seconds=0.004,augment_seconds=0.0012"))
    assert any("margin of memory" in attempt.outcome for attempt in found.attempts)
    assert "compile" not in found.recommended.changes


def test_a_near_equal_whose_losses_nobody_looked_at_is_not_recommended_for_being_a_little_ahead() -> None:
    def lucky(record: TrialRecord) -> TrialRecord:
        step = (record.spec.settings.precision, record.spec.settings.memory_format)
        ahead = record.spec.repeat >= FIRST_ROUND and step == ("bf16", "contiguous")
        return slowed(record, 0.985) if ahead else record

    goal = goal_of(cpus=8, keep=("num_workers", "batch_size"))
    found = answer_of(goal, search(goal, "decode_seconds=1e-3", tamper=lucky))
    assert found.recommended.settings["memory_format"] == "channels_last"
    without = {"precision": "bf16", "memory_format": "contiguous"}
    unchecked = [each for each in found.finalists if each.settings.items() >= without.items()]
    assert unchecked
    assert all(UNCHECKED in each.warnings for each in unchecked)


def test_a_rate_that_is_known_by_one_block_leaves_the_time_of_training_open() -> None:
    def one_block(record: TrialRecord) -> TrialRecord:
        if record.measurement is None:
            return record
        blocks = record.measurement.blocks
        whole = Block(steps=sum(each.steps for each in blocks), seconds=sum(each.seconds for each in blocks))
        measurement = msgspec.structs.replace(record.measurement, blocks=(whole,))
        return msgspec.structs.replace(record, measurement=measurement, seconds=15.0)

    goal = goal_of(budget_seconds=20.0)
    found = answer_of(goal, search(goal, tamper=one_block), epochs=3.0)
    assert found.training_time is not None
    assert found.training_time.ci95[1] == math.inf


def test_a_batch_says_what_it_was_compared_with_and_why_it_was_taken_before_a_faster_one() -> None:
    goal = goal_of(has_data=False, batch_range=(64, 4096))
    found = answer_of(goal, search(goal, "alpha_seconds=0.012"))
    told = {each.change: each.outcome for each in found.attempts if each.side == "batch"}
    assert told["batch_size=512"].startswith("faster than batch 256")
    taken = told[f"batch_size={found.recommended.batch_size}"]
    assert "and within 3 % of batch" in taken
    assert found.recommended.batch_size < max(int(change.partition("=")[2]) for change in told)


def test_a_prepared_set_is_said_to_change_augmentation() -> None:
    goal = goal_of(prepare="prepared:/store")
    told = answer_of(goal, search(goal), prepare="/store").verdicts
    assert any("which changes augmentation" in each for each in told)
    kept = answer_of(goal, search(goal, COMPUTE_BOUND), prepare="/store").verdicts
    assert not any("augmentation" in each for each in kept)


def test_switches_that_were_not_measured_together_are_not_said_to_gain_nothing() -> None:
    """Lower precision spoils the loss here, and the search is cut when it has gone."""

    def spoilt(record: TrialRecord) -> TrialRecord:
        if record.spec.kind != "losses" or record.spec.settings.precision != "bf16" or record.measurement is None:
            return record
        losses = tuple(loss + 1 for loss in record.measurement.losses)
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, losses=losses))

    goal = goal_of()
    history = search(goal, COMPUTE_BOUND, tamper=spoilt)
    told = [verdict for cut in range(1, len(history)) for verdict in answer_of(goal, history[:cut]).verdicts]
    assert any("had not run end to end yet" in verdict for verdict in told)
    assert not any("1.00 times as fast in pairs" in verdict for verdict in told)


def test_batches_that_were_finished_before_are_not_taken_for_those_of_a_loader() -> None:
    goal = goal_of()
    fed = next(record for record in search(goal) if record.spec.kind == "feed")
    assert own_rate(fed) is not None
    cached = msgspec.structs.replace(fed.spec, feed=Feed(supply="cached"))
    assert own_rate(msgspec.structs.replace(fed, spec=cached)) is None


def test_what_there_was_no_time_for_is_named_once_with_one_reason() -> None:
    own = Settings(batch_size=256, device="simulated", num_workers=1, pin_memory=True, memory_format="channels_last")
    goal = goal_of(own, cpus=2, budget_seconds=90.0, decoders=("pil",), prepare="prepared:/store")
    untried = [each.change for each in answer_of(goal, searched(goal, examples=2000)).attempts if each.trials == 0]
    assert untried.count("data=prepared:/store") == 1
    assert len(set(untried)) == len(untried)
