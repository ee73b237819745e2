"""The losses of a study of switches: which are looked at, when, and what counts as a difference."""

import random
from collections.abc import Callable

import msgspec
import pytest

from search.fake_device import failed, failure
from search.fake_switches import BASELINE, FakeBench, candidates, plan, run_study, template
from search.test_switches import PARTNERS, as_long_as_compiling, as_resnet50, changed, chosen
from traindyno.analysis.switch_choice import choose
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec
from traindyno.search.switches.strategy import SwitchesPlan


def losses_beside(strategy: SwitchesPlan, bench: FakeBench) -> list[TrialSpec]:
    """The losses that a device with room for several would be given at once."""
    history: list[TrialRecord] = []
    while (proposal := strategy.ask(history)) is not None and not proposal.beside:
        history.append(bench.run(proposal.spec))
    return [] if proposal is None else [each.spec for each in (proposal, *proposal.beside)]


def test_losses_of_the_likely_combination_are_looked_at_beside_the_others_and_not_again() -> None:
    strategy, bench = plan(*PARTNERS), FakeBench(as_resnet50, start=as_long_as_compiling)
    history: list[TrialRecord] = []
    while (proposal := strategy.ask(history)) is not None:
        at_once = [bench.run(each.spec) for each in (proposal, *proposal.beside)]
        history += at_once
    held = choose(strategy.findings(history)).members
    assert {member.switch for member in held} == set(PARTNERS)
    losses = [record.spec for record in history if record.spec.kind == "losses"]
    assert len({spec.key for spec in losses}) == len(losses)
    first_rung = next(n for n, record in enumerate(history) if record.spec.against not in (None, BASELINE))
    assert not [record for record in history[first_rung:] if record.spec.kind == "losses"]
    combined = [spec for spec in losses if spec.settings.compile != "none" and spec.settings.precision != "fp32"]
    assert {spec.settings.precision for spec in combined} == {"bf16", "fp16"}
    assert {spec.settings.compile for spec in combined} == {"reduce-overhead"}


def test_a_layout_that_is_slower_alone_is_not_in_the_likely_combination() -> None:
    def step(settings: Settings) -> float:
        share = (0.5 if settings.compile != "none" else 1.0) * (0.7 if settings.precision != "fp32" else 1.0)
        return share * (1.05 if settings.memory_format == "channels_last" else 1.0)

    specs = losses_beside(plan(*PARTNERS), FakeBench(step, start=as_long_as_compiling))
    together = [spec.settings for spec in specs if len(changed(spec.settings, BASELINE) - {"batch_size"}) > 1]
    assert {settings.precision for settings in together} == {"bf16", "fp16"}
    assert {settings.memory_format for settings in together} == {"contiguous"}


@pytest.mark.parametrize(
    ("batch_size", "options", "start"),
    [(32, {}, as_long_as_compiling), (64, {"combine": False}, as_long_as_compiling), (64, {}, lambda settings: 0.1)],
    ids=["no smaller batch", "nothing to combine", "nothing starts slowly"],
)
def test_losses_are_not_looked_at_ahead_where_that_saves_nothing(
    batch_size: int, options: dict[str, bool], start: Callable[[Settings], float]
) -> None:
    own = msgspec.structs.replace(BASELINE, batch_size=batch_size)
    strategy = SwitchesPlan(template(own), candidates(*PARTNERS, settings=own), **options)
    specs = losses_beside(strategy, FakeBench(as_resnet50, start=start))
    assert specs
    assert all(len(changed(spec.settings, own) - {"batch_size"}) <= 1 for spec in specs)


def test_losses_are_taken_at_one_small_batch_from_three_seeds_of_the_baseline() -> None:
    history = run_study(plan(), FakeBench())
    losses = [record.spec for record in history if record.spec.kind == "losses"]
    assert {spec.settings.batch_size for spec in losses} == {32}
    baseline = msgspec.structs.replace(BASELINE, batch_size=32)
    assert [spec.seed for spec in losses if spec.settings == baseline] == [0, 1, 2]
    assert all(spec.seed == 0 for spec in losses if spec.settings != baseline)


