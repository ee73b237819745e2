"""The study of switches: one at a time, then the greedy combination."""

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from search.fake_device import failed, failure
from search.fake_switches import BASELINE, FakeBench, FirstLook, candidates, of_arm, plan, run_study, template
from traindyno.analysis.switch_choice import choose
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec
from traindyno.search.switches.climb import MOST_OF_A_RUNG, MOST_PAIRS
from traindyno.search.switches.strategy import SwitchesPlan

PARTNERS = ("precision", "memory_format", "compile")


def changed(settings: Settings, against: Settings | None) -> set[str]:
    assert against is not None
    return {name for name in Settings.__struct_fields__ if getattr(settings, name) != getattr(against, name)}


def chosen(strategy: SwitchesPlan, history: list[TrialRecord]) -> set[str]:
    return {member.name for member in choose(strategy.findings(history)).members}


def only_with_channels_last(settings: Settings) -> float:
    """bf16 pays with channels_last alone, and neither does by itself."""
    together = settings.precision == "bf16" and settings.memory_format == "channels_last"
    alone = 1.02 if settings.precision != "fp32" or settings.memory_format == "channels_last" else 1.0
    return 0.5 if together else alone


def test_every_switch_is_tried_alone_in_every_round_before_any_two_are_together() -> None:
    history = run_study(plan(), FakeBench())
    pairs = [record.spec for record in history if record.spec.kind == "pair"]
    rounds = Counter((record.repeat, record.settings.precision, record.settings.compile) for record in pairs)
    tried = [each for each in candidates() if each.skipped_because is None]
    alone = pairs[: 2 * len(tried)]
    assert all(len(changed(spec.settings, spec.against)) == 1 for spec in alone)
    assert all(spec.against == BASELINE for spec in alone)
    assert rounds[(0, "bf16", "none")] >= 1
    assert [spec.repeat for spec in alone] == [0] * len(tried) + [1] * len(tried)


def test_the_order_of_a_round_follows_the_seed() -> None:
    def order(seed: int) -> list[str]:
        strategy = SwitchesPlan(template(), candidates(), combine=False, check_losses=False, seed=seed)
        return [record.spec.key for record in run_study(strategy, FakeBench())]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_copies_are_measured_with_a_batch_moved_each_step() -> None:
    history = run_study(plan("pin_memory"), FakeBench())
    assert {record.spec.feed.supply for record in history} == {"cached"}


def test_the_planted_best_combination_is_found_and_measured_again() -> None:
    def step(settings: Settings) -> float:
        share = {"fp32": 1.0, "bf16": 0.7, "fp16": 0.75}[settings.precision]
        share *= {"none": 1.0, "default": 0.8, "reduce-overhead": 0.85}.get(settings.compile, 1.0)
        return share * (0.9 if settings.memory_format == "channels_last" else 1.0)

    strategy = plan()
    history = run_study(strategy, FakeBench(step))
    assert chosen(strategy, history) == {"precision=bf16", "compile=default", "memory_format=channels_last"}
    best = choose(strategy.findings(history))
    assert best.ratio == pytest.approx(1 / (0.7 * 0.8 * 0.9), rel=0.01)
    assert best.ci95[0] < best.ratio < best.ci95[1]
    last = [record.spec for record in history[-2:]]
    assert all(spec.kind == "pair" and spec.against == BASELINE for spec in last)


def test_two_that_help_only_together_are_found() -> None:
    strategy = plan(*PARTNERS)
    history = run_study(strategy, FakeBench(only_with_channels_last))
    assert chosen(strategy, history) == {"precision=bf16", "memory_format=channels_last"}


def test_two_that_help_only_together_are_found_on_top_of_another() -> None:
    def step(settings: Settings) -> float:
        return only_with_channels_last(settings) * (0.8 if settings.compile == "default" else 1.0)

    strategy = plan(*PARTNERS)
    history = run_study(strategy, FakeBench(step))
    assert chosen(strategy, history) == {"precision=bf16", "memory_format=channels_last", "compile=default"}


