"""What another batch gains on the way to the same loss, and what it asks of rate and length."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.find_documents import OWN, WORKLOAD, baseline, finalist
from report.machines import bench
from traindyno.analysis.find.forecast import EpochEdge
from traindyno.analysis.find.learning import examples_needed, sooner_by, weighed
from traindyno.analysis.find.training import Trained, training_time, with_rate
from traindyno.analysis.noise_scale import UNKNOWN_NOISE, NoiseEstimate
from traindyno.analysis.steps_model import relative_examples, relative_steps
from traindyno.core.answers import Finalist
from traindyno.core.loading import Loading
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Memory, TrialRecord, TrialSpec
from traindyno.core.requests import FindRequest

NOISE = NoiseEstimate(value=256.0, ci95=(128.0, 512.0))
REQUEST = FindRequest(
    workload=WORKLOAD, bench=bench(), settings=OWN, objective="time-to-accuracy", epochs=10.0, learning_rate=0.1
)


def started_in(seconds: float) -> TrialRecord:
    """A run end to end whose loader had its first batch after so many seconds."""
    measurement = Measurement(
        batch_size=256, steps=1, step_seconds=0.1, ci95=(0.1, 0.1), steady=True, blocks=(), memory=Memory(peak_bytes=1),
        start_up_seconds=1.0, first_step_seconds=0.1, warm_up_seconds=0.0, warm_up_steps=0,
        loading=Loading(start_up_seconds=seconds),
    )  # fmt: skip
    spec = TrialSpec(kind="feed", workload=WORKLOAD, settings=OWN)
    return TrialRecord(spec=spec, outcome=Outcome.OK, seconds=10.0, measurement=measurement)


sizes, scales = st.integers(1, 10_000), st.floats(0.1, 1e6)


def way(batch_size: int, rate: float) -> Finalist:
    return finalist("way", WORKLOAD.data, msgspec.structs.replace(OWN, batch_size=batch_size), rate)


@given(sizes, sizes, scales)
def test_examples_needed_are_the_ratio_of_those_of_both_batches(batch_size: int, own: int, scale: float) -> None:
    needed, interval = examples_needed(batch_size, own, scale)
    assert needed == pytest.approx(relative_examples(batch_size, scale) / relative_examples(own, scale))
    assert interval == (needed, needed), "a scale that is given has no interval"


@given(sizes, sizes, scales, st.floats(1, 1e5), st.floats(1, 1e5))
def test_the_gain_is_the_ratio_of_steps_times_their_seconds(
    batch_size: int, own: int, scale: float, rate: float, own_rate: float
) -> None:
    """Examples per second over examples is the same order as steps times seconds per step."""
    needed, _ = examples_needed(batch_size, own, scale)
    time = relative_steps(batch_size, scale) * batch_size / rate
    own_time = relative_steps(own, scale) * own / own_rate
    assert (rate / own_rate) / needed == pytest.approx(own_time / time)


@given(sizes, sizes, scales, st.floats(1, 10), st.floats(1, 10))
def test_needed_examples_lie_within_what_the_ends_of_the_noise_scale_say(
    batch_size: int, own: int, scale: float, below: float, above: float
) -> None:
    needed, (low, high) = examples_needed(batch_size, own, scale, (scale / below, scale * above))
    assert low <= needed * (1 + 1e-9)
    assert needed <= high * (1 + 1e-9)
    assert min(1.0, batch_size / own) <= low * (1 + 1e-9), "never fewer than in proportion to the batch"
    assert high <= max(1.0, batch_size / own) * (1 + 1e-9)


def test_ends_of_nothing_and_without_bound_are_understood() -> None:
    assert examples_needed(512, 256, 100.0, (0.0, math.inf))[1] == (1.0, 2.0)


def test_at_the_own_batch_the_gain_is_the_speed_itself() -> None:
    found = weighed(way(256, 2000.0), 256, NOISE)
    assert found.examples_needed == 1.0
    assert found.worth == found.speedup
    assert found.worth_ci95 == pytest.approx(found.speedup_ci95)


def test_at_another_batch_the_noise_scale_widens_the_interval() -> None:
    found = weighed(way(512, 2000.0), 256, NOISE)
    assert found.examples_needed == pytest.approx(1.5)
    assert found.worth == pytest.approx(found.speedup / 1.5)
    assert found.worth_ci95[1] / found.worth_ci95[0] > found.speedup_ci95[1] / found.speedup_ci95[0]


def test_without_a_noise_scale_nothing_is_predicted() -> None:
    for noise in (None, UNKNOWN_NOISE):
        found = weighed(way(512, 2000.0), 256, noise)
        assert found.learning_gain is None
        assert found.worth == found.speedup


def test_two_ways_are_compared_by_what_they_are_worth() -> None:
    one, other = weighed(way(512, 2000.0), 256, NOISE), weighed(way(256, 1000.0), 256, NOISE)
    ratio, (low, high) = sooner_by(one, other)
    assert ratio == pytest.approx(2 / 1.5)
    assert low < ratio < high


def test_the_rate_follows_the_gain_rule_where_the_noise_scale_is_known() -> None:
    found = with_rate(way(512, 2000.0), REQUEST, 256.0)
    assert found.learning_rate_factor == pytest.approx((1 + 256 / 256) / (1 + 256 / 512))
    assert found.learning_rate == pytest.approx(0.1 * 4 / 3)
    assert "multiply the learning rate by 1.33 (gain rule, noise scale 256, for sgd)" in found.warnings[0]
    adam = msgspec.structs.replace(REQUEST, workload=msgspec.structs.replace(WORKLOAD, optimizer="adam"))
    assert with_rate(way(512, 2000.0), adam, 256.0).learning_rate_factor == pytest.approx(math.sqrt(4 / 3))


def test_code_that_brings_its_own_optimiser_is_told_the_gain_for_both_kinds() -> None:
    own_code = msgspec.structs.replace(WORKLOAD, model="train.py:workload")
    found = with_rate(way(512, 2000.0), msgspec.structs.replace(REQUEST, workload=own_code), 256.0)
    assert found.learning_rate_factor is None
    assert "1.33 for SGD or 1.15 for Adam and its kin (gain rule, noise scale 256)" in found.warnings[0]


@pytest.mark.parametrize(("persist", "starts"), [(True, 1), (False, 10)])
def test_workers_start_at_every_epoch_or_stay_and_begin_it_with_nothing_ahead(persist: bool, starts: int) -> None:
    """Of a start of 1.0 s, 0.6 s were the first batch's load."""
    settings = msgspec.structs.replace(OWN, num_workers=4, persistent_workers=persist)
    found = finalist("way", WORKLOAD.data, settings, 2000.0)
    edge = EpochEdge(end_seconds=0.2, first_batch_seconds=0.6)
    time = training_time(REQUEST, 1000, Trained(baseline(), ()), Trained(found, (started_in(1.0),), edge))
    assert time is not None
    assert time.seconds == pytest.approx(5.0 + starts * 0.4 + 10 * 0.2)


def test_where_nothing_is_foretold_of_the_edges_every_start_counts_whole() -> None:
    found = finalist("way", WORKLOAD.data, msgspec.structs.replace(OWN, num_workers=4), 2000.0)
    time = training_time(REQUEST, 1000, Trained(baseline(), ()), Trained(found, (started_in(1.0),)))
    assert time is not None
    assert time.seconds == pytest.approx(5.0 + 10 * 1.0)


def test_training_goes_on_for_as_many_epochs_as_the_same_loss_should_take() -> None:
    found = weighed(way(512, 2000.0), 256, NOISE)
    time = training_time(REQUEST, 1000, Trained(baseline(), ()), Trained(found, ()), NOISE)
    assert time is not None
    assert time.epochs_needed == pytest.approx(15.0)
    assert time.seconds == pytest.approx(15.0 * 1000 / 2000)
    assert time.epoch_seconds == pytest.approx(0.5)
    assert time.ci95[0] < 0.9 * time.seconds < 1.1 * time.seconds < time.ci95[1], "by what the noise scale leaves open"
    plain = training_time(REQUEST, 1000, Trained(baseline(), ()), Trained(found, ()))
    assert plain is not None
    assert plain.epochs_needed is None
    assert plain.seconds == pytest.approx(5.0)
