"""The order of runs to a target: what comes first, who takes turns, who is given up, and that it can be resumed."""

import math
from collections.abc import Callable

import msgspec
import pytest

from analysis.target_races import EXAMPLES, MISS, SETTINGS, TEMPLATE, failed, request_of, run_of, without_accuracy
from traindyno.analysis.target_settling import evaluation_examples_of, run_specs, settled_contenders
from traindyno.core.learning import Recipe, Target
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import Contender, TargetRequest
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.target import TargetPlan

Answering = Callable[[TrialSpec], TrialRecord]


def followed(request: TargetRequest, answer: Answering, most: int = 200) -> list[TrialRecord]:
    """The whole study, with every trial answered in this way."""
    plan, history = TargetPlan(TEMPLATE, request), list[TrialRecord]()
    while (proposal := plan.ask(history)) is not None and len(history) < most:
        assert proposal.expected_trials > len(history)
        history.append(answer(proposal.spec))
    return history


def simulated(spec: TrialSpec) -> TrialRecord:
    return SimulatedRunner(Profile(examples=5000)).run(spec, Watcher(), None)


def crossing_at(examples: float) -> Answering:
    return lambda spec: run_of(spec, examples)


def without_evaluation(request: TargetRequest) -> TargetRequest:
    return msgspec.structs.replace(request, recipe=Recipe(learning_rate=0.1, epochs=4.0))


def test_every_seed_is_run_by_all_before_the_next_begins() -> None:
    history = followed(request_of(10, 20, 40, seeds=5), crossing_at(500))
    assert len(history) == 15
    rounds = [history[first : first + 3] for first in range(0, 15, 3)]
    assert [{record.spec.seed for record in each} for each in rounds] == [{0}, {1}, {2}, {3}, {4}]
    assert all({record.batch_size for record in each} == {10, 20, 40} for each in rounds)


def test_the_order_within_a_seed_changes() -> None:
    history = followed(request_of(10, 20, 40, seeds=6), crossing_at(500))
    orders = {tuple(record.batch_size for record in history[first : first + 3]) for first in range(0, 18, 3)}
    assert len(orders) > 1


@pytest.mark.parametrize("cut", [0, 1, 4, 7])
def test_a_study_cut_anywhere_goes_on_with_the_same_trial(cut: int) -> None:
    request = without_evaluation(request_of(10, 20, seeds=4))
    history = followed(request, crossing_at(500))
    proposal = TargetPlan(TEMPLATE, request).ask(history[:cut])
    assert proposal is not None
    assert proposal.spec == history[cut].spec


def test_all_are_evaluated_after_equally_many_examples_and_never_oftener_than_the_largest_batch() -> None:
    request = without_evaluation(request_of(10, 400, seeds=2))
    history = followed(request, crossing_at(500))
    every = {record.spec.recipe.evaluation_examples for record in history[1:] if record.spec.recipe is not None}
    assert every == {400}


def test_a_first_run_shows_how_often_to_evaluate_and_is_not_counted() -> None:
    request = without_evaluation(request_of(10, 20, seeds=2))
    history = followed(request, crossing_at(2 * EXAMPLES))
    first = history[0].spec
    assert first.seed not in {record.spec.seed for record in history[1:]}
    runs = run_specs(request, TEMPLATE, history)
    assert first.key not in {spec.key for specs in runs.values() for spec in specs}
    assert evaluation_examples_of(request, request.contenders, history) == 2 * EXAMPLES // 16


def test_where_the_first_run_misses_every_quarter_of_an_epoch_is_evaluated() -> None:
    request = without_evaluation(request_of(10, 20, seeds=2))
    history = followed(request, crossing_at(MISS))
    assert evaluation_examples_of(request, request.contenders, history) == EXAMPLES // 4


def test_nothing_precedes_the_runs_where_rates_and_evaluations_are_given() -> None:
    history = followed(request_of(10, 20, seeds=2), crossing_at(500))
    assert {record.spec.kind for record in history} == {"learn"}
    assert len(history) == 4


def test_what_does_not_fit_is_given_up_at_once_and_what_crashes_at_the_second_time() -> None:
    def answer(spec: TrialSpec) -> TrialRecord:
        if spec.settings.batch_size == 40:
            return failed(spec)
        return failed(spec, Outcome.CRASH) if spec.settings.batch_size == 20 else run_of(spec, 500)

    history = followed(request_of(10, 20, 40, seeds=5), answer)
    sizes = [record.batch_size for record in history]
    assert (sizes.count(10), sizes.count(20), sizes.count(40)) == (5, 2, 1)