class OtherPaths(FakeBench):
    """Every run ends elsewhere by chance; bf16 is so much worse beside that. The baseline fails at `broken` seeds."""

    worse: float = 0.0
    broken: tuple[int, ...] = ()

    def run(self, spec: TrialSpec) -> TrialRecord:
        record = super().run(spec)
        if spec.kind != "losses" or record.measurement is None:
            return record
        lower = spec.settings.precision == "bf16"
        if spec.seed in self.broken and not lower:
            return failed(spec, failure(Outcome.CRASH))
        end = 5.0 + random.Random(f"{self.seed} {spec.seed} {lower}").gauss(self.worse if lower else 0.0, 1.0)
        return msgspec.structs.replace(
            record, measurement=msgspec.structs.replace(record.measurement, losses=(9.0,) * 90 + (end,) * 10)
        )


def seeds_of(history: list[TrialRecord], precision: str) -> list[int]:
    losses = [record.spec for record in history if record.spec.kind == "losses"]
    return [spec.seed for spec in losses if spec.settings.precision == precision]


@pytest.mark.parametrize(("worse", "least", "most"), [(0.0, 0.0, 0.03), (6.0, 0.95, 1.0)])
def test_losses_that_differ_by_chance_are_seldom_taken_for_worse_ones(worse: float, least: float, most: float) -> None:
    refused, looks, studies = 0, set[int](), 200
    only_bf16 = tuple(each for each in candidates("precision") if each.value == "bf16")
    for seed in range(studies):
        strategy = SwitchesPlan(template(), only_bf16)
        bench = OtherPaths(lambda settings: 0.5 if settings.precision == "bf16" else 1.0, seed=seed)
        bench.worse = worse
        history = run_study(strategy, bench)
        refused += chosen(strategy, history) == set()
        seeds = seeds_of(history, "bf16")
        assert seeds == list(range(len(seeds)))
        assert seeds_of(history, "fp32") == list(range(max(3, len(seeds))))
        looks.add(len(seeds))
    assert looks <= {1, 3, 5}
    assert least <= refused / studies <= most


def test_where_the_baseline_fails_at_later_seeds_those_before_have_decided() -> None:
    only_bf16 = tuple(each for each in candidates("precision") if each.value == "bf16")
    strategy = SwitchesPlan(template(), only_bf16)
    bench = OtherPaths(lambda settings: 0.5 if settings.precision == "bf16" else 1.0)
    bench.worse, bench.broken = 9.0, (3,)
    history = run_study(strategy, bench)
    assert seeds_of(history, "bf16") == [0, 1, 2]
    findings = strategy.findings(history)
    assert findings.checks[only_bf16[0]].agrees is False
    assert findings.failed_losses is None
    assert chosen(strategy, history) == set()


@pytest.mark.parametrize("mode", ["infer", "train"])
def test_losses_are_left_out_when_there_are_none_or_nobody_asks(mode: str) -> None:
    made = template()
    workload = msgspec.structs.replace(made.workload, mode=mode)
    strategy = SwitchesPlan(
        msgspec.structs.replace(made, workload=workload), candidates("precision"), check_losses=mode == "infer"
    )
    history = run_study(strategy, FakeBench(lambda settings: 0.5 if settings.precision == "bf16" else 1.0))
    assert not any(record.spec.kind == "losses" for record in history)
    assert chosen(strategy, history) == {"precision=bf16"}


def test_where_the_baseline_s_own_losses_are_not_known_no_others_are_run() -> None:
    class Diverging(FakeBench):
        def run(self, spec: TrialSpec) -> TrialRecord:
            return failed(spec, failure(Outcome.NONFINITE)) if spec.kind == "losses" else super().run(spec)

    strategy = plan(*PARTNERS)
    history = run_study(strategy, Diverging(lambda s: 0.5 if s.precision == "bf16" else 0.9))
    assert sum(record.spec.kind == "losses" for record in history) == 1
    assert strategy.findings(history).failed_losses
