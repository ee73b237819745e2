"""The search for the largest batch, against devices that exist only on paper."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.fake_device import MIB, FakeDevice, device_for, failed, failure, fit_template, run_to_end
from traindyno.analysis.max_batch import conclude_max_batch
from traindyno.core.answers import MaxBatchAnswer
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.search.max_batch import MaxBatchSearch
from traindyno.search.strategy import at_batch_size

LIMITS = [1, 2, 3, 100, 1500, 4096, 4097, 5000, 8192, 30000]


def workspace_jump(batch_size: int) -> int:
    """From 700 on the convolutions choose a faster algorithm that needs 6 % more memory."""
    return int(0.06 * 80 * MIB * batch_size) if batch_size > 700 else 0


def bent(batch_size: int) -> int:
    """Small sizes need less than their share."""
    return -int(300 * MIB * max(0.0, 1 - batch_size / 64))


def cheap_when_small(batch_size: int) -> int:
    """Up to 64, an example takes a fifth less: the small probes promise too much."""
    return -16 * MIB * min(batch_size, 64)


def library_workspace(batch_size: int) -> int:
    """A library is loaded, with a workspace of its own, between the two small probes."""
    return 2000 * MIB if batch_size >= 64 else 0


def fragments(batch_size: int) -> int:
    """Inference: between layers of different sizes the allocator loses a third of the memory to fragments."""
    return 27 * MIB * batch_size if batch_size > 64 else 0


VARIANTS = {
    "clean": {},
    "as a large GPU was seen to behave": {"reserved": 1.009, "reported_reserved": 1.2},
    "reserved 2 % above allocated": {"reserved": 1.02},
    "reserved above allocated and not reported": {"reserved": 1.02, "reports_reserved": False},
    "workspace jump": {"extra_bytes": workspace_jump},
    "not affine at small sizes": {"extra_bytes": bent},
    "cheap when small": {"extra_bytes": cheap_when_small},
    "workspace between the small probes": {"extra_bytes": library_workspace},
    "fragments in inference": {"extra_bytes": fragments},
}
# The small probes promise far too much; steps down from there are many, but a failure is the cheapest probe.
FAR_TOO_HIGH = ("cheap when small", "fragments in inference")


def doubling_sweep(limit: int) -> int:
    """Trials of 1, 2, 4 … up to the first that fails."""
    return math.floor(math.log2(limit)) + 2


def out_of_memory(history: list[TrialRecord]) -> int:
    return sum(record.outcome.out_of_memory for record in history)


def largest_ran(history: list[TrialRecord]) -> int:
    return max((record.batch_size for record in history if record.ok), default=0)


def sizes(history: list[TrialRecord]) -> list[int]:
    return [record.batch_size for record in history]


def conclude(history: list[TrialRecord], limit: int | None = None, margin: float = 0.05) -> MaxBatchAnswer:
    return conclude_max_batch("torchvision:resnet50", "train", history, margin=margin, tolerance=0.01, limit=limit)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_answer_is_right_to_tolerance_at_little_cost(variant: str, limit: int) -> None:
    device = device_for(limit, **VARIANTS[variant])
    history = run_to_end(MaxBatchSearch(fit_template()), device)
    true = device.true_limit()
    assert true / 1.01 - 1 < largest_ran(history) <= true
    assert len(history) <= doubling_sweep(true) + (5 if variant in FAR_TOO_HIGH else 3)
    assert out_of_memory(history) <= (6 if variant in FAR_TOO_HIGH else 3)


@pytest.mark.parametrize("asked", [{"exact": True}, {"tolerance": 0.0}], ids=["exact", "no tolerance"])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_exact_is_exact(variant: str, limit: int, asked: dict[str, Any]) -> None:
    device = device_for(limit, **VARIANTS[variant])
    history = run_to_end(MaxBatchSearch(fit_template(), **asked), device)
    assert largest_ran(history) == device.true_limit()
    assert device.true_limit() + 1 in [record.batch_size for record in history if not record.ok]


@pytest.mark.parametrize("limit", [limit for limit in LIMITS if limit >= 100])
def test_clean_readings_need_at_most_seven_probes_and_one_out_of_memory(limit: int) -> None:
    history = run_to_end(MaxBatchSearch(fit_template()), device_for(limit))
    assert len(history) <= 7
    assert out_of_memory(history) == 1


@pytest.mark.parametrize(("needed", "limit"), [(1.008, 1708), (1.017, 1148), (1.009, 1884)])
def test_readings_as_seen_on_a_large_gpu_need_at_most_six_probes(needed: float, limit: int) -> None:
    """Allocated memory foretold 0.8 to 1.7 % too much, and small sizes reserved 20 % more than they took."""
    device = device_for(limit, reserved=needed, reported_reserved=1.2)
    history = run_to_end(MaxBatchSearch(fit_template()), device)
    assert len(history) <= 6
    assert out_of_memory(history) == 1


@pytest.mark.parametrize("limit", [100, 1500, 4097, 30000])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_safe_batch_ran_under_the_margin_and_is_not_wastefully_small(variant: str, limit: int) -> None:
    device = device_for(limit, **VARIANTS[variant])
    history = run_to_end(MaxBatchSearch(fit_template(), margin=0.05), device)
    safe = max(record.batch_size for record in history if record.ok and record.spec.evaluate)
    assert all(record.spec.margin == 0.05 for record in history if record.spec.evaluate)
    assert all(record.spec.margin == 0 for record in history if not record.spec.evaluate)
    possible = FakeDevice(**{**vars(device), "limit_bytes": int(device.limit_bytes * 0.95)}).true_limit()
    assert 0.95 * possible <= safe <= possible


@pytest.mark.parametrize("limit", [2, 3, 5, 9, 15, 16, 17, 40])
def test_tiny_limits_have_a_safe_batch_too(limit: int) -> None:
    device = device_for(limit, intercept_bytes=10 * MIB)
    answer = conclude(run_to_end(MaxBatchSearch(fit_template(), margin=0.05), device))
    assert answer.max_batch == limit
    assert answer.safe_batch is not None
    assert 0.8 * limit - 1 <= answer.safe_batch <= limit


def test_a_device_on_which_one_example_fills_memory_has_no_safe_batch() -> None:
    history = run_to_end(MaxBatchSearch(fit_template()), device_for(1))
    answer = conclude(history)
    assert (answer.max_batch, answer.safe_batch, answer.first_failed_batch) == (1, None, 2)


def test_a_device_on_which_nothing_runs_is_given_up_after_two_probes() -> None:
    history = run_to_end(MaxBatchSearch(fit_template()), FakeDevice(limit_bytes=MIB))
    assert sizes(history) == [16, 1]


def test_a_wavering_limit_does_not_keep_the_search_from_ending() -> None:
    for seed in range(30):
        device = device_for(1500, limit_noise=0.005, seed=seed)
        history = run_to_end(MaxBatchSearch(fit_template()), device)
        assert len(history) <= 12
        assert 0.98 * 1500 <= largest_ran(history) <= 1.01 * 1500


def test_a_limit_that_is_reached_ends_the_search() -> None:
    history = run_to_end(MaxBatchSearch(fit_template(), limit=512), device_for(1500))
    assert sizes(history) == [16, 64, 512]
    assert history[-1].spec.evaluate
    answer = conclude(history, limit=512)
    assert (answer.max_batch, answer.safe_batch, answer.limited_by) == (512, 512, "limit")


@pytest.mark.parametrize("limit", [1, 2, 10, 16, 17, 50, 64, 65, 1450, 1499, 1500, 1501])
def test_no_size_above_the_limit_is_tried(limit: int) -> None:
    history = run_to_end(MaxBatchSearch(fit_template(), limit=limit), device_for(1500))
    assert max(sizes(history)) <= limit
    assert largest_ran(history) >= min(limit, 1500) / 1.01
    assert any(record.ok and record.spec.evaluate for record in history)


def test_memory_that_cannot_be_foretold_is_found_by_doubling() -> None:
    for device in (device_for(1500, reports_limit=False), device_for(1500, slope_bytes=3)):
        device.limit_bytes = device.peak_bytes(1500)
        history = run_to_end(MaxBatchSearch(fit_template()), device)
        assert 1500 / 1.01 - 1 <= largest_ran(history) <= 1500


def test_a_prediction_that_is_far_too_low_is_corrected() -> None:
    """Small probes suggest twice the memory per example that large ones need."""
    device = device_for(20000, extra_bytes=lambda size: -40 * MIB * max(0, size - 64))
    history = run_to_end(MaxBatchSearch(fit_template()), device)
    assert device.true_limit() / 1.01 - 1 <= largest_ran(history) <= device.true_limit()
    assert len(history) <= 10


def test_memory_that_holds_more_than_it_reports_is_climbed_in_growing_steps() -> None:
    """The stated limit is two thirds of the true one."""
    device = device_for(1500)
    search, history = MaxBatchSearch(fit_template()), []
    while (proposal := search.ask(history)) is not None:
        record = device.run(proposal.spec)
        if record.measurement is not None:
            memory = msgspec.structs.replace(record.measurement.memory, limit_bytes=device.limit_bytes * 2 // 3)
            record = msgspec.structs.replace(
                record, measurement=msgspec.structs.replace(record.measurement, memory=memory)
            )
        history.append(record)
        assert len(history) < 25
    assert 1500 / 1.01 - 1 <= largest_ran(history) <= 1500


def test_a_fault_at_one_large_size_counts_as_not_running_there() -> None:
    faults = {size: failure(Outcome.CUDA_FAULT) for size in range(1000, 3000)}
    history = run_to_end(MaxBatchSearch(fit_template()), device_for(1500, failures=faults))
    answer = conclude(history)
    assert answer.max_batch is not None
    assert 999 / 1.01 - 1 <= answer.max_batch <= 999
    assert answer.out_of_memory_probes == 0


@pytest.mark.parametrize("outcome", [Outcome.CRASH, Outcome.CUDA_FAULT, Outcome.KILLED, Outcome.NONFINITE])
def test_a_failure_at_the_first_size_ends_the_search(outcome: Outcome) -> None:
    history = run_to_end(MaxBatchSearch(fit_template()), device_for(1500, failures={16: failure(outcome)}))
    assert sizes(history) == [16]


@pytest.mark.parametrize("outcome", [Outcome.USER_ERROR, Outcome.DATA_ERROR, Outcome.INFRASTRUCTURE])
def test_a_mistake_to_mend_ends_the_search_wherever_it_comes(outcome: Outcome) -> None:
    device = device_for(1500, failures={64: failure(outcome)})
    assert sizes(run_to_end(MaxBatchSearch(fit_template()), device)) == [16, 64]


def test_a_first_size_that_takes_too_long_is_followed_by_the_smallest() -> None:
    slow = {size: failure(Outcome.TIMEOUT) for size in range(7, 3000)}
    history = run_to_end(MaxBatchSearch(fit_template()), device_for(1500, failures=slow))
    assert sizes(history)[:2] == [16, 1]
    assert largest_ran(history) == 6


def test_batch_normalisation_that_needs_two_examples_raises_the_floor() -> None:
    alone = failure(Outcome.USER_ERROR, code="batch_norm_single_value")
    history = run_to_end(MaxBatchSearch(fit_template()), device_for(5, failures={1: alone}))
    assert sizes(history)[:3] == [16, 1, 2]
    assert largest_ran(history) == 5
    assert sizes(run_to_end(MaxBatchSearch(fit_template(), limit=1), device_for(5, failures={1: alone}))) == [1]


@pytest.mark.parametrize(("squeezed_from", "share"), [(0.97, 0.89), (0.8, 0.74)])
def test_where_the_allocator_retries_a_size_without_retries_is_looked_for(squeezed_from: float, share: float) -> None:
    device = device_for(1500, retries_above=squeezed_from)
    answer = conclude(run_to_end(MaxBatchSearch(fit_template()), device))
    assert answer.no_retry_batch is not None
    assert answer.safe_batch is not None
    assert share * answer.safe_batch <= answer.no_retry_batch < answer.safe_batch


def test_an_interrupted_trial_is_proposed_again() -> None:
    search = MaxBatchSearch(fit_template())
    first = search.ask([])
    assert first is not None
    again = search.ask([failed(first.spec, failure(Outcome.INTERRUPTED))])
    assert again is not None
    assert again.spec == first.spec


def test_trials_of_another_workload_are_not_ours() -> None:
    search = MaxBatchSearch(fit_template())
    other = msgspec.structs.replace(fit_template().workload, model="torchvision:vgg16")
    foreign = msgspec.structs.replace(at_batch_size(fit_template(), 16), workload=other)
    proposal = search.ask([device_for(1500).run(foreign)])
    assert proposal is not None
    assert proposal.spec.settings.batch_size == 16


def test_the_expected_length_of_a_search_is_nearly_right_from_the_start() -> None:
    search, history = MaxBatchSearch(fit_template()), []
    device = device_for(1708, reserved=1.008, reported_reserved=1.2)
    expected = []
    while (proposal := search.ask(history)) is not None:
        expected.append(proposal.expected_trials)
        history.append(device.run(proposal.spec))
    assert all(abs(guess - len(history)) <= 1 for guess in expected)


@settings(max_examples=300, deadline=None)
@given(
    limit=st.integers(1, 200_000),
    intercept=st.integers(MIB, 64 * 1024 * MIB),
    slope=st.integers(4096, 1024 * MIB),
    reserved=st.floats(1.0, 1.1),
    reports_reserved=st.booleans(),
    tolerance=st.floats(0.001, 0.1),
    exact=st.booleans(),
    margin=st.sampled_from([0.0, 0.02, 0.05, 0.2]),
    bound=st.one_of(st.none(), st.integers(1, 300_000)),
)
def test_any_affine_device_is_measured_rightly_and_soon(
    limit: int,
    intercept: int,
    slope: int,
    reserved: float,
    reports_reserved: bool,
    tolerance: float,
    exact: bool,
    margin: float,
    bound: int | None,
) -> None:
    device = device_for(
        limit,
        intercept_bytes=intercept,
        slope_bytes=slope,
        reserved=reserved,
        reports_reserved=reports_reserved,
    )
    search = MaxBatchSearch(fit_template(), tolerance=tolerance, exact=exact, limit=bound, margin=margin)
    history = run_to_end(search, device, most=40)
    true = device.true_limit() if bound is None else min(bound, device.true_limit())
    found = largest_ran(history)
    assert true - 1 <= found * (1 + (0 if exact else tolerance)) + (0 if exact else 1)
    assert found <= true
    assert not exact or found == true
    keys = [record.spec.key for record in history]
    assert len(keys) == len(set(keys))
    answer = conclude(history, limit=bound, margin=margin)
    ran = {record.batch_size for record in history if record.ok}
    assert {answer.max_batch, answer.safe_batch, answer.no_retry_batch} - {None} <= ran


@settings(max_examples=100, deadline=None)
@given(
    limit=st.integers(1, 50_000),
    jump_at=st.integers(1, 50_000),
    jump=st.floats(0, 0.5),
    limit_noise=st.floats(0, 0.02),
    seed=st.integers(0, 1000),
    exact=st.booleans(),
)
def test_any_crooked_device_is_measured_soon_and_never_with_a_size_that_did_not_run(
    limit: int, jump_at: int, jump: float, limit_noise: float, seed: int, exact: bool
) -> None:
    device = device_for(
        limit,
        extra_bytes=lambda size: int(jump * 80 * MIB * size) if size > jump_at else 0,
        limit_noise=limit_noise,
        seed=seed,
    )
    history = run_to_end(MaxBatchSearch(fit_template(), exact=exact), device, most=40)
    answer = conclude(history)
    ran = {record.batch_size for record in history if record.ok}
    assert {answer.max_batch, answer.safe_batch} - {None} <= ran
    keys = [record.spec.key for record in history]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("limit", [3, 40, 1500])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_search_cut_anywhere_goes_on_as_if_it_never_stopped(variant: str, limit: int) -> None:
    device = device_for(limit, **VARIANTS[variant])
    history = run_to_end(MaxBatchSearch(fit_template()), device)
    for cut in range(len(history)):
        proposal = MaxBatchSearch(fit_template()).ask(history[:cut])
        assert proposal is not None
        assert proposal.spec == history[cut].spec
    assert MaxBatchSearch(fit_template()).ask(history) is None
