"""The answer of a study of switches, from what its trials found."""

from typing import Any

import msgspec
import pytest

from search.fake_device import failed, failure
from search.fake_switches import (
    BASELINE,
    WORKLOAD,
    FakeBench,
    FirstLook,
    candidates,
    of_arm,
    plan,
    run_study,
    template,
)
from traindyno.analysis.switches import conclude_switches
from traindyno.core.answers import SwitchEffect, SwitchesAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec
from traindyno.core.requests import Bench, SwitchesRequest
from traindyno.search.switches.strategy import SwitchesPlan


def answer_of(bench: FakeBench, *only: str, epoch_examples: int | None = None, **options: Any) -> SwitchesAnswer:
    strategy = plan(*only, **options)
    request = SwitchesRequest(workload=WORKLOAD, bench=Bench(), settings=BASELINE, only=only, **options)
    findings = strategy.findings(run_study(strategy, bench))
    return conclude_switches(request, findings, epoch_examples=epoch_examples)


def effect(answer: SwitchesAnswer, name: str) -> SwitchEffect:
    return next(each for each in answer.effects if f"{each.switch}={each.value}" == name)


def bf16(settings: Settings) -> float:
    return 0.5 if settings.precision == "bf16" else 1.0


def test_what_is_recommended_is_what_differs_from_the_baseline() -> None:
    answer = answer_of(FakeBench(bf16), "precision", "cudnn_benchmark", "tf32")
    assert answer.recommended == {"precision": "bf16"}
    assert answer.speedup == pytest.approx(2, rel=0.02)
    assert answer.speedup_ci95[0] < answer.speedup < answer.speedup_ci95[1]
    assert answer.examples_per_second == pytest.approx(answer.speedup * answer.baseline_examples_per_second)
    assert answer.baseline["precision"] == "fp32"
    assert effect(answer, "precision=bf16").adopted
    assert not effect(answer, "precision=fp16").adopted


class Frugal(FakeBench):
    """Lower precision takes half of the memory; `shaken` has its pairs differ by far."""

    shaken = False

    def run(self, spec: TrialSpec) -> TrialRecord:
        record = super().run(spec)
        if spec.settings.precision == "fp32" or record.measurement is None or record.measurement.pair is None:
            return record
        pair = record.measurement.pair
        memory = msgspec.structs.replace(pair.candidate.memory, peak_bytes=5 * 10**8)
        pair = msgspec.structs.replace(pair, candidate=msgspec.structs.replace(pair.candidate, memory=memory))
        if self.shaken:
            pair = msgspec.structs.replace(pair, ratio=pair.ratio * (0.4 if spec.repeat else 1.5))
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, pair=pair))


@pytest.mark.parametrize(("shaken", "speed"), [(False, "2.00× the speed"), (True, "a speed that is not settled")])
def test_memory_is_not_told_with_a_speed_that_nobody_knows(shaken: bool, speed: str) -> None:
    bench = Frugal(bf16, noise=0.0001)
    bench.shaken = shaken
    verdicts = answer_of(bench, "precision", "tf32", combine=False, check_losses=False).verdicts
    assert f"precision=bf16 takes 50 % of the memory at {speed}." in verdicts


def test_where_nothing_helps_nothing_is_recommended() -> None:
    answer = answer_of(FakeBench(noise=0.0001), "precision", "compile")
    assert answer.recommended == {}
    assert (answer.speedup, answer.speedup_ci95) == (1.0, (1.0, 1.0))
    assert "Nothing was shown to be faster than the baseline." in answer.verdicts


def test_what_is_faster_and_may_not_be_adopted_is_named_with_the_reason() -> None:
    bench = FakeBench(bf16, loss=lambda settings: 0.4 if settings.precision == "bf16" else 0.0)
    verdicts = answer_of(bench, "precision").verdicts
    assert "Nothing can be recommended: precision=bf16 is faster, but its loss differs by 0.4." in verdicts
    assert not any("shown to be faster" in verdict for verdict in verdicts)
    faster = FakeBench(lambda settings: 0.9 if settings.activation_checkpointing else 1.0)
    assert (
        "Nothing can be recommended: activation_checkpointing=on is faster, but is not a matter of speed."
        in answer_of(faster, "activation_checkpointing").verdicts
    )


def test_a_study_cut_before_its_losses_says_that_they_were_not_looked_at() -> None:
    strategy = plan("precision")
    history = run_study(strategy, FakeBench(bf16))
    request = SwitchesRequest(workload=WORKLOAD, bench=Bench(), settings=BASELINE)
    verdicts = conclude_switches(request, strategy.findings(history[:4])).verdicts
    assert "Nothing can be recommended: precision=bf16 is faster, but its loss was not looked at." in verdicts