def test_another_value_takes_the_place_of_one_that_is_better_alone() -> None:
    def step(settings: Settings) -> float:
        launch = {"none": 1.0, "default": 0.6, "reduce-overhead": 0.65}.get(settings.compile, 1.0)
        if settings.precision == "bf16":
            launch *= 0.9 if settings.compile == "default" else 0.6
        return launch

    strategy = plan("precision", "compile")
    history = run_study(strategy, FakeBench(step))
    assert chosen(strategy, history) == {"precision=bf16", "compile=reduce-overhead"}


def test_a_partner_that_halves_the_speed_alone_is_still_tried_with_others() -> None:
    def step(settings: Settings) -> float:
        host = {"none": 1.0, "reduce-overhead": 0.2}.get(settings.compile, 1.0)
        host *= 1.8 if settings.precision != "fp32" and settings.compile == "none" else 1.0
        device = 0.4 if settings.precision == "bf16" else 0.8
        return max(host, device)

    strategy = plan("precision", "compile")
    assert chosen(strategy, run_study(strategy, FakeBench(step))) == {"precision=bf16", "compile=reduce-overhead"}


def test_a_partner_that_stands_in_the_way_of_a_later_one_is_given_up() -> None:
    def step(settings: Settings) -> float:
        last, compiled = settings.memory_format == "channels_last", settings.compile == "default"
        return {(False, False): 1.0, (True, False): 0.7, (False, True): 0.9, (True, True): 0.6}[last, compiled] * (
            (0.5 if compiled and not last else 0.9) if settings.precision == "bf16" else 1.0
        )

    strategy = plan(*PARTNERS)
    history = run_study(strategy, FakeBench(step))
    assert chosen(strategy, history) == {"precision=bf16", "compile=default"}
    given_up = [rung.instead_of for rung in strategy.findings(history).rungs if rung.kept and not rung.added]
    assert [each.name for each in given_up if each is not None] == ["memory_format=channels_last"]


RESNET50 = {
    ("fp32", "contiguous"): (117, 69, 67),
    ("fp32", "channels_last"): (82, 68.5, 67),
    ("fp16", "contiguous"): (85, 40, 39),
    ("fp16", "channels_last"): (53, 38.5, 37.6),
    ("bf16", "contiguous"): (105, 40, 39),
    ("bf16", "channels_last"): (54.5, 38, 37.2),
}
"""Milliseconds as on a GPU: not compiled, compiled, and with graphs of kernels."""


def is_contiguous(settings: Settings) -> bool:
    return settings.memory_format == "contiguous"


def as_resnet50(settings: Settings) -> float:
    ways = RESNET50[settings.precision, settings.memory_format]
    return ways[("none", "default", "reduce-overhead").index(settings.compile)] / 117


def as_long_as_compiling(settings: Settings) -> float:
    return 45.0 if settings.compile != "none" else 20.0 if settings.cudnn_benchmark else 0.1


def test_what_must_be_compiled_is_combined_last_and_with_few_attempts() -> None:
    strategy = plan("precision", "memory_format", "compile", "cudnn_benchmark")
    history = run_study(strategy, FakeBench(as_resnet50, start=as_long_as_compiling))
    names = chosen(strategy, history)
    assert {"precision=bf16", "memory_format=channels_last", "compile=reduce-overhead"} <= names
    rungs = strategy.findings(history).rungs
    compiled = [any(member.switch == "compile" for member in rung.members) for rung in rungs]
    assert sorted(compiled) == compiled
    assert sum(compiled) == 2
    given_up = [rung.instead_of for rung in rungs if not rung.added and rung.instead_of is not None]
    assert {each.switch for each in given_up} <= {"precision", "memory_format"}


