"""Which groups of devices are measured, and in which order."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from search.fake_device import device_for, failed, failure, speed_template
from traindyno.analysis.probes import BATCH_NORM_SINGLE_VALUE
from traindyno.analysis.scaling.points import point_of
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, ScaleRequest
from traindyno.search.scale import Point, ScaleSweep, points_of

Judge = Callable[[Point], Failure | None]
TEMPLATE = msgspec.structs.replace(speed_template(), kind="scale")


def asked(**fields: Any) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    workload, bench, settings = WorkloadSpec(model="m"), Bench(), Settings(batch_size=1)
    return points_of(ScaleRequest(workload=workload, bench=bench, settings=settings, **fields))


def sweep(points: Sequence[Point], repeats: int = 2, seed: int = 0) -> ScaleSweep:
    return ScaleSweep(TEMPLATE, points, repeats, seed)


def run(strategy: ScaleSweep, judge: Judge = lambda point: None) -> list[TrialRecord]:
    device, history = device_for(10**6), list[TrialRecord]()
    while (proposal := strategy.ask(history)) is not None:
        assert len(history) < 200, "the sweep does not come to an end"
        why = judge(point_of(proposal.spec))
        history.append(device.run(proposal.spec) if why is None else failed(proposal.spec, why))
    return history


def tried(history: Sequence[TrialRecord], repeat: int | None = None) -> list[tuple[int, int]]:
    points = [point_of(record.spec) for record in history if repeat in (None, record.spec.repeat)]
    return [(point.devices, point.batch_per_device) for point in points]


WEAK, _ = asked(devices=(1, 2, 4), batches_per_device=(16, 32))


def test_weak_scaling_keeps_the_batch_of_each_device_and_strong_scaling_shares_it() -> None:
    weak, _ = asked(devices=(1, 2), batches_per_device=(32,))
    strong, _ = asked(devices=(1, 2), global_batches=(32,))
    assert [(point.devices, point.batch_size) for point in weak] == [(1, 32), (2, 64)]
    assert [(point.devices, point.batch_size) for point in strong] == [(1, 32), (2, 32)]


def test_what_both_ways_of_asking_share_is_measured_once() -> None:
    points, left_out = asked(devices=(2, 1), batches_per_device=(32,), global_batches=(64, 32))
    assert [(point.devices, point.batch_per_device) for point in points] == [(1, 32), (1, 64), (2, 16), (2, 32)]
    assert left_out == ()


def test_a_batch_that_devices_cannot_share_is_left_out_for_them_and_told() -> None:
    points, left_out = asked(devices=(1, 3), global_batches=(32, 48))
    assert [(point.devices, point.batch_size) for point in points] == [(1, 32), (1, 48), (3, 48)]
    assert left_out == ("A batch of 32 in all was left out for 3 devices: 3 devices cannot share it evenly.",)


def test_devices_spread_evenly_over_nodes_and_fewer_than_those_stay_on_the_first() -> None:
    points, left_out = asked(devices=(1, 2, 3, 4), nodes=2, batches_per_device=(8,))
    assert [(point.devices, point.nodes) for point in points] == [(1, 1), (2, 2), (4, 2)]
    assert left_out == ("3 devices were left out: they do not spread evenly over 2 nodes.",)


def test_further_buckets_and_accumulations_are_measured_one_at_a_time_with_the_most_devices() -> None:
    points, _ = asked(devices=(1, 2), batches_per_device=(32,), bucket_mib=(25.0, 1.0), accumulations=(1, 4))
    assert [(point.devices, point.bucket_mib, point.accumulation_steps) for point in points] == [
        (1, 25.0, 1),
        (2, 25.0, 1),
        (2, 25.0, 4),
        (2, 1.0, 1),
    ]


def test_a_batch_that_does_not_split_into_its_parts_is_left_out_and_told() -> None:
    points, left_out = asked(devices=(1,), batches_per_device=(2, 8), accumulations=(4,))
    assert [point.batch_per_device for point in points] == [8]
    assert left_out == (
        "A batch of 2 per device was left out with accumulation: it does not split into 4 equal parts.",
    )


def test_buckets_of_a_single_device_are_left_out_and_told() -> None:
    points, left_out = asked(devices=(1,), batches_per_device=(8,), bucket_mib=(25.0, 1.0))
    assert len(points) == 1
    assert "one device sends no gradients" in left_out[0]


def test_the_first_round_goes_from_cheap_to_dear_and_later_ones_by_chance() -> None:
    history = run(sweep(WEAK, repeats=3))
    assert tried(history, 0) == sorted(tried(history, 0))
    assert Counter(tried(history)) == {(point.devices, point.batch_per_device): 3 for point in WEAK}
    assert len({tuple(tried(run(sweep(WEAK, seed=seed)), 1)) for seed in range(5)}) > 1


def test_a_trial_has_its_group_and_the_batch_of_all_devices() -> None:
    proposal = sweep(asked(devices=(4,), nodes=2, batches_per_device=(8,), accumulations=(2,))[0]).ask([])
    assert proposal is not None
    assert proposal.spec.settings.batch_size == 32
    assert proposal.spec.settings.accumulation_steps == 2
    assert proposal.spec.group is not None
    assert (proposal.spec.group.devices, proposal.spec.group.nodes) == (4, 2)


def test_a_study_cut_anywhere_goes_on_as_if_it_had_not_been() -> None:
    plan = sweep(WEAK)
    history = run(plan)
    for cut in range(len(history)):
        proposal = plan.ask(history[:cut])
        assert proposal is not None
        assert proposal.spec == history[cut].spec
        assert proposal.expected_trials == len(history)


def test_an_interrupted_trial_is_asked_for_again() -> None:
    plan = sweep(WEAK)
    first = plan.ask([])
    assert first is not None
    again = plan.ask([failed(first.spec, failure(Outcome.INTERRUPTED))])
    assert again is not None
    assert again.spec == first.spec


def test_memory_that_ends_on_a_device_rules_out_as_much_on_more_devices() -> None:
    full = failure(Outcome.OUT_OF_DEVICE_MEMORY)
    points, _ = asked(devices=(1, 2, 4), batches_per_device=(16, 32, 64))
    history = run(sweep(points), lambda point: full if point.batch_per_device >= 32 and point.devices >= 2 else None)
    assert tried(history, 0) == [(1, 16), (1, 32), (1, 64), (2, 16), (2, 32), (4, 16)]
    assert (2, 32) not in tried(history, 1)


def test_a_batch_in_parts_is_tried_although_it_did_not_fit_as_a_whole() -> None:
    full = failure(Outcome.OUT_OF_DEVICE_MEMORY)
    points, _ = asked(devices=(1,), batches_per_device=(64,), accumulations=(1, 4))
    history = run(sweep(points), lambda point: full if point.part > 32 else None)
    assert [record.spec.settings.accumulation_steps for record in history if record.ok] == [4, 4]


def test_a_bug_in_the_user_s_code_ends_the_study_with_the_cheapest_trial() -> None:
    history = run(sweep(WEAK), lambda point: failure(Outcome.USER_ERROR))
    assert tried(history) == [(1, 16)]


def test_a_count_of_devices_that_keeps_failing_is_given_up_and_the_others_go_on() -> None:
    points, _ = asked(devices=(1, 2, 4), batches_per_device=(8, 16, 32))
    lost = failure(Outcome.INFRASTRUCTURE)
    history = run(sweep(points), lambda point: lost if point.devices == 2 else None)
    assert Counter(devices for devices, _ in tried(history)) == {1: 6, 2: 2, 4: 6}


def test_one_failure_of_a_count_rules_out_nothing_else() -> None:
    crash = failure(Outcome.CRASH)
    history = run(sweep(WEAK), lambda point: crash if (point.devices, point.batch_per_device) == (2, 16) else None)
    assert Counter(tried(history))[2, 16] == 1
    assert Counter(tried(history))[2, 32] == 2


def test_batch_normalisation_that_needs_two_examples_does_not_end_the_study() -> None:
    single = failure(Outcome.USER_ERROR, code=BATCH_NORM_SINGLE_VALUE)
    points, _ = asked(devices=(1, 2), batches_per_device=(1, 8))
    history = run(sweep(points), lambda point: single if point.batch_per_device == 1 else None)
    assert Counter(tried(history)) == {(1, 1): 1, (2, 1): 1, (1, 8): 2, (2, 8): 2}


def test_trials_of_other_kinds_are_not_counted() -> None:
    other = TrialSpec(kind="speed", workload=TEMPLATE.workload, settings=TEMPLATE.settings)
    broken = failed(other, failure(Outcome.USER_ERROR))
    assert sweep(WEAK).ask([broken]) is not None
