"""The trials of an anatomy study, in their rounds."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from search.fake_device import FakeDevice, device_for, failure, run_to_end, speed_template
from traindyno.analysis.probes import LARGER_THAN_DATA
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.anatomy import AnatomyPlan

TRACE = "/somewhere/trace.json"


def template(batch_size: int = 64, trace_path: str | None = None) -> TrialSpec:
    made = speed_template()
    settings = msgspec.structs.replace(made.settings, batch_size=batch_size)
    return msgspec.structs.replace(made, kind="anatomy", settings=settings, trace_path=trace_path)


def sizes(history: Sequence[TrialRecord], repeat: int | None = None) -> list[int]:
    return [record.batch_size for record in history if repeat in (None, record.spec.repeat)]


def traced(history: Sequence[TrialRecord]) -> list[tuple[int, int]]:
    return [(record.batch_size, record.spec.repeat) for record in history if record.spec.trace_path]


ROOMY = device_for(1000)


def test_every_size_is_measured_in_every_round_and_the_answer_s_comes_first() -> None:
    history = run_to_end(AnatomyPlan(template(), sizes=(1, 8, 16)), ROOMY)
    assert history[0].batch_size == 64
    assert Counter(sizes(history)) == {1: 3, 8: 3, 16: 3, 64: 3}
    assert [record.spec.repeat for record in history] == sorted(record.spec.repeat for record in history)


def test_the_order_depends_on_the_seed_and_the_round() -> None:
    orders = set()
    for seed in range(6):
        history = run_to_end(AnatomyPlan(template(), sizes=(1, 2, 4, 8), seed=seed), ROOMY)
        orders |= {tuple(sizes(history, repeat)) for repeat in range(3)}
    assert len(orders) > 9


def test_a_study_cut_anywhere_goes_on_as_if_it_had_not_been() -> None:
    plan = AnatomyPlan(template(), sizes=(1, 8), repeats=2)
    history = run_to_end(plan, ROOMY)
    for cut in range(len(history)):
        proposal = plan.ask(history[:cut])
        assert proposal is not None
        assert proposal.spec == history[cut].spec
        assert proposal.expected_trials == 6


def test_only_the_first_trial_of_the_answer_s_size_writes_the_trace() -> None:
    history = run_to_end(AnatomyPlan(template(trace_path=TRACE), sizes=(8, 128)), ROOMY)
    assert traced(history) == [(64, 0)]


def test_a_size_that_does_not_fit_is_tried_once_and_the_next_largest_takes_its_place() -> None:
    history = run_to_end(AnatomyPlan(template(64, TRACE), sizes=(8, 32), repeats=2), device_for(40))
    assert sizes(history)[:2] == [64, 32]
    assert Counter(sizes(history)) == {64: 1, 32: 2, 8: 2}
    assert traced([record for record in history if record.ok]) == [(32, 0)]


def test_nothing_larger_than_what_did_not_fit_is_tried() -> None:
    history = run_to_end(AnatomyPlan(template(64), sizes=(8, 128, 256), repeats=1), device_for(40))
    assert sorted(sizes(history)) == [8, 64]


def test_a_batch_larger_than_the_data_is_left_out_like_one_that_does_not_fit() -> None:
    refused = failure(Outcome.USER_ERROR, code=LARGER_THAN_DATA, examples_in_data="50")
    device = FakeDevice(limit_bytes=ROOMY.limit_bytes, failures={64: refused})
    assert Counter(sizes(run_to_end(AnatomyPlan(template(), sizes=(8,)), device))) == {64: 1, 8: 3}


def test_a_bug_of_the_user_s_ends_it_at_once() -> None:
    device = FakeDevice(limit_bytes=ROOMY.limit_bytes, failures={64: failure(Outcome.USER_ERROR)})
    assert sizes(run_to_end(AnatomyPlan(template(), sizes=(8,)), device)) == [64]