@pytest.mark.parametrize(
    ("default", "graphs", "start", "is_tried"),
    [
        (0.7, 0.6, as_long_as_compiling, False),
        (0.601, 0.6, as_long_as_compiling, True),
        (0.7, 0.6, lambda settings: 0.1, True),
        (0.6, 0.7, as_long_as_compiling, True),
    ],
    ids=["slower without graphs", "perhaps slower", "compiled at once", "slower with graphs"],
)
def test_compiling_without_graphs_that_lost_alone_is_not_tried_again_on_top_of_others(
    default: float, graphs: float, start: Callable[[Settings], float], is_tried: bool
) -> None:
    def step(settings: Settings) -> float:
        compiled = {"none": 1.0, "default": default, "reduce-overhead": graphs}[settings.compile]
        return compiled * (0.8 if settings.precision == "bf16" else 1.0)

    strategy = plan("precision", "compile")
    history = run_study(strategy, FakeBench(step, start=start))
    best = "compile=default" if default < graphs else "compile=reduce-overhead"
    assert chosen(strategy, history) == {"precision=bf16", best}
    added = {member.name for rung in strategy.findings(history).rungs for member in rung.added}
    other = ({"compile=default", "compile=reduce-overhead"} - {best}).pop()
    assert (other in added) is is_tried


def test_what_starts_quickly_is_tried_again_although_it_lost_alone() -> None:
    def step(settings: Settings) -> float:
        compiled = settings.compile != "none"
        precision = {"fp32": 1.0, "fp16": 0.8, "bf16": 0.5 if compiled else 0.9}[settings.precision]
        return precision * (0.6 if compiled else 1.0)

    strategy = plan("precision", "compile")
    history = run_study(strategy, FakeBench(step, start=as_long_as_compiling))
    assert "precision=bf16" in chosen(strategy, history)


def test_a_partner_that_was_refused_has_its_next_turn_on_the_best_value_of_the_others() -> None:
    def step(settings: Settings) -> float:
        graph, last = settings.compile == "reduce-overhead", settings.memory_format == "channels_last"
        precision = {"fp32": 1.0, "fp16": 0.8 if graph else 1.1, "bf16": 0.65 if graph else 1.15}[settings.precision]
        return precision * (0.4 if graph else 1.0) * (0.9 if last and settings.precision == "bf16" else 1.001)

    strategy = plan(*PARTNERS)
    history = run_study(strategy, FakeBench(step, start=as_long_as_compiling))
    assert chosen(strategy, history) == {"precision=bf16", "memory_format=channels_last", "compile=reduce-overhead"}
    rungs = strategy.findings(history).rungs
    adding = [rung for rung in rungs if [each.switch for each in rung.added] == ["memory_format"]]
    graphs = [rung for rung in adding if any(each.switch == "compile" for each in rung.members)]
    assert [{each.name for each in rung.members} & {"precision=fp16", "precision=bf16"} for rung in graphs] == [
        set(),
        {"precision=bf16"},
    ]


def test_what_starts_slowly_and_gains_next_to_nothing_is_not_combined() -> None:
    def step(settings: Settings) -> float:
        return (0.6 if settings.precision == "bf16" else 1.0) * (0.995 if settings.cudnn_benchmark else 1.0)

    for start, tried in ((as_long_as_compiling, 0), (lambda settings: 0.1, 1)):
        strategy = plan("precision", "cudnn_benchmark")
        history = run_study(strategy, FakeBench(step, start=start, noise=0.0002))
        assert chosen(strategy, history) >= {"precision=bf16"}
        rungs = strategy.findings(history).rungs
        assert sum("cudnn_benchmark" in {each.switch for each in rung.added} for rung in rungs) == tried


def test_a_partner_that_gained_in_a_graph_is_not_given_up_there() -> None:
    """Another look would compile for a minute; with what starts quickly it costs little."""

    def step(settings: Settings) -> float:
        last = settings.memory_format == "channels_last"
        if settings.compile == "none":
            return 1.0 - 0.0004 * (settings.precision == "fp16") - 0.0002 * last
        precision = {"fp32": 1.0, "fp16": 0.95, "bf16": 0.9 if last else 0.99}[settings.precision]
        return 0.4 * precision * (0.93 if last else 1.0)

    for start, given_up in ((as_long_as_compiling, 0), (lambda settings: 0.1, 1)):
        strategy = plan(*PARTNERS)
        history = run_study(strategy, FakeBench(step, start=start, noise=0.0))
        assert chosen(strategy, history) >= {"precision=bf16", "memory_format=channels_last"}
        without = [rung.instead_of for rung in strategy.findings(history).rungs if not rung.added]
        assert sum(each is not None and each.switch == "memory_format" for each in without) == given_up


