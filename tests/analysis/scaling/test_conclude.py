"""What a study of scaling concludes from what was planted in its trials."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.scaling.studies import (
    PERFECT,
    a_failure,
    a_request,
    a_trial,
    concluded,
    one_device,
    row_of,
    said,
    trials,
)
from traindyno.analysis.scaling.conclude import conclude_scale
from traindyno.core.answers.scaling import ScaleAnswer
from traindyno.core.codec import decode, encode
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import WorkloadSpec
from traindyno.core.scaling import Group


def test_a_device_without_costs_scales_perfectly() -> None:
    answer = concluded(f"noise=0,{PERFECT}", devices=(1, 2, 4), batches_per_device=(32, 64))
    for row in answer.rows:
        assert row.efficiency == pytest.approx(1)
        assert row.communication_share == 0
        assert row.waiting_share == pytest.approx(0)


def test_shares_and_what_is_left_of_linear_add_up_to_the_step() -> None:
    answer = concluded("noise=0,straggler=0.3", devices=(1, 4), batches_per_device=(64,))
    row = row_of(answer, 4, 64)
    assert row.efficiency is not None
    assert row.communication_share is not None
    assert row.waiting_share is not None
    slower_on_average = 0.3 / 4 * row.efficiency
    assert row.efficiency + row.communication_share + row.waiting_share + slower_on_average == pytest.approx(1)
    assert said(answer.verdicts, "of the 100 points of the step", "to communication", "to waiting for the slowest rank")


def test_efficiency_is_against_the_same_batch_each_and_speed_up_against_the_same_batch_in_all() -> None:
    records = [one_device(32, 0.05), one_device(64, 0.1), a_trial(64, (0.05, 0.05), exposed=0.01)]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    row = row_of(answer, 2, 32)
    assert row.efficiency == pytest.approx(0.05 / 0.06)
    assert row.speedup == pytest.approx(0.1 / 0.06)
    assert row.examples_per_second == pytest.approx(64 / 0.06)
    assert row_of(answer, 1, 32).efficiency == 1


def test_intervals_cover_the_differences_between_processes() -> None:
    apart = [one_device(64, 0.1), one_device(64, 0.12, repeat=1)]
    both = [a_trial(128), a_trial(128, (0.12, 0.12), repeat=1)]
    answer = conclude_scale(a_request(), [*apart, *both], seconds=1.0, simulated=False)
    row = row_of(answer, 2, 64)
    assert row.efficiency_ci95 is not None
    assert row.efficiency_ci95[1] > 1.3 * row.efficiency_ci95[0]
    assert not said(answer.verdicts, "measured once")


def test_a_single_round_is_told_to_know_nothing_of_other_processes() -> None:
    answer = conclude_scale(a_request(), [one_device(64, 0.1), a_trial(128)], seconds=1.0, simulated=False)
    assert said(answer.verdicts, "measured once", "--repeats")


def test_without_one_device_the_fewest_are_the_base_and_it_is_said() -> None:
    answer = concluded("", devices=(2, 4), batches_per_device=(64,))
    assert row_of(answer, 2, 64).efficiency == 1
    assert (row_of(answer, 4, 64).efficiency or 0) > 0.8
    assert said(answer.verdicts, "against two, the fewest", "--devices 1")


def test_communication_is_told_with_how_much_of_it_is_hidden() -> None:
    answer = concluded("noise=0.001,overlap=0.25", devices=(1, 2), batches_per_device=(64,))
    row = row_of(answer, 2, 64)
    assert row.hidden_share == pytest.approx((row.communication_share or 0) / 3, rel=0.05)
    assert said(answer.verdicts, "Communication is", "two devices with 64 each", "25 % goes on beside computing")


def test_communication_that_costs_more_than_its_exchange_is_told_so_and_no_cause_is_made_up() -> None:
    records = [one_device(64, 0.1), a_trial(128, exposed=0.05, exchange=0.02)]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    assert row_of(answer, 2, 64).hidden_share == 0
    assert said(answer.verdicts, "exchange takes 20.0 ms", "longer by 50.0 ms, which is more")
    assert not said(answer.verdicts, "slows computing down")


def test_communication_as_long_as_its_exchange_within_chance_is_called_neither_hidden_nor_longer() -> None:
    records = [one_device(64, 0.1), a_trial(128, exposed=0.0201, exchange=0.02)]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    assert said(answer.verdicts, "exchange takes 20.0 ms", "beside computing is too close to tell")
    assert not said(answer.verdicts, "which is more")


def test_what_is_missing_is_not_parted_where_the_base_communicates_too() -> None:
    two = a_trial(128, (0.09, 0.09), exposed=0.01)
    four = a_trial(256, (0.09,) * 4, exposed=0.018)
    answer = conclude_scale(a_request(devices=(2, 4)), [two, four], seconds=1.0, simulated=False)
    assert said(answer.verdicts, "Four devices with 64 each train 1.85 times", "93 % of linear")
    assert not said(answer.verdicts, "are lost")


def test_what_is_missing_is_not_parted_where_its_parts_exceed_it() -> None:
    shorter = conclude_scale(
        a_request(), [one_device(64, 0.1), a_trial(128, (0.095,) * 2, exposed=0.02)], seconds=1.0, simulated=False
    )
    assert said(shorter.verdicts, "87 % of linear")
    assert not said(shorter.verdicts, "are lost")


@settings(max_examples=15, deadline=None)
@given(st.floats(0.1, 1.0), st.sampled_from([2, 4, 8]))
def test_a_planted_straggler_is_named_and_takes_nothing_for_communication(slower: float, devices: int) -> None:
    plain, held_up = (
        concluded(f"straggler={share}", devices=(1, devices), batches_per_device=(64,)) for share in (0.0, slower)
    )
    assert [rank.rank for rank in held_up.ranks if rank.straggles] == [devices - 1]
    assert not any(rank.straggles for rank in plain.ranks)
    before, after = row_of(plain, devices, 64), row_of(held_up, devices, 64)
    assert (after.communication_share or 0) <= (before.communication_share or 0) + 0.005
    assert (after.waiting_share or 0) > (before.waiting_share or 0)
    assert said(held_up.verdicts, f"Rank {devices - 1} on node-0 is a straggler", "computes more slowly")
    assert said(held_up.verdicts, "in training they wait", "not communication")


def test_a_straggler_that_waits_for_its_batches_is_told_so() -> None:
    late = a_trial(256, (0.1, 0.1, 0.1, 0.14), loads=(0.002, 0.002, 0.002, 0.042))
    answer = conclude_scale(a_request(devices=(4,)), [late], seconds=1.0, simulated=False)
    assert answer.ranks[3].because == "waits 42.0 ms per step for its batches"
    assert row_of(answer, 4, 64).load_share == pytest.approx(0.042 / 0.15)


def test_batches_that_are_loaded_while_gradients_are_sent_are_no_waiting_in_training() -> None:
    """Alone a rank waits 40 of 100 ms for its batch; together it sends for 40 ms, and its batch is there."""
    waits, none = (0.04, 0.04), (0.0, 0.0)
    hidden = a_trial(128, (0.1, 0.1), exposed=0.0, exchange=0.04, loads=waits, together_loads=none)
    answer = conclude_scale(a_request(devices=(2,)), [hidden], seconds=1.0, simulated=False)
    row = row_of(answer, 2, 64)
    assert row.load_share == 0
    assert row.load_hidden_share == pytest.approx(0.4)
    assert row.hidden_share == 0, "what goes on beside loading does not go on beside computing"
    assert not said(answer.verdicts, "the slowest rank waits")
    assert said(answer.verdicts, "Without communication the slowest rank would wait 40 % of the step more")


def test_nobody_waits_in_training_for_a_rank_whose_batches_come_while_all_communicate() -> None:
    late, in_time = (
        a_trial(128, (0.06, 0.1), exposed=0.0, loads=(0.0, 0.04), together_loads=(0.0, together))
        for together in (0.04, 0.0)
    )
    waits, waits_not = (
        row_of(conclude_scale(a_request(devices=(2,)), [trial], seconds=1.0, simulated=False), 2, 64)
        for trial in (late, in_time)
    )
    assert waits.waiting_share == pytest.approx(0.2)
    assert waits_not.waiting_share == pytest.approx(0)


def test_turns_that_wait_for_a_late_batch_count_in_what_ranks_wait_for_each_other() -> None:
    late = [0.05] * 5 + [0.35]
    fed, resident = (
        conclude_scale(
            a_request(devices=(2,)), [a_trial(128, (0.1, 0.1), loads=loads, means=late)], seconds=1.0, simulated=False
        )
        for loads in ((0.0, 0.0), None)
    )
    assert row_of(fed, 2, 64).waiting_share == pytest.approx(0)
    assert row_of(resident, 2, 64).waiting_share == pytest.approx(0.05 / 0.11)


def test_ranks_are_known_again_by_their_machine_where_ranks_are_dealt_anew() -> None:
    first = a_trial(128, (0.1, 0.13), nodes=("a", "b"))
    second = a_trial(128, (0.13, 0.1), nodes=("b", "a"), repeat=1)
    answer = conclude_scale(a_request(devices=(2,)), [first, second], seconds=1.0, simulated=False)
    assert [(rank.node, rank.straggles) for rank in answer.ranks] == [("a", False), ("b", True)]


def test_ranks_that_are_slow_by_turns_are_uneven_and_nobody_is_blamed() -> None:
    turns = [a_trial(128, (0.1, 0.13)), a_trial(128, (0.13, 0.1), repeat=1)]
    answer = conclude_scale(a_request(devices=(2,)), turns, seconds=1.0, simulated=False)
    assert not any(rank.straggles for rank in answer.ranks)
    assert said(answer.verdicts, "Ranks wait", "uneven")


def test_time_and_cost_to_train_count_every_device() -> None:
    fields = {"examples": 1000, "epochs": 2.0, "price_per_hour": 3.0}
    records = [one_device(64, 0.1), a_trial(128, (0.1, 0.1))]
    answer = conclude_scale(a_request(**fields), records, seconds=1.0, simulated=False)
    one, two = row_of(answer, 1, 64), row_of(answer, 2, 64)
    assert one.training_seconds == pytest.approx(32 * 0.1)
    assert two.training_seconds == pytest.approx(16 * 0.11)
    assert two.cost == pytest.approx(16 * 0.11 / 3600 * 3.0 * 2)
    assert said(answer.verdicts, "shortest on two devices")
    assert said(answer.verdicts, "costs the least on one device")


def test_the_rate_follows_the_batch_by_the_rule() -> None:
    given_rate = {"learning_rate": 0.1, "rate_batch": 32, "batches_per_device": (32,), "devices": (1, 4)}
    linear, root = (concluded("", rate_rule=rule, **given_rate) for rule in ("linear", "sqrt"))
    assert row_of(linear, 4, 32).learning_rate == pytest.approx(0.4)
    assert row_of(root, 4, 32).learning_rate == pytest.approx(0.2)
    assert said(linear.advice, "batch of 128 in all instead of 32", "a quarter as many steps")
    assert said(linear.advice, "linear rule", "0.1 at batch 32 becomes 0.4 at 128")
    assert said(linear.advice, "Warm the rate up", "regularisation anew", "--batch-size 32,128")


def test_keeping_the_batch_in_all_is_advised_with_what_was_measured() -> None:
    answer = concluded("", devices=(1, 2), batches_per_device=(64,), global_batches=(64,))
    assert said(answer.advice, "Or keep 64 in all", "as measured")


def test_adam_is_pointed_to_its_own_rule() -> None:
    adam = WorkloadSpec(model="torchvision:resnet50", optimizer="adam")
    answer = concluded("", workload=adam, batches_per_device=(32,), learning_rate=0.001, rate_batch=32)
    assert said(answer.advice, "adam", "--lr-rule sqrt")


def test_the_fewest_devices_that_are_nearly_as_fast_are_recommended() -> None:
    records = [one_device(64, 0.1), a_trial(128, (0.2, 0.2), exposed=-0.004)]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    assert answer.fastest == 1
    assert answer.recommended == 0
    assert said(answer.verdicts, "fastest way measured is two devices", "one device with 64 comes within 3 %")


def test_larger_buckets_are_found_better_where_every_message_costs() -> None:
    answer = concluded("latency=1e-3", devices=(1, 2), batches_per_device=(32,), bucket_mib=(1.0, 25.0))
    assert said(answer.verdicts, "Buckets of 25 MiB are the best", "as fast as buckets of 1 MiB")
    assert said(concluded("", batches_per_device=(32,), bucket_mib=(25.0, 1.0)).verdicts, "None of the buckets")


def test_sending_once_for_several_parts_is_compared_with_sending_for_each() -> None:
    answer = concluded("bandwidth=2e9", devices=(1, 2), batches_per_device=(64, 256), accumulations=(1, 4))
    assert said(answer.verdicts, "The same batch in 4 parts")
    assert said(answer.verdicts, "sending gradients once for 4 parts", "with 64 in a part")


def test_what_failed_is_a_row_without_numbers() -> None:
    broken = a_failure(4, 256, Outcome.HANG, "rank 3 hangs")
    records = [one_device(64, 0.1), a_failure(2, 1024, Outcome.OUT_OF_DEVICE_MEMORY), broken]
    answer = conclude_scale(a_request(devices=(1, 2, 4)), records, seconds=1.0, simulated=False)
    assert [row.failure for row in answer.rows] == [None, "out of device memory: it broke", "hang: rank 3 hangs"]
    assert row_of(answer, 4, 64).examples_per_second is None
    assert said(answer.verdicts, "Two devices with 512 each ran out of memory", "left out")
    assert said(answer.verdicts, "Four devices with 64 each could not be measured")


def test_a_way_that_failed_once_still_has_the_numbers_of_its_other_trials() -> None:
    failed = a_failure(1, 64, Outcome.KILLED)
    answer = conclude_scale(a_request(), [one_device(64, 0.1, repeat=1), failed], seconds=1.0, simulated=False)
    assert [row.failure for row in answer.rows] == [None]


def test_a_count_that_the_study_did_not_come_to_is_named_first() -> None:
    answer = conclude_scale(a_request(devices=(1, 2)), [one_device(64, 0.1)], seconds=1.0, simulated=False)
    assert answer.verdicts[0] == "Two devices were not measured: what is recommended leaves that open."


def test_nothing_measured_is_an_error_with_the_first_failure() -> None:
    failed = [a_failure(1, 64, Outcome.CUDA_FAULT, "first"), a_failure(2, 64, Outcome.HANG, "second")]
    with pytest.raises(NothingMeasuredError, match="first") as caught:
        conclude_scale(a_request(), failed, seconds=1.0, simulated=False)
    assert "CUDA_LAUNCH_BLOCKING" in (caught.value.hint or "")


def test_on_a_cpu_devices_are_told_to_share_one_processor() -> None:
    answer = conclude_scale(a_request("cpu"), [one_device(64, 0.1), a_trial(128)], seconds=1.0, simulated=False)
    assert answer.threads_per_device == 1
    assert said(answer.verdicts, "process with 1 thread", "share of one processor")


def test_one_device_alone_tells_what_the_wrapper_costs() -> None:
    answer = concluded("", devices=(1,), batches_per_device=(32, 64))
    assert answer.ddp_cost == pytest.approx(0.008)
    assert answer.break_even == ()
    assert answer.predicted == ()
    assert answer.advice == ()
    assert said(answer.verdicts, "wrapper", "0.8 % longer")


def test_gradients_sent_by_the_user_s_hook_foretell_nothing() -> None:
    records = [one_device(64, 0.1), a_trial(128, exchange=None, exchanges=())]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    assert row_of(answer, 2, 64).hidden_share is None
    assert row_of(answer, 2, 64).communication_share == pytest.approx(0.01 / 0.11)
    assert said(answer.verdicts, "Nothing is predicted", "own hook")


def test_communication_within_chance_is_called_so() -> None:
    records = [one_device(64, 0.1), a_trial(128, exposed=0.0001), a_trial(128, exposed=-0.0001, repeat=1)]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    assert said(answer.verdicts, "Communication adds nothing beyond chance")


def test_communication_that_differs_between_processes_is_not_called_nothing() -> None:
    records = [one_device(64, 0.1), a_trial(128, exposed=0.05), a_trial(128, exposed=0.02, repeat=1)]
    answer = conclude_scale(a_request(), records, seconds=1.0, simulated=False)
    assert row_of(answer, 2, 64).communication_share_ci95 == (0.0, 1.0)
    assert said(answer.verdicts, "What communication adds", "too uneven to tell", "25 % was seen", "--repeats")


def test_an_answer_survives_being_stored() -> None:
    request = a_request(devices=(1, 2), batches_per_device=(32,))
    answer = conclude_scale(request, trials("", request), seconds=1.0, simulated=True)
    assert decode(encode(answer), ScaleAnswer) == answer


def test_groups_with_other_buckets_are_rows_of_their_own() -> None:
    records = [a_trial(64), a_trial(64, exposed=0.03, group=Group(devices=2, bucket_mib=1.0))]
    answer = conclude_scale(a_request(devices=(2,)), records, seconds=1.0, simulated=False)
    assert [row.bucket_mib for row in answer.rows] == [1.0, 25.0]


def test_whether_the_last_devices_still_bring_anything_is_told() -> None:
    fast, slow = (concluded(link, devices=(1, 2, 4), batches_per_device=(64,)) for link in ("", "latency=5e-2"))
    assert not said(fast.verdicts, "From two to four devices")
    assert said(slow.verdicts, "From two to four devices with 64 each throughput hardly grows", "do not pay")
