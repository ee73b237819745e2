"""The sweep over batch sizes, against devices that exist only on paper."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.fake_device import (
    MIB,
    FakeDevice,
    device_for,
    failed,
    failure,
    fit_template,
    run_to_end,
    speed_template,
)
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.search.throughput import ThroughputSweep, doubling


def sweep(**options: object) -> ThroughputSweep:
    return ThroughputSweep(speed_template(), **options)  # type: ignore[arg-type]


def sizes(history: list[TrialRecord], repeat: int | None = None) -> list[int]:
    return [record.batch_size for record in history if repeat in (None, record.spec.repeat)]


def ran(history: list[TrialRecord]) -> set[int]:
    return {record.batch_size for record in history if record.ok}


def test_the_first_round_begins_with_the_anchors_and_ends_with_one_out_of_memory() -> None:
    history = run_to_end(sweep(refine=False), device_for(1704))
    first = sizes(history, repeat=0)
    assert first[:2] == [32, 8]
    assert sorted(first) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
    assert first[-1] == 2048
    assert [record.batch_size for record in history if not record.ok] == [2048]


def test_every_size_that_ran_is_repeated_in_rounds_of_another_order() -> None:
    history = run_to_end(sweep(refine=False, repeats=3), device_for(300))
    rounds = [sizes(history, repeat) for repeat in range(3)]
    assert set(rounds[1]) == ran(history) == {2**power for power in range(9)}
    assert rounds[1] != rounds[2]
    assert rounds[1] != sorted(rounds[1])
    repeats = [record.spec.repeat for record in history]
    assert repeats == sorted(repeats)


def test_every_size_that_runs_is_measured_once_per_round() -> None:
    history = run_to_end(sweep(refine=False, repeats=4), device_for(1704))
    counts = {size: sizes(history).count(size) for size in ran(history)}
    assert set(counts.values()) == {4}


def test_the_order_follows_the_seed() -> None:
    orders = {tuple(sizes(run_to_end(sweep(seed=seed), device_for(300)))) for seed in (1, 1, 2, 3)}
    assert len(orders) == 3


def test_refinement_adds_multiples_of_8_near_the_best_and_below_the_memory_limit() -> None:
    history = run_to_end(sweep(repeats=1), device_for(1704))
    added = sorted(set(sizes(history)) - {2**power for power in range(12)})
    assert added == [768, 1296, 1648]
    assert 1.1 * 1024 < 1648 <= 0.97 * 1704


def test_refinement_looks_around_a_best_in_the_middle() -> None:
    device = device_for(1000, step_seconds=lambda size: 0.01 + size / 1000 + (size / 100) ** 2 / 30)
    history = run_to_end(sweep(repeats=1), device)
    best = max(
        (record for record in history if record.measurement is not None and record.batch_size in (16, 32, 64, 128)),
        key=lambda record: record.measurement.examples_per_second if record.measurement else 0,
    ).batch_size
    assert {best * 3 // 4, best * 3 // 2} <= set(sizes(history))


def test_refined_sizes_are_repeated_like_the_others() -> None:
    history = run_to_end(sweep(repeats=3), device_for(1704))
    assert sizes(history).count(1648) == sizes(history).count(768) == 3


def test_a_largest_size_that_runs_leaves_nothing_above_it_to_try() -> None:
    history = run_to_end(sweep(largest=1000, refine=False, repeats=1), device_for(1704))
    assert max(sizes(history)) == 1000
    assert all(record.ok for record in history)


def test_given_sizes_are_measured_and_no_others() -> None:
    history = run_to_end(sweep(sizes=(24, 96, 100), repeats=2), device_for(1704))
    assert sorted(sizes(history)) == [24, 24, 96, 96, 100, 100]


def test_of_given_sizes_those_above_the_first_out_of_memory_are_skipped() -> None:
    history = run_to_end(sweep(sizes=(32, 64, 1024, 2048, 4096, 8192), repeats=1), device_for(1704))
    assert sorted(sizes(history)) == [32, 64, 1024, 2048]
    assert sizes(run_to_end(sweep(sizes=(4096, 8192)), device_for(1704))) == [4096]


@pytest.mark.parametrize("limit", [1, 2, 5, 7, 20, 33])
def test_small_devices_are_swept_from_the_smallest_size_up(limit: int) -> None:
    history = run_to_end(sweep(repeats=1, refine=False), device_for(limit))
    powers = {2**power for power in range(7)}
    assert ran(history) == {size for size in powers if size <= limit}
    assert max(sizes(history)) > limit


def test_a_forecast_that_is_far_too_high_costs_few_failures() -> None:
    """The small sizes hardly need memory: by them 100 times as much would fit."""
    device = device_for(1000, extra_bytes=lambda size: -79 * MIB * min(size, 32))
    history = run_to_end(sweep(repeats=1), device)
    assert sum(not record.ok for record in history) <= 3
    assert max(ran(history)) >= device.true_limit() / 2


def test_a_device_that_says_nothing_about_its_memory_is_climbed_step_by_step() -> None:
    history = run_to_end(sweep(repeats=1), device_for(300, reports_limit=False))
    assert {2**power for power in range(9)} <= ran(history)
    assert [record.batch_size for record in history if not record.ok] == [512]


def test_batch_normalisation_that_needs_two_examples_drops_size_one_only() -> None:
    alone = failure(Outcome.USER_ERROR, code="batch_norm_single_value")
    history = run_to_end(sweep(repeats=2, refine=False), device_for(100, failures={1: alone}))
    assert sizes(history).count(1) == 1
    assert ran(history) == {2, 4, 8, 16, 32, 64}


@pytest.mark.parametrize("outcome", [Outcome.USER_ERROR, Outcome.DATA_ERROR])
def test_a_mistake_to_mend_ends_the_sweep(outcome: Outcome) -> None:
    assert sizes(run_to_end(sweep(), device_for(100, failures={32: failure(outcome)}))) == [32]


def test_a_crash_at_one_size_is_kept_and_the_sweep_goes_on() -> None:
    device = device_for(100, failures={16: failure(Outcome.CRASH)})
    history = run_to_end(sweep(repeats=3, refine=False), device)
    assert sizes(history).count(16) == 1
    assert ran(history) == {1, 2, 4, 8, 32, 64}


def test_a_size_that_takes_too_long_rules_out_larger_ones() -> None:
    slow = {size: failure(Outcome.TIMEOUT) for size in range(100, 5000)}
    history = run_to_end(sweep(repeats=1), device_for(1704, failures=slow))
    assert {1, 2, 4, 8, 16, 32, 64} <= ran(history)
    assert sum(not record.ok for record in history) <= 2


def test_a_model_that_crashes_at_every_size_is_given_up_after_three() -> None:
    broken = {size: failure(Outcome.CRASH) for size in range(5000)}
    assert sizes(run_to_end(sweep(), device_for(1704, failures=broken))) == [32, 8, 1]


def test_a_size_that_fails_in_a_later_round_is_not_tried_again() -> None:
    search, device, history = sweep(repeats=4, refine=False, largest=64), device_for(100), []
    while (proposal := search.ask(history)) is not None:
        record = device.run(proposal.spec)
        if proposal.spec.repeat == 1 and record.batch_size == 64:
            record = failed(proposal.spec, failure(Outcome.OUT_OF_DEVICE_MEMORY))
        history.append(record)
    assert sizes(history).count(64) == 2
    assert sizes(history).count(32) == 4


def test_an_interrupted_trial_is_proposed_again_and_other_kinds_are_not_ours() -> None:
    first = sweep().ask([])
    assert first is not None
    fit = msgspec.structs.replace(fit_template(), settings=first.spec.settings)
    again = sweep().ask([failed(first.spec, failure(Outcome.INTERRUPTED)), device_for(9).run(fit)])
    assert again is not None
    assert again.spec == first.spec


@pytest.mark.parametrize("limit", [20, 300, 1024, 1704, 30000])
@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_the_expected_length_is_a_fair_guess_from_the_start_and_exact_after_two_rounds(
    limit: int, repeats: int
) -> None:
    search, device, history, guesses = sweep(repeats=repeats), device_for(limit), [], []
    while (proposal := search.ask(history)) is not None:
        guesses.append(proposal.expected_trials)
        history.append(device.run(proposal.spec))
    total = len(history)
    after_anchors = guesses[2]
    assert 0.7 * total <= after_anchors <= 1.6 * total
    last_rounds = [guess for guess, record in zip(guesses, history, strict=True) if record.spec.repeat >= 2]
    assert all(guess == total for guess in last_rounds)
    assert all(guess > index for index, guess in enumerate(guesses))


@pytest.mark.parametrize(
    ("smallest", "largest", "found"),
    [(1, 8, (1, 2, 4, 8)), (3, 20, (3, 6, 12, 20)), (16, 16, (16,)), (5, 9, (5, 9))],
)
def test_doubling_ends_with_the_largest(smallest: int, largest: int, found: tuple[int, ...]) -> None:
    assert doubling(smallest, largest) == found


@settings(max_examples=80, deadline=None)
@given(
    limit=st.integers(1, 100_000),
    smallest=st.integers(1, 64),
    span=st.one_of(st.none(), st.integers(0, 5000)),
    reserved=st.floats(1.0, 1.1),
    bend=st.floats(-0.9, 2.0),
    refine=st.booleans(),
    repeats=st.integers(1, 3),
    seed=st.integers(0, 5),
)
def test_any_sweep_ends_repeats_nothing_and_goes_on_from_any_cut(
    limit: int,
    smallest: int,
    span: int | None,
    reserved: float,
    bend: float,
    refine: bool,
    repeats: int,
    seed: int,
) -> None:
    options = {
        "smallest": smallest,
        "largest": None if span is None else smallest + span,
        "refine": refine,
        "repeats": repeats,
        "seed": seed,
    }
    device = device_for(limit, reserved=reserved, extra_bytes=lambda size: int(bend * 80 * MIB * min(size, 100)))
    history = run_to_end(sweep(**options), device, most=120)
    keys = [record.spec.key for record in history]
    assert len(keys) == len(set(keys))
    ladder = [size for size in doubling(smallest, options["largest"]) if size <= device.true_limit()]
    assert set(ladder) <= ran(history)
    for cut in range(0, len(history), 3):
        proposal = sweep(**options).ask(history[:cut])
        assert proposal is not None
        assert proposal.spec == history[cut].spec
    assert sweep(**options).ask(history) is None


def test_every_prefix_of_a_sweep_leads_to_the_next_trial() -> None:
    device = FakeDevice(limit_bytes=100 * 1024 * MIB)
    history = run_to_end(sweep(), device)
    for cut in range(len(history)):
        proposal = sweep().ask(history[:cut])
        assert proposal is not None
        assert proposal.spec == history[cut].spec


def test_a_failure_that_is_not_of_memory_costs_only_its_own_size_of_those_given() -> None:
    device = device_for(1704, failures={64: failure(Outcome.CRASH)})
    assert ran(run_to_end(sweep(sizes=(32, 64, 128, 256), repeats=1), device)) == {32, 128, 256}


def test_doubling_stops_at_a_failure_that_may_be_memory_in_disguise() -> None:
    crashes = {size: failure(Outcome.CRASH) for size in doubling(64, 1024)}
    history = run_to_end(sweep(smallest=32, refine=False, repeats=1), device_for(1704, failures=crashes))
    assert sizes(history) == [32, 64]