def test_a_value_that_only_beat_another_of_its_switch_is_given_up_where_that_is_faster() -> None:
    """Lower precision is best without a compiler, and in the way with one."""

    def step(settings: Settings) -> float:
        compiled = settings.compile != "none"
        precision = {"fp32": 0.5, "fp16": 0.56, "bf16": 0.53} if compiled else {"fp32": 1.0, "fp16": 0.7, "bf16": 0.85}
        return precision[settings.precision] * (1.0 if is_contiguous(settings) else 0.9)

    strategy = plan(*PARTNERS)
    names = chosen(strategy, run_study(strategy, FakeBench(step, start=as_long_as_compiling, noise=0.0005)))
    assert names in ({"memory_format=channels_last", f"compile={way}"} for way in ("default", "reduce-overhead"))


class CalmTogether(FakeBench):
    """A bench on which only bf16 with channels_last is calm, and not so calm that one pair shows its gain."""

    def run(self, spec: TrialSpec) -> TrialRecord:
        together = spec.settings.precision == "bf16" and not is_contiguous(spec.settings)
        self.noise, half = (0.004, 0.035) if together else (0.02, 0.2)
        record = super().run(spec)
        if record.measurement is None or record.measurement.pair is None:
            return record
        pair = record.measurement.pair
        pair = msgspec.structs.replace(pair, ci95=(pair.ratio * (1 - half), pair.ratio * (1 + half)))
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, pair=pair))


def test_pairs_of_the_combination_are_never_taken_for_fresh_ones() -> None:
    """Where a single round was asked for, and nothing is held at first: both compare the same two settings."""

    def step(settings: Settings) -> float:
        changes = (settings.precision == "bf16") + (not is_contiguous(settings))
        return {0: 1.0, 1: 1.02, 2: 0.97}[changes]

    thirds = 0
    for seed in range(20):
        strategy = plan("precision", "memory_format", repeats=1)
        history = run_study(strategy, CalmTogether(step, seed=seed))
        findings = strategy.findings(history)
        thirds += any(len(rung.tried.pairs) == MOST_OF_A_RUNG for rung in findings.rungs)
        looked_at = {pair.ratio for rung in findings.rungs for pair in rung.tried.pairs}
        fresh = {pair.ratio for tried in findings.finals.values() for pair in tried.pairs}
        assert not looked_at & fresh
    assert thirds, "none of them came near"


@pytest.mark.parametrize("lower", [0.5, 0.9])
def test_tf32_is_not_recommended_beside_lower_precision_whose_products_do_not_use_it(lower: float) -> None:
    """Whichever of them is held first."""

    def step(settings: Settings) -> float:
        if settings.precision == "bf16":
            return lower if is_contiguous(settings) else 0.3
        return 0.7 if settings.tf32 == "all" and settings.precision == "fp32" else 1.0

    strategy = plan("precision", "tf32", "memory_format")
    history = run_study(strategy, FakeBench(step, noise=0.0005))
    assert chosen(strategy, history) == {"precision=bf16", "memory_format=channels_last"}
    first = strategy.findings(history).rungs[0]
    assert (first.added[0].switch == "precision") == (lower == 0.9)


def test_what_launching_was_in_the_way_of_is_tried_again_on_top_of_graphs() -> None:
    """Beside lower precision the host is the limit, and a fused optimiser gains nothing until it is not."""

    def step(settings: Settings) -> float:
        host = {"none": 0.6, "default": 0.56, "reduce-overhead": 0.1}[settings.compile]
        device = 0.5 if settings.precision == "bf16" else 1.0
        return max(host, device - (0.1 if settings.optimizer_kernel == "fused" else 0.0))

    strategy = plan("precision", "compile", "optimizer_kernel")
    history = run_study(strategy, FakeBench(step, start=as_long_as_compiling))
    assert chosen(strategy, history) == {"precision=bf16", "compile=reduce-overhead", "optimizer_kernel=fused"}