def test_switches_that_a_cut_study_did_not_come_to_say_so() -> None:
    strategy = plan("precision", "memory_format", "optimizer_kernel")
    history = run_study(strategy, FakeBench(bf16))
    request = SwitchesRequest(workload=WORKLOAD, bench=Bench(), settings=BASELINE)
    answer = conclude_switches(request, strategy.findings(history[:1]))
    reasons = {f"{each.switch}={each.value}": each.skipped_because for each in answer.effects if each.ratio is None}
    left_open = [name for name, why in reasons.items() if why == "not reached: the study ended before its turn"]
    assert {"precision=bf16", "precision=fp16", "memory_format=channels_last"} & set(left_open)
    assert None not in reasons.values()


def test_what_fresh_pairs_refute_is_told_and_not_recommended() -> None:
    answer = answer_of(FirstLook(), "precision")
    assert answer.recommended == {}
    assert any(
        verdict.startswith("precision=bf16 looked faster at first, and fresh pairs do not confirm it: 1.00×")
        for verdict in answer.verdicts
    )
    assert "Nothing was confirmed to be faster than the baseline." in answer.verdicts


def test_copies_alone_are_recommended_without_a_speedup() -> None:
    answer = answer_of(FakeBench(lambda settings: 0.9 if settings.pin_memory else 1.0), "pin_memory", "tf32")
    assert answer.recommended == {"pin_memory": True}
    assert effect(answer, "pin_memory=on").with_copies
    assert any(verdict.endswith("It is recommended.") for verdict in answer.verdicts)
    assert "Nothing else was shown to be faster than the baseline." in answer.verdicts


def test_copies_from_pinned_memory_are_recommended_beside_the_rest_and_not_counted_in_the_speedup() -> None:
    answer = answer_of(FakeBench(lambda settings: bf16(settings) * (0.9 if settings.pin_memory else 1.0)))
    assert answer.recommended == {"precision": "bf16", "pin_memory": True}
    assert answer.speedup == pytest.approx(2, rel=0.02)
    assert any("not in their speedup" in verdict for verdict in answer.verdicts)


def test_what_does_not_apply_is_skipped_and_what_breaks_has_failed() -> None:
    not_for_it = msgspec.structs.replace(
        failure(Outcome.USER_ERROR), message="images only", details={"code": "does_not_apply"}
    )
    answer = answer_of(
        FakeBench(
            failures={
                "memory_format=channels_last": of_arm(not_for_it, "candidate"),
                "compile=default": of_arm(failure(Outcome.CRASH), "candidate"),
            }
        ),
        "memory_format", "compile",
    )  # fmt: skip
    assert effect(answer, "memory_format=channels_last").skipped_because == "images only"
    assert effect(answer, "compile=default").failed_because
    assert effect(answer, "compile=default").ratio is None


def test_prices_are_told_and_not_recommended_away() -> None:
    answer = answer_of(FakeBench(lambda settings: 1.1 if settings.determinism == "all" else 1.0), "determinism")
    assert "Reproducibility (determinism=all) costs 9 % of the speed." in answer.verdicts
    assert any(verdict.startswith("Reproducibility (determinism=cudnn) was not shown") for verdict in answer.verdicts)


def test_the_price_of_more_reproducibility_than_the_baseline_has_is_not_turned_round() -> None:
    baseline = msgspec.structs.replace(BASELINE, determinism="cudnn")
    strategy = SwitchesPlan(template(baseline), candidates("determinism", settings=baseline))
    bench = FakeBench(lambda settings: {"none": 0.8, "cudnn": 1.0, "all": 1.25}[settings.determinism])
    request = SwitchesRequest(workload=WORKLOAD, bench=Bench(), settings=baseline)
    verdicts = conclude_switches(request, strategy.findings(run_study(strategy, bench))).verdicts
    assert "Reproducibility (determinism=cudnn) costs 20 % of the speed." in verdicts
    assert "Reproducibility (determinism=all) costs 20 % of the speed." in verdicts