def test_the_gain_rule_measures_the_noise_first_with_seeds_of_its_own() -> None:
    request = request_of(16, 64, rule="gain", reference_batch=16, seeds=2)
    history = followed(request, simulated)
    kinds = [record.spec.kind for record in history]
    assert kinds == ["noise", "noise", *["learn"] * 4]
    counted = {record.spec.seed for record in history if record.spec.kind == "learn"}
    assert not counted & {record.spec.seed for record in history if record.spec.kind == "noise"}
    rates = {each.label: each.learning_rate or 0.0 for each in settled_contenders(request, history)}
    assert rates["batch 16"] == 0.1
    assert 0.1 < rates["batch 64"] < 0.4


def test_the_gain_rule_is_that_of_the_optimiser_that_readings_found() -> None:
    def answer(spec: TrialSpec) -> TrialRecord:
        record = simulated(spec)
        if record.measurement is None or record.measurement.noise is None:
            return record
        noise = msgspec.structs.replace(record.measurement.noise, preconditioned=True)
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, noise=noise))

    request = request_of(16, 64, rule="gain", reference_batch=16, seeds=1)
    plain, adam = (settled_contenders(request, followed(request, how))[1] for how in (simulated, answer))
    assert plain.learning_rate is not None
    assert adam.learning_rate == pytest.approx(0.1 * math.sqrt(plain.learning_rate / 0.1))


def test_outputs_that_are_no_classes_end_the_race_to_an_accuracy_with_its_first_run() -> None:
    for request in (request_of(10, 20, seeds=3), without_evaluation(request_of(10, 20, rule="gain"))):
        assert len(followed(request, lambda spec: without_accuracy(run_of(spec, MISS)))) == 1
    loss = request_of(10, 20, seeds=3, target=Target(metric="loss", value=0.2))
    assert len(followed(loss, lambda spec: without_accuracy(run_of(spec, MISS)))) == 6


def test_rates_of_their_own_need_no_noise() -> None:
    own = tuple(Contender(label=str(rate), settings=SETTINGS, learning_rate=rate) for rate in (0.1, 0.2))
    history = followed(request_of(contenders=own, rule="gain", seeds=2), simulated)
    assert {record.spec.recipe.learning_rate for record in history if record.spec.recipe} == {0.1, 0.2}
    assert {record.spec.kind for record in history} == {"learn"}


def test_noise_that_hides_the_gradient_ends_the_study_before_any_run() -> None:
    def answer(spec: TrialSpec) -> TrialRecord:
        record = simulated(spec)
        assert record.measurement is not None
        assert record.measurement.noise is not None
        blind = tuple(
            msgspec.structs.replace(each, gradient_squared=(-1.0) ** number)
            for number, each in enumerate(record.measurement.noise.readings)
        )
        noise = msgspec.structs.replace(record.measurement.noise, readings=blind)
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, noise=noise))

    history = followed(request_of(16, 64, rule="gain", reference_batch=16), answer)
    assert [record.spec.kind for record in history] == ["noise", "noise"]


def test_verifying_times_the_step_and_trains_a_quarter_of_the_best_batch_it_and_four_times_it() -> None:
    request = request_of(verify=True, rule="gain", reference_batch=16, seeds=2)
    history = followed(request, simulated)
    runs = run_specs(request, TEMPLATE, history)
    sizes = [specs[0].settings.batch_size for specs in runs.values()]
    assert len(sizes) == 3
    assert sizes[1] == 4 * sizes[0]
    assert sizes[2] == 4 * sizes[1]
    timed = {record.batch_size for record in history if record.spec.kind == "speed"}
    assert timed >= {2**power for power in range(1, 11)}
    assert sum(record.spec.kind == "learn" for record in history) == 6


def test_a_batch_larger_than_the_data_is_tried_once_and_makes_evaluations_no_rarer() -> None:
    def answer(spec: TrialSpec) -> TrialRecord:
        if spec.settings.batch_size <= EXAMPLES:
            return run_of(spec, 500)
        record = failed(spec, Outcome.USER_ERROR)
        assert record.failure is not None
        failure = msgspec.structs.replace(record.failure, details={"code": "larger_than_data"})
        return msgspec.structs.replace(record, failure=failure)

    request = without_evaluation(request_of(10, 2 * EXAMPLES, seeds=3))
    history = followed(request, answer)
    assert [record.batch_size for record in history].count(2 * EXAMPLES) == 1
    assert evaluation_examples_of(request, request.contenders, history) == EXAMPLES // 16


def test_where_the_first_run_cannot_be_made_another_way_to_train_makes_it() -> None:
    def answer(spec: TrialSpec) -> TrialRecord:
        return failed(spec) if spec.settings.batch_size == 40 else run_of(spec, 500)

    request = without_evaluation(request_of(10, 40, seeds=2, reference_batch=80))
    history = followed(request, answer)
    assert [record.batch_size for record in history[:2]] == [40, 10]
    assert evaluation_examples_of(request, request.contenders, history) == EXAMPLES // 16
    assert sum(record.ok for record in history) == 1 + 2