def test_where_only_a_compiled_step_is_faster_the_others_are_tried_on_top_of_it() -> None:
    def step(settings: Settings) -> float:
        host = {"none": 1.0, "default": 0.8, "reduce-overhead": 0.2}[settings.compile]
        return max(host, 0.4 if settings.precision == "bf16" else 0.7)

    strategy = plan(*PARTNERS)
    history = run_study(strategy, FakeBench(step, start=as_long_as_compiling))
    assert chosen(strategy, history) == {"precision=bf16", "compile=reduce-overhead"}


class Noisy(FakeBench):
    """A bench on which compiled steps differ far more from process to process than others."""

    def run(self, spec: TrialSpec) -> TrialRecord:
        self.noise = 0.03 if spec.settings.compile != "none" else 0.001
        return super().run(spec)


def test_a_switch_that_is_noisier_than_the_others_has_a_third_pair_and_is_not_taken_for_faster() -> None:
    recommended = third = 0
    for seed in range(10):
        strategy = plan("compile", "precision", "tf32", "cudnn_benchmark", "optimizer_kernel", "expandable_segments")
        history = run_study(strategy, Noisy(seed=seed))
        recommended += bool(chosen(strategy, history))
        third += any(
            record.spec.repeat == 2 and record.spec.settings.compile != "none" and record.spec.against == BASELINE
            for record in history
        )
    assert third >= 7
    assert recommended <= 1


def test_a_noisy_switch_is_kept_on_top_of_another_only_after_a_second_pair() -> None:
    bench = Noisy(lambda s: (0.5 if s.precision == "bf16" else 1.0) * (0.7 if s.compile == "default" else 1.0))
    strategy = plan("compile", "precision", "tf32", "cudnn_benchmark", "optimizer_kernel", "expandable_segments")
    findings = strategy.findings(run_study(strategy, bench))
    compiled = next(each for each in findings.candidates if each.name == "compile=default")
    assert findings.noisy(findings.singles[compiled])
    rung = next(rung for rung in findings.rungs if rung.added == (compiled,))
    assert len(rung.tried.pairs) == 2


class NoisyUnlessGraph(FakeBench):
    """A bench on which lower precision is noisy where kernels are launched one by one, and quiet as a graph."""

    def run(self, spec: TrialSpec) -> TrialRecord:
        against = spec.against or spec.settings
        launched = any(each.precision != "fp32" and each.compile == "none" for each in (spec.settings, against))
        self.noise = 0.05 if launched else 0.001
        return super().run(spec)


def test_a_combination_that_is_quiet_while_a_switch_of_it_was_noisy_alone_has_a_narrow_interval() -> None:
    bench = NoisyUnlessGraph(lambda s: (0.3 if s.precision == "bf16" else 1.0) * (0.4 if s.compile != "none" else 1.0))
    only = ("compile", "precision", "tf32", "cudnn_benchmark", "optimizer_kernel", "expandable_segments")
    for seed in range(5):
        bench.seed = seed
        strategy = plan(*only)
        findings = strategy.findings(run_study(strategy, bench))
        assert {each.switch for each in findings.members} == {"precision", "compile"}
        assert len(findings.finals[findings.members].pairs) == (3 if findings.any_noisy(findings.members) else 2)
        effect = findings.final_effect(findings.members)
        assert effect is not None
        low, high = effect[1]
        assert low <= 1 / 0.12 <= high < 1.03 * low


class Restless(FakeBench):
    """A bench whose host is the limit and disturbed, so that all but graphs vary, within a process and between them."""

    def run(self, spec: TrialSpec) -> TrialRecord:
        against = spec.against
        graphs = against is not None and "reduce-overhead" == spec.settings.compile == against.compile
        self.noise = 0.002 if graphs else 0.05
        record = super().run(spec)
        if graphs or record.measurement is None or record.measurement.pair is None:
            return record
        pair = record.measurement.pair
        pair = msgspec.structs.replace(pair, ci95=(pair.ratio * 0.9, pair.ratio * 1.1))
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, pair=pair))