def test_a_combination_whose_check_breaks_down_is_not_said_to_have_another_loss() -> None:
    class Stuck(FakeBench):
        def run(self, spec: TrialSpec) -> TrialRecord:
            both = spec.settings.precision == "bf16" and spec.settings.memory_format == "channels_last"
            stuck = spec.kind == "losses" and both
            return failed(spec, failure(Outcome.TIMEOUT)) if stuck else super().run(spec)

    def step(settings: Settings) -> float:
        return bf16(settings) * (0.8 if settings.memory_format == "channels_last" else 1.0)

    verdicts = answer_of(Stuck(step), "precision", "memory_format").verdicts
    assert any("for with it the check of its loss failed: " in verdict for verdict in verdicts)
    assert not any("differ" in verdict for verdict in verdicts)


def test_a_loss_that_differs_is_told_with_the_spread_of_the_seeds() -> None:
    bench = FakeBench(bf16, loss=lambda settings: 0.4 if settings.precision == "bf16" else 0.0)
    answer = answer_of(bench, "precision")
    assert effect(answer, "precision=bf16").loss_agrees is False
    assert answer.loss_spread == pytest.approx(0.2)
    assert "precision=bf16: the loss after 100 steps differs by 0.4 (seeds alone: 0.2). It is not recommended." in (
        answer.verdicts
    )


def test_every_step_of_the_combination_is_told_with_what_came_of_it() -> None:
    def step(settings: Settings) -> float:
        return bf16(settings) * (0.9 if settings.memory_format == "channels_last" else 1.0)

    answer = answer_of(FakeBench(step), "precision", "memory_format")
    first = answer.combinations[0]
    assert first.tried == "memory_format=channels_last"
    assert first.settings == {"precision": "bf16", "memory_format": "channels_last"}
    assert first.kept


def test_one_pair_each_is_warned_of() -> None:
    answer = answer_of(FakeBench(bf16), "precision", repeats=1)
    assert any("--repeats 2" in verdict for verdict in answer.verdicts)


def test_a_study_without_any_pair_has_no_answer() -> None:
    bench = FakeBench(failures={"tf32=all": failure(Outcome.CRASH), "tf32=none": failure(Outcome.CRASH)})
    with pytest.raises(NothingMeasuredError):
        answer_of(bench, "tf32")


def test_a_study_that_was_cut_recommends_the_best_single_switch() -> None:
    strategy = plan("precision", "memory_format")
    history = run_study(strategy, FakeBench(bf16))
    request = SwitchesRequest(workload=WORKLOAD, bench=Bench(), settings=BASELINE)
    answer = conclude_switches(request, strategy.findings(history[:-3]))
    assert answer.recommended == {"precision": "bf16"}
    assert answer.speedup == pytest.approx(2, rel=0.02)
    assert any("not finished" in verdict for verdict in answer.verdicts)


def test_a_study_cut_before_its_losses_recommends_nothing_that_could_change_them() -> None:
    strategy = plan("precision", "pin_memory")
    history = run_study(strategy, FakeBench(lambda settings: bf16(settings) * (0.9 if settings.pin_memory else 1.0)))
    request = SwitchesRequest(workload=WORKLOAD, bench=Bench(), settings=BASELINE)
    assert conclude_switches(request, strategy.findings(history[:6])).recommended == {"pin_memory": True}


def test_a_combination_that_cannot_be_made_sound_is_given_up_for_the_best_single_switch() -> None:
    def step(settings: Settings) -> float:
        return (
            bf16(settings)
            * (0.8 if settings.memory_format == "channels_last" else 1.0)
            * (0.9 if settings.cudnn_benchmark else 1.0)
        )

    def loss(settings: Settings) -> float:
        changed = (settings.precision == "bf16", settings.memory_format == "channels_last", settings.cudnn_benchmark)
        return 0.15 * sum(changed)

    answer = answer_of(FakeBench(step, loss=loss), "precision", "memory_format", "cudnn_benchmark")
    assert answer.recommended == {"precision": "bf16"}
    assert any("given up" in verdict for verdict in answer.verdicts)


class Uneven(FakeBench):
    """A bench on which no candidate ever becomes steady."""

    def run(self, spec: TrialSpec) -> TrialRecord:
        record = super().run(spec)
        if record.measurement is None or (pair := record.measurement.pair) is None:
            return record
        pair = msgspec.structs.replace(pair, candidate=msgspec.structs.replace(pair.candidate, steady=False))
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, pair=pair))


def test_a_recommendation_from_unsteady_pairs_alone_says_so_in_the_answer() -> None:
    def told(bench: FakeBench) -> bool:
        return any("became steady" in verdict for verdict in answer_of(bench, "precision").verdicts)

    assert told(Uneven(bf16))
    assert not told(FakeBench(bf16))
