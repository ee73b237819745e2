"""Searches that must not stop early, overrun, or say what is not so."""

import msgspec
import pytest

from search.imagined_gpu import ImaginedGpu
from search.simulated_find import answer_of, goal_of, plan_of
from search.test_find_minutes import COMMON, common, found, seconds
from traindyno.core.answers.find import FindAnswer
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec
from traindyno.runner.protocol import Watcher
from traindyno.search.find.goal import Goal
from traindyno.search.find.moves import StepSearch
from traindyno.search.find.switch_order import GRAPHS, graphs_first, one_by_one

FED = msgspec.structs.replace(COMMON, num_workers=16)
STEP_SECONDS = {"fp32": 0.1, "bf16": 0.04}


class OtherGpu(ImaginedGpu):
    """The same machine with another step. Losses of lower precision may differ, and the GPU's decoder may fail.

    `last` is what channels_last takes of a step in lower precision, and the inverse in full precision.
    """

    def __init__(
        self,
        cpus: int,
        *,
        launching: float = 0.0,
        last: float = 1.0,
        decoding: float = 0.02,
        spoilt: bool = False,
        broken: bool = False,
    ) -> None:
        super().__init__(cpus)
        self._launching, self._last, self._decoding, self._spoilt, self._broken = (
            launching,
            last,
            decoding,
            spoilt,
            broken,
        )
        floor = launching or self._profile.floor_seconds
        self._profile = msgspec.structs.replace(self._profile, floor_seconds=floor, examples=1_000_000, noise=0.001)

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: None = None) -> TrialRecord:
        record = super().run(spec, watcher, log_path)
        told = record.measurement
        if self._broken and spec.settings.decoder == "nvjpeg":
            failure = Failure(outcome=Outcome.CRASH, message="no decoder", remedy="")
            return msgspec.structs.replace(record, outcome=Outcome.CRASH, measurement=None, failure=failure)
        if self._spoilt and told is not None and spec.settings.precision == "bf16":
            losses = tuple(loss + 1.0 for loss in told.losses)
            return msgspec.structs.replace(record, measurement=msgspec.structs.replace(told, losses=losses))
        return record

    def _step_seconds(self, spec: TrialSpec) -> float:
        """The GPU decodes and computes by turns."""
        decoding = self._decoding if spec.settings.decoder == "nvjpeg" and spec.kind == "feed" else 0.0
        return self._plain_step_seconds(spec.settings) + decoding * spec.settings.batch_size / 256

    def _plain_step_seconds(self, settings: Settings) -> float:
        last = self._last if settings.precision == "bf16" else 1 / self._last
        whole = STEP_SECONDS[settings.precision] * (last if settings.memory_format == "channels_last" else 1.0)
        host = {"none": 1.0, "default": 0.75}.get(settings.compile, 0.15) * self._launching
        compiled = 1.0 if settings.compile == "none" else 0.8
        tf32 = 0.9 if settings.precision == "fp32" and settings.tf32 == "all" else 1.0
        return max(host, compiled * tf32 * whole) * settings.batch_size / 256


def searched_on(gpu: ImaginedGpu, goal: Goal) -> tuple[FindAnswer, list[TrialRecord]]:
    plan, history = plan_of(goal), list[TrialRecord]()
    while (proposal := plan.ask(history)) is not None:
        history.append(gpu.run(proposal.spec, Watcher()))
        assert len(history) < 100, "the search does not end"
    return answer_of(goal, history), history


def kinds(history: list[TrialRecord]) -> list[str]:
    return [record.spec.kind for record in history]


def pairs_of(history: list[TrialRecord], switch: str) -> list[TrialRecord]:
    pairs = [each for each in history if each.spec.kind == "pair" and each.spec.against is not None]
    return [each for each in pairs if getattr(each.spec.settings, switch) != getattr(each.spec.against, switch)]


def test_a_decoder_that_lost_beside_a_slow_step_does_not_end_the_search() -> None:
    """The GPU's decoder is as fast as the host's, bound by the step and itself: a faster step would set it free."""
    goal = common(20, cpus=4, keep=("batch_size", "compile"))
    answer, history = searched_on(OtherGpu(4, decoding=0.05), goal)
    assert "pair" in kinds(history)
    assert answer.recommended.changes["decoder"] == "nvjpeg"


@pytest.mark.parametrize(("decoders", "prepare"), [(("pil",), "prepared:/store"), (("pil", "nvjpeg"), None)])
def test_no_switch_is_tried_where_nothing_can_be_done_about_the_data(
    decoders: tuple[str, ...], prepare: str | None
) -> None:
    """Preparing takes longer than there is time, or the GPU's decoder fails: training goes on to wait."""
    goal = goal_of(COMMON, cpus=2, decoders=decoders, budget_seconds=200, prepare=prepare, keep=("batch_size",))
    _, history = searched_on(OtherGpu(2, broken=True), goal)
    assert "pair" not in kinds(history)