@pytest.mark.parametrize("seed", range(5))
def test_a_small_gain_in_a_graph_is_seen_beside_switches_that_a_disturbed_host_blurs(seed: int) -> None:
    def step(settings: Settings) -> float:
        if settings.compile != "reduce-overhead":
            return 1.0
        return 0.4 * (0.7 if settings.precision == "bf16" else 1.0) * (1 if is_contiguous(settings) else 0.96)

    strategy = plan(*PARTNERS)
    history = run_study(strategy, Restless(step, start=as_long_as_compiling, seed=seed))
    assert chosen(strategy, history) == {"precision=bf16", "compile=reduce-overhead", "memory_format=channels_last"}


def test_what_is_slower_or_has_another_loss_is_not_adopted() -> None:
    def step(settings: Settings) -> float:
        return (0.5 if settings.precision == "fp16" else 1.0) * (1.2 if settings.cudnn_benchmark else 1.0)

    strategy = plan("precision", "cudnn_benchmark")
    bench = FakeBench(step, loss=lambda settings: 0.5 if settings.precision == "fp16" else 0.0)
    history = run_study(strategy, bench)
    assert chosen(strategy, history) == set()
    checks = {candidate.name: check for candidate, check in strategy.findings(history).checks.items()}
    assert checks["precision=fp16"].agrees is False
    assert checks["cudnn_benchmark=on"].agrees is None


def test_what_costs_nothing_but_is_wanted_for_other_reasons_is_never_adopted() -> None:
    strategy = plan("determinism", "read_metrics", "accumulation_steps", "activation_checkpointing")
    history = run_study(strategy, FakeBench(lambda settings: 1.0 if settings == BASELINE else 0.5))
    assert chosen(strategy, history) == set()
    assert all(record.spec.kind != "pair" or record.spec.against == BASELINE for record in history)


def test_a_combination_whose_loss_differs_loses_the_switch_that_is_furthest_off() -> None:
    def step(settings: Settings) -> float:
        return (0.6 if settings.precision == "bf16" else 1.0) * (0.8 if not is_contiguous(settings) else 1.0)

    def loss(settings: Settings) -> float:
        return (0.15 if settings.precision == "bf16" else 0.0) + (0.1 if not is_contiguous(settings) else 0.0)

    strategy = plan("precision", "memory_format")
    findings = strategy.findings(run_study(strategy, FakeBench(step, loss=loss)))
    assert findings.dropped is not None
    assert findings.dropped.name == "precision=bf16"
    assert [member.name for member in findings.members] == ["memory_format=channels_last"]


def test_what_is_left_of_a_combination_does_not_beat_a_faster_single_switch() -> None:
    def switched(settings: Settings) -> tuple[bool, bool, bool]:
        return settings.precision == "bf16", not is_contiguous(settings), settings.cudnn_benchmark

    def share(settings: Settings, *each: float) -> float:
        return sum(part for part, on in zip(each, switched(settings), strict=True) if on)

    strategy = plan("precision", "memory_format", "cudnn_benchmark")
    bench = FakeBench(lambda s: 1.0 - share(s, 0.5, 0.1, 0.05), loss=lambda s: share(s, 0.19, 0.02, 0.02))
    history = run_study(strategy, bench)
    findings = strategy.findings(history)
    assert [member.name for member in findings.members] == ["memory_format=channels_last", "cudnn_benchmark=on"]
    assert chosen(strategy, history) == {"precision=bf16"}
    assert choose(findings).ratio == pytest.approx(2.0, rel=0.02)
    last = [record.spec for record in history[-2:]]
    assert all(spec.settings.precision == "bf16" and spec.against == BASELINE for spec in last)


@pytest.mark.parametrize("combine", [True, False])
def test_what_fresh_pairs_refute_is_not_chosen(combine: bool) -> None:
    strategy = plan("precision", combine=combine)
    assert chosen(strategy, run_study(strategy, FirstLook())) == set()


def test_where_fresh_pairs_refute_the_fastest_the_next_has_its_turn() -> None:
    bench = FirstLook(lambda settings: 0.9 if settings.tf32 == "all" else 1.0)
    strategy = plan("precision", "tf32", combine=False)
    history = run_study(strategy, bench)
    assert chosen(strategy, history) == {"tf32=all"}
    assert [record.spec.settings.tf32 for record in history[-2:]] == ["all", "all"]


def test_processes_that_ran_apart_are_run_again_for_the_answer() -> None:
    strategy = plan("tf32", repeats=1)
    bench = FakeBench(lambda s: 0.5 if s.tf32 == "all" else 1.0, roomy=lambda s: False, noise=0.01)
    findings = strategy.findings(run_study(strategy, bench))
    (members,) = findings.finals
    looks, fresh = findings.singles[members[0]].pairs, findings.finals[members].pairs
    assert {pair.ratio for pair in looks}.isdisjoint(pair.ratio for pair in fresh)


def test_a_switch_that_fails_is_tried_once_and_the_study_goes_on() -> None:
    bench = FakeBench(
        lambda settings: 0.5 if settings.precision == "bf16" else 1.0,
        failures={"compile=default": of_arm(failure(Outcome.CRASH), "candidate")},
    )
    strategy = plan(*PARTNERS)
    history = run_study(strategy, bench)
    assert sum(record.outcome is Outcome.CRASH for record in history) == 1
    assert chosen(strategy, history) == {"precision=bf16"}


def test_two_that_do_not_fit_the_device_together_alternate_in_fresh_processes() -> None:
    bench = FakeBench(
        lambda settings: 0.5 if settings.precision == "bf16" else 1.0,
        roomy=lambda settings: settings.precision == "fp32",
    )
    strategy = plan("precision", repeats=3)
    history = run_study(strategy, bench)
    first = next(index for index, record in enumerate(history) if record.outcome is Outcome.OUT_OF_DEVICE_MEMORY)
    turns = [record.spec for record in history[first + 1 : first + 5]]
    assert [spec.kind for spec in turns] == ["speed"] * 4
    assert [spec.settings == BASELINE for spec in turns] == [True, False, True, False]
    assert len({spec.key for spec in turns}) == 4
    assert chosen(strategy, history) == {"precision=bf16"}


def test_two_that_fit_only_after_the_allocator_tried_again_are_measured_apart() -> None:
    bench = FakeBench(
        lambda settings: 0.5 if settings.precision == "bf16" else 1.0,
        tight=lambda settings: settings.precision == "bf16",
    )
    strategy = plan("precision", repeats=3)
    history = run_study(strategy, bench)
    tried = {candidate.name: tried for candidate, tried in strategy.findings(history).singles.items()}
    assert (tried["precision=bf16"].apart, tried["precision=fp16"].apart) == (True, False)
    assert [pair.turns for pair in tried["precision=bf16"].pairs] == [(), ()]
    alone = [index for index, record in enumerate(history) if record.spec.kind == "speed"]
    assert history[alone[0] - 1].spec.kind == "pair"
    assert history[alone[0] - 1].ok


def test_two_that_do_not_fit_the_host_together_alternate_too() -> None:
    class SmallHost(FakeBench):
        def run(self, spec: TrialSpec) -> TrialRecord:
            if spec.kind == "pair":
                return failed(spec, failure(Outcome.OUT_OF_HOST_MEMORY))
            return super().run(spec)

    strategy = plan("precision")
    history = run_study(strategy, SmallHost(lambda settings: 0.5 if settings.precision == "bf16" else 1.0))
    assert [record.spec.kind for record in history[:5]] == ["pair", "speed", "speed", "speed", "speed"]
    assert chosen(strategy, history) == {"precision=bf16"}


@pytest.mark.parametrize(("message", "apart"), [("device(s) is/are busy or unavailable", True), ("an illegal", False)])
def test_where_a_gpu_has_one_process_at_a_time_both_alternate(message: str, apart: bool) -> None:
    class OneProcess(FakeBench):
        def run(self, spec: TrialSpec) -> TrialRecord:
            fault = failure(Outcome.CUDA_FAULT)
            told = msgspec.structs.replace(fault, message=f"CUDA error: {message}", phase="candidate: build")
            return failed(spec, told) if spec.kind == "pair" else super().run(spec)

    strategy = plan("precision")
    history = run_study(strategy, OneProcess(lambda settings: 0.5 if settings.precision == "bf16" else 1.0))
    assert ("speed" in {record.spec.kind for record in history}) is apart
    assert chosen(strategy, history) == ({"precision=bf16"} if apart else set())