def test_what_precision_kept_out_is_tried_once_its_losses_differ() -> None:
    answer, _ = searched_on(OtherGpu(16, spoilt=True, last=1.25), goal_of(FED, cpus=16, keep=("batch_size", "compile")))
    assert answer.recommended.changes.items() >= {"memory_format": "channels_last", "tf32": "all"}.items()
    assert "precision" not in answer.recommended.changes
    assert not any("do not use TF32" in attempt.outcome for attempt in answer.attempts)


@pytest.mark.parametrize(("cpus", "is_tried"), [(32, True), (16, False)])
def test_a_partner_that_launching_was_in_the_way_of_is_tried_again_once_compiled_unless_data_are(
    cpus: int, is_tried: bool
) -> None:
    """Such a pair takes a minute or more; where 16 CPUs load too slowly for the compiled step it would gain nothing."""
    history = searched_on(OtherGpu(cpus, launching=0.09, last=0.5), goal_of(FED, cpus=cpus, keep=("batch_size",)))[1]
    again = [each for each in pairs_of(history, "memory_format") if each.spec.settings.compile != "none"]
    assert bool(again) is is_tried


def test_the_search_goes_on_where_the_step_is_slow_again_after_its_losses_differed() -> None:
    """In lower precision training waited for its data; without it, it does not, and channels_last is slower."""
    goal = goal_of(FED, cpus=16, keep=("batch_size",), budget_seconds=430)
    answer, history = searched_on(OtherGpu(16, spoilt=True, last=0.9), goal)
    assert answer.recommended.changes["compile"] == "default"
    assert "memory_format" not in answer.recommended.changes
    assert not any("waits for its data" in attempt.outcome for attempt in answer.attempts)
    assert seconds(history) < 430
    assert len({record.spec.key for record in history}) == len(history)


@pytest.mark.parametrize("budget", [260, 300, 330])
def test_losses_that_differ_do_not_use_up_the_time_for_the_rounds(budget: float) -> None:
    goal = goal_of(FED, cpus=16, decoders=("pil", "simplejpeg"), keep=("batch_size",), budget_seconds=budget)
    _, history = searched_on(OtherGpu(64, spoilt=True, last=0.9), goal)
    assert seconds(history[:-1]) < budget


@pytest.mark.parametrize("minutes", [8, 9, 10])
def test_a_baseline_that_is_compiled_leaves_time_for_what_gains_most(minutes: float) -> None:
    settings = msgspec.structs.replace(FED, compile="default")
    goal = goal_of(settings, cpus=16, budget_seconds=60 * minutes, keep=("batch_size", "compile"))
    answer, history = found(goal)
    assert answer.recommended.changes["precision"] == "bf16"
    assert answer.speedup > 1.55
    assert seconds(history) < 60 * minutes


@pytest.mark.parametrize("compiled", ["none", "default"])
def test_graphs_come_before_other_ways_to_compile_and_never_later_than_they_were(compiled: str) -> None:
    goal = goal_of(msgspec.structs.replace(COMMON, compile=compiled), cpus=16)
    before, after = one_by_one(goal), graphs_first(one_by_one(goal))
    ways = [each.value for each in after if each.switch == "compile"]
    assert ways[0] == GRAPHS
    assert sorted(each.name for each in before) == sorted(each.name for each in after)
    places = [next(at for at, each in enumerate(order) if each.value == GRAPHS) for order in (before, after)]
    assert places[1] <= places[0]


def test_switches_that_would_be_taken_back_do_not_put_the_data_off() -> None:
    """The user has lower precision and channels_last already: once compiling was tried, little is left to gain."""
    goal = goal_of(msgspec.structs.replace(COMMON, precision="bf16", memory_format="channels_last"), cpus=16)
    left, step = one_by_one(goal), StepSearch(plan_of(goal)._begun([]))
    step._left = left
    assert step.may_change_much
    step._left = [each for each in left if each.switch not in ("pin_memory", "compile")]
    assert {each.switch for each in step._left} >= {"precision", "memory_format"}
    assert not step.may_change_much


def test_data_that_were_looked_at_without_time_for_them_are_not_called_ready() -> None:
    goal = goal_of(FED, cpus=16, budget_seconds=95)
    answer, _ = found(goal)
    told = [attempt.outcome for attempt in answer.attempts if attempt.side == "data"]
    assert not (any("time budget" in each for each in told) and any("does not wait" in each for each in told))