def test_a_candidate_that_does_not_fit_alone_either_is_a_failure() -> None:
    full = failure(Outcome.OUT_OF_DEVICE_MEMORY)
    bench = FakeBench(failures={"compile=default": of_arm(full, "candidate")})
    strategy = plan("compile")
    history = run_study(strategy, bench)
    tried = {candidate.name: tried for candidate, tried in strategy.findings(history).singles.items()}
    assert tried["compile=default"].failure is not None
    assert tried["compile=reduce-overhead"].failure is None
    assert [record.spec.kind for record in history if not record.ok] == ["pair", "speed"]


@pytest.mark.parametrize("told", ["arm", "phase"])
def test_a_baseline_that_fails_ends_the_study(told: str) -> None:
    why = failure(Outcome.CRASH)
    why = of_arm(why, "baseline") if told == "arm" else msgspec.structs.replace(why, phase="baseline: warm-up")
    strategy = plan("precision")
    history = run_study(strategy, FakeBench(failures={"precision=bf16": why, "precision=fp16": why}))
    assert len(history) == 1
    assert strategy.findings(history).baseline_failure == why


def test_a_baseline_that_fails_after_others_ran_is_one_failed_pair() -> None:
    class Hanging(FakeBench):
        def run(self, spec: TrialSpec) -> TrialRecord:
            hangs = spec.kind == "pair" and spec.settings.cudnn_benchmark and spec.repeat == 1
            return failed(spec, of_arm(failure(Outcome.HANG), "baseline")) if hangs else super().run(spec)

    strategy = plan("precision", "cudnn_benchmark")
    history = run_study(strategy, Hanging(lambda settings: 0.5 if settings.precision == "bf16" else 1.0))
    findings = strategy.findings(history)
    assert findings.baseline_failure is None
    assert {each.name for each, tried in findings.singles.items() if tried.failure} == {"cudnn_benchmark=on"}
    assert chosen(strategy, history) == {"precision=bf16"}


def test_without_combining_the_best_single_switch_is_chosen() -> None:
    strategy = plan(*PARTNERS, combine=False)
    history = run_study(
        strategy, FakeBench(lambda s: (0.6 if s.precision == "bf16" else 1) * (0.5 + (s.compile == "none")))
    )
    assert chosen(strategy, history) == {"compile=default"} or chosen(strategy, history) == {"compile=reduce-overhead"}
    assert all(record.spec.against in (BASELINE, None) for record in history)


def test_the_pairs_of_a_combination_are_bounded() -> None:
    bench = FakeBench(lambda settings: 1.0 - 0.04 * len(changed(settings, BASELINE)), noise=0.03)
    strategy = plan()
    history = run_study(strategy, bench)
    climbing = [record for record in history if record.spec.kind == "pair" and record.spec.against != BASELINE]
    assert 0 < len(climbing) <= MOST_PAIRS + 1


def test_a_study_cut_at_any_point_goes_on_as_if_it_never_stopped() -> None:
    bench = FakeBench(only_with_channels_last, roomy=lambda settings: settings.compile != "default")
    whole = run_study(plan(*PARTNERS), bench)
    for cut in range(len(whole)):
        proposal = plan(*PARTNERS).ask(whole[:cut])
        assert proposal is not None
        assert proposal.spec == whole[cut].spec
        assert proposal.expected_trials > cut
    assert plan(*PARTNERS).ask(whole) is None


def test_the_expected_number_of_trials_is_near_the_real_one_from_the_start() -> None:
    first = plan().ask([])
    assert first is not None
    real = len(run_study(plan(), FakeBench(only_with_channels_last)))
    assert abs(first.expected_trials - real) <= 0.25 * real
