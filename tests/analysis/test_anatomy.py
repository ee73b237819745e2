"""What an anatomy study concludes from what its trials saw."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.making import failed, ran
from traindyno.analysis.anatomy import conclude_anatomy
from traindyno.analysis.anatomy_bounds import bound_of
from traindyno.analysis.anatomy_commands import next_command
from traindyno.analysis.anatomy_sizes import Ceilings, combine_size, instrument_cost
from traindyno.analysis.anatomy_verdicts import anatomy_cautions
from traindyno.core.anatomy import Anatomy, Phase, Transfer, Work
from traindyno.core.answers import AnatomyAnswer, PhaseCost, Utilization
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, WorkloadSpec
from traindyno.core.requests import AnatomyRequest, Bench

LENGTHS = {"load": 0.0, "transfer": 0.002, "forward": 0.03, "backward": 0.06, "optimizer": 0.007, "other": 0.001}
WORK = Work(
    flops_per_step=1e12, bytes_per_step=1e11, flops_per_second_ceiling=5e13, bytes_per_second_ceiling=4e12
)  # fmt: skip


def seen(step: float = 0.1, lengths: dict[str, float] | None = None, **changes: Any) -> Anatomy:
    phases = tuple(
        Phase(phase=name, seconds=seconds, ci95=(seconds * 0.99, seconds * 1.01), host_seconds=seconds / 2)  # type: ignore[arg-type]
        for name, seconds in (LENGTHS | (lengths or {})).items()
    )
    made = Anatomy(
        phases=phases,
        plain_step_seconds=step,
        plain_ci95=(step * 0.999, step * 1.001),
        instrumented_step_seconds=step * 1.002,
        instrument_cost=0.002,
        instrument_cost_ci95=(0.001, 0.003),
        load_wait_seconds=0.004,
        host_step_seconds=0.05,
        busy_seconds=0.095,
        transfers=(
            Transfer(pinned=False, seconds=0.004, ci95=(0.0039, 0.0041), bytes=38_000_000),
            Transfer(pinned=True, seconds=0.001, ci95=(0.0009, 0.0011), bytes=38_000_000),
        ),
        work=WORK,
    )
    return msgspec.structs.replace(made, **changes)


def trial(anatomy: Anatomy, batch_size: int = 64, repeat: int = 0) -> TrialRecord:
    record = ran(batch_size, anatomy.plain_step_seconds, kind="anatomy", repeat=repeat)
    assert record.measurement is not None
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, anatomy=anatomy))


def request(**changes: Any) -> AnatomyRequest:
    made = AnatomyRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"),
        bench=Bench(device="auto"),
        settings=Settings(batch_size=64),
    )
    return msgspec.structs.replace(made, **changes)


def concluded(*anatomies: Anatomy, **changes: Any) -> AnatomyAnswer:
    return conclude_anatomy(request(**changes), [trial(each, repeat=n) for n, each in enumerate(anatomies)])


def said(answer: AnatomyAnswer, words: str) -> bool:
    return any(words in verdict for verdict in answer.verdicts)


def test_phases_are_shares_of_the_step_and_costs_per_example() -> None:
    answer = concluded(seen())
    forward = answer.phases["forward"]
    assert forward.share == pytest.approx(0.3)
    assert forward.seconds_per_example == pytest.approx(0.03 / 64)
    assert forward.host_seconds == pytest.approx(0.015)
    assert answer.coverage == pytest.approx(0.99)
    assert answer.step_seconds == pytest.approx(0.1)


def test_shares_are_of_the_steps_with_instruments_and_coverage_is_of_those_without() -> None:
    """On a restless machine the two may take turns well and still not last as long."""
    answer = concluded(seen(step=0.066))
    assert answer.phases["forward"].share == pytest.approx(0.3)
    assert said(
        answer, "takes 66.0 ms (65.9 ms to 66.1 ms), of which forward 30 %, backward 60 % and the optimiser 7 %"
    )
    assert answer.coverage == pytest.approx(1.5)


def test_shares_of_processes_that_differ_add_up_to_the_whole() -> None:
    parts = ({"forward": 0.5, "backward": 0.5}, {"backward": 0.5, "optimizer": 0.5}, {"forward": 0.5, "optimizer": 0.5})
    nothing = dict.fromkeys(LENGTHS, 0.0)
    shares = [cost.share for cost in concluded(*(seen(lengths=nothing | each) for each in parts)).phases.values()]
    assert sum(shares) == pytest.approx(1.0)


def test_the_interval_covers_the_difference_between_processes() -> None:
    one, three = concluded(seen(0.1)), concluded(seen(0.1), seen(0.11), seen(0.12))
    assert three.step_seconds == pytest.approx(0.11)
    assert three.ci95[1] - three.ci95[0] > 10 * (one.ci95[1] - one.ci95[0])
    assert three.ci95[0] < 0.1 < 0.12 < three.ci95[1]


def test_host_wait_and_device_stall_are_two_numbers() -> None:
    answer = concluded(seen(lengths={"load": 0.001}, load_wait_seconds=0.04), from_loader=True)
    assert answer.host_wait_seconds == pytest.approx(0.04)
    assert answer.stall_seconds == pytest.approx(0.001)
    assert said(answer, "the host waits 40.0 ms, and the device stands still 1.00 ms")


def test_what_is_used_of_the_hardware_is_held_against_what_it_was_seen_to_do() -> None:
    use = concluded(seen()).utilization
    assert use.flops_per_second == pytest.approx(1e13)
    assert use.flops_share == pytest.approx(0.2)
    assert use.bytes_share == pytest.approx(0.25)
    assert use.unknown_because is None


def test_what_cannot_be_counted_is_not_available_for_a_reason() -> None:
    work = Work(flops_per_second_ceiling=5e13, uncounted_because="compiled kernels are not counted")
    answer = concluded(seen(work=work))
    assert answer.utilization.flops_per_second is None
    assert answer.utilization.flops_share is None
    assert said(answer, "N/A: compiled kernels are not counted")


@pytest.mark.parametrize(
    ("anatomy", "bound", "words"),
    [
        (seen(), "compute-bound", "of which forward 30 %, backward 60 % and the optimiser 7 %"),
        (
            seen(lengths={"load": 0.03, "backward": 0.03}),
            "data-bound",
            "30 % (29.7 to 30.3 %) of it the device stands still",
        ),
        (
            seen(lengths={"transfer": 0.02, "backward": 0.042}),
            "transfer-bound",
            "20 % (19.8 to 20.2 %) of it is moving the batch",
        ),
        (seen(lengths={"transfer": 0.02, "load": 0.03}), "data-bound", "Data-bound"),
        (seen(host_step_seconds=0.097, busy_seconds=0.04), "launch-bound", "97 % of it to queue the work"),
        (seen(host_step_seconds=0.097, busy_seconds=0.099), "compute-bound", "Compute-bound"),
        (seen(host_step_seconds=0.05, busy_seconds=0.06), "compute-bound", "Compute-bound"),
        (seen(host_step_seconds=0.05, busy_seconds=0.04), "launch-bound", "the device is idle 60 % of the time"),
        (
            seen(work=msgspec.structs.replace(WORK, bytes_per_step=3e11)),
            "memory-bound",
            "at 75 % of the rate at which this device copies",
        ),
        (seen(host_step_seconds=None, busy_seconds=None, transfers=()), "compute-bound", "Compute-bound"),
    ],
)  # fmt: skip
def test_the_limit_is_named_with_the_figures_it_rests_on(anatomy: Anatomy, bound: str, words: str) -> None:
    answer = concluded(anatomy)
    assert answer.bound == bound
    assert words in answer.verdicts[0]


@pytest.mark.parametrize("high", [math.inf, 1e6])
def test_steps_too_uneven_have_no_interval_to_tell(high: float) -> None:
    answer = concluded(seen(plain_ci95=(0.0, high), instrument_cost=0.1, instrument_cost_ci95=(-0.9, high)))
    assert said(answer, "100 ms (too uneven for an interval)")
    assert "may make the step 10.0 % (too uneven for an interval) longer" in anatomy_cautions(answer)[0]


def test_what_is_not_explained_is_other_or_a_restless_machine() -> None:
    other = concluded(seen(lengths={"forward": 0.01, "other": 0.02}))
    faster = concluded(seen(lengths={"forward": 0.01}, instrument_cost=-0.1, instrument_cost_ci95=(-0.2, 0.0)))
    restless = concluded(seen(lengths={"forward": 0.01}))
    assert anatomy_cautions(other)[0].endswith("the rest stands under other.")
    assert "instruments were faster than those without" in anatomy_cautions(faster)[0]
    assert anatomy_cautions(restless)[0].endswith("its processes differed too much, so this machine was not quiet.")


def test_processes_that_differ_explain_their_own_steps_and_not_each_others() -> None:
    lengths = ((0.1, 0.06, 0.03), (0.1, 0.03, 0.06), (0.07, 0.03, 0.03))
    wide = {"instrument_cost": 0.05, "instrument_cost_ci95": (-0.8, 3.0)}
    answer = concluded(*(seen(step, {"forward": f, "backward": b}, **wide) for step, f, b in lengths))
    assert answer.coverage == pytest.approx(0.99, abs=0.001)
    (cost,) = anatomy_cautions(answer)
    assert "may make the step 5.0 %" in cost


def test_there_is_one_ceiling_for_all_sizes_the_best_that_any_process_saw() -> None:
    low, high = (msgspec.structs.replace(WORK, flops_per_second_ceiling=ceiling) for ceiling in (4e13, 5e13))
    small, large = trial(seen(work=high), 8), trial(seen(work=low))
    answer = conclude_anatomy(request(sizes=(8,)), [small, large, trial(seen(work=low), repeat=1)])
    assert [size.utilization.flops_per_second_ceiling for size in answer.sizes] == [5e13, 5e13]
    assert answer.utilization.flops_share == pytest.approx(0.2)


def test_a_share_that_rounds_to_nothing_is_under_one_percent() -> None:
    answer = concluded(seen(work=msgspec.structs.replace(WORK, flops_per_step=1e10)))
    assert said(answer, "under 1 % of what a large matrix product reaches")


ON_CPU = {"host_step_seconds": None, "busy_seconds": None, "transfers": ()}


def test_on_a_cpu_a_step_is_never_transfer_bound() -> None:
    bench = Bench(device="cpu")
    assert concluded(seen(lengths={"transfer": 0.03}, **ON_CPU), bench=bench).bound == "compute-bound"
    assert concluded(seen(lengths={"transfer": 0.03, "load": 0.02}, **ON_CPU), bench=bench).bound == "data-bound"


def test_on_a_gpu_whose_idleness_is_unknown_memory_may_still_be_the_limit() -> None:
    moving = msgspec.structs.replace(WORK, bytes_per_step=3e11)
    assert concluded(seen(host_step_seconds=None, busy_seconds=None, work=moving)).bound == "memory-bound"


def test_on_a_cpu_there_is_one_wait_for_data() -> None:
    waiting = seen(lengths={"load": 0.03}, load_wait_seconds=0.028, **ON_CPU)
    answer = concluded(waiting, bench=Bench(device="cpu"), from_loader=True)
    assert answer.host_wait_seconds == answer.stall_seconds == answer.phases["load"].seconds
    assert said(answer, "For each batch the step waits 30.0 ms.")


def test_on_a_cpu_idleness_is_unknown_and_not_zero() -> None:
    answer = concluded(seen(host_step_seconds=None, busy_seconds=None))
    assert answer.idle_share is None
    assert answer.host_share is None


def test_the_device_is_idle_for_what_it_did_not_compute() -> None:
    answer = concluded(seen(busy_seconds=0.06))
    assert answer.idle_share == pytest.approx(0.4)
    assert answer.host_share == pytest.approx(0.5)


def test_costly_instruments_and_unexplained_time_are_warned_of() -> None:
    assert anatomy_cautions(concluded(seen())) == ()
    costly = seen(instrument_cost=0.03, instrument_cost_ci95=(0.025, 0.035), lengths={"other": 0.02, "forward": 0.01})
    cost, covered = anatomy_cautions(concluded(costly))
    assert "3.0 % (2.5 to 3.5 %) longer" in cost
    assert "only 79 %" in covered


def test_every_size_whose_phases_leave_something_open_is_named() -> None:
    faster = {"instrument_cost": -0.5, "instrument_cost_ci95": (-0.6, -0.4)}
    history = [trial(seen(0.2, **faster), 8), trial(seen(), 16), trial(seen(0.4, **faster), 32), trial(seen())]
    (told,) = anatomy_cautions(conclude_anatomy(request(sizes=(8, 16, 32)), history))
    assert told.startswith("The named phases explain only part of the step (50 % at batch 8, 25 % at batch 32); steps")


def test_phases_far_longer_than_the_step_without_instruments_are_said_to_explain_nothing() -> None:
    (told,) = anatomy_cautions(concluded(seen(step=0.066)))
    assert told == (
        "With instruments the named phases take 150 % of the step without them; the two differ too much to tell what "
        "the phases explain."
    )
    assert anatomy_cautions(concluded(seen(step=0.095))) == ()


@given(st.lists(st.floats(-0.05, 0.2), min_size=1, max_size=6))
def test_the_instruments_cost_lies_within_what_the_processes_saw_and_its_interval(costs: list[float]) -> None:
    made = [seen(instrument_cost=each, instrument_cost_ci95=(each - 0.01, each + 0.01)) for each in costs]
    cost, (low, high) = instrument_cost(made)
    assert min(costs) - 1e-9 <= cost <= max(costs) + 1e-9
    assert low <= cost + 1e-9
    assert high >= cost - 1e-9


@given(
    st.lists(st.tuples(st.floats(0.001, 10), st.floats(0, 10), st.floats(-0.1, 0.1)), min_size=1, max_size=5),
    st.integers(1, 4096),
)
def test_any_phases_make_finite_shares_and_one_of_the_limits(
    processes: list[tuple[float, float, float]], batch_size: int
) -> None:
    made = [seen(step, {"load": load, "other": other}) for step, load, other in processes]
    size = combine_size(batch_size, made, Ceilings(), on_cpu=False)
    assert set(size.phases) == set(LENGTHS)
    for cost in size.phases.values():
        assert cost.ci95[0] <= cost.seconds <= cost.ci95[1] or cost.seconds < 0
    assert sum(max(0.0, cost.share) for cost in size.phases.values()) == pytest.approx(1.0)
    assert size.bound.endswith("-bound")
    assert 0 <= (size.idle_share or 0) <= 1


def test_a_stall_just_above_a_tenth_of_the_step_is_the_limit_and_one_below_is_not() -> None:
    def cost(share: float) -> PhaseCost:
        return PhaseCost(seconds=share, ci95=(share, share), share=share, seconds_per_example=share, host_seconds=0.0)

    assert bound_of({"load": cost(0.101)}, None, None, Utilization(), on_cpu=False) == "data-bound"
    assert bound_of({"load": cost(0.1)}, None, None, Utilization(), on_cpu=False) == "compute-bound"


@pytest.mark.parametrize(
    ("milliseconds", "bound"),
    [
        # ResNet-50 on an H200, fed from pageable memory: step, busy, queueing, transfer, and the host's time in it.
        ((4.44, 0.82, 3.89, 0.17, 0.17), "launch-bound"),
        ((5.08, 2.14, 4.13, 0.76, 0.76), "launch-bound"),
        ((22.6, 19.1, 17.2, 2.44, 5.56), "transfer-bound"),
        ((8.14, 7.18, 4.56, 2.55, 3.36), "transfer-bound"),
        ((55.0, 52.2, 4.99, 20.2, 43.3), "transfer-bound"),
        # On a restless host it may queue faster by itself than it does in the step.
        ((5.79, 2.12, 3.66, 0.76, 0.76), "launch-bound"),
        # A host that goes on while its batch is copied is not held up by that.
        ((5.08, 3.14, 4.13, 0.76, 0.02), "transfer-bound"),
        ((5.08, 3.14, 4.13, 0.36, 0.02), "compute-bound"),
        ((5.08, 3.14, 4.93, 0.36, 0.02), "launch-bound"),
    ],
)
def test_a_host_that_launches_and_copies_all_the_time_is_the_limit(
    milliseconds: tuple[float, float, float, float, float], bound: str
) -> None:
    step, busy, queueing, moving, held_up = milliseconds
    transfer = PhaseCost(
        seconds=moving, ci95=(moving, moving), share=moving / step, seconds_per_example=moving, host_seconds=held_up
    )
    phases = {"transfer": transfer}
    assert bound_of(phases, 1 - busy / step, queueing / step, Utilization(), on_cpu=False) == bound


def test_what_the_host_needs_is_left_out_where_it_is_not_known() -> None:
    answer = conclude_anatomy(request(), [trial(seen(host_step_seconds=None, busy_seconds=0.04))])
    assert answer.bound == "launch-bound"
    assert said(answer, "; the device is idle 60 % of the time")


def test_a_copy_that_holds_the_host_up_is_named_beside_its_launching() -> None:
    held_up = seen(lengths={"transfer": 0.02, "backward": 0.042}, host_step_seconds=0.085, busy_seconds=0.04)
    answer = conclude_anatomy(request(), [trial(held_up)])
    assert answer.bound == "launch-bound"
    assert said(answer, "the host needs 85 % of it to queue the work and 10 % to copy the batch")


@pytest.mark.parametrize(
    ("stall", "idle", "bound"),
    [(0.4, 0.5, "data-bound"), (0.25, 0.4, "data-bound"), (0.25, 0.6, "launch-bound"), (0.08, 0.15, "launch-bound")],
)
def test_a_device_that_is_idle_for_want_of_data_is_not_launch_bound(stall: float, idle: float, bound: str) -> None:
    load = PhaseCost(seconds=stall, ci95=(stall, stall), share=stall, seconds_per_example=stall, host_seconds=stall)
    assert bound_of({"load": load}, idle, 0.95, Utilization(), on_cpu=False) == bound


def test_several_sizes_stand_beside_the_one_that_the_answer_is_about() -> None:
    small = trial(seen(0.05, host_step_seconds=0.049, busy_seconds=0.01), 8)
    answer = conclude_anatomy(request(sizes=(8,)), [small, trial(seen())])
    assert [size.batch_size for size in answer.sizes] == [8, 64]
    assert answer.batch_size == 64
    assert said(answer, "Per example the step takes 6.25 ms at batch 8 and 1.56 ms at batch 64.")
    assert said(answer, "From launch-bound at batch 8 it turns compute-bound at batch 64.")


def test_a_size_that_does_not_fit_is_named_and_the_answer_is_about_the_largest_that_does() -> None:
    history = [failed(64, kind="anatomy"), trial(seen(), 32)]
    answer = conclude_anatomy(request(sizes=(32, 128)), history)
    assert answer.batch_size == 32
    assert said(answer, "Batch 64 is left out: it does not fit in memory.")
    assert said(answer, "Not tried: batch 128.")
    assert said(answer, "The answer is about batch 32")


def test_without_a_single_step_there_is_no_answer_but_the_way_out() -> None:
    with pytest.raises(NothingMeasuredError, match="no step could be taken apart") as caught:
        conclude_anatomy(request(), [failed(64, Outcome.CRASH, kind="anatomy")])
    assert caught.value.hint


DATA = WorkloadSpec(model="torchvision:resnet50", data="folder:/data")


@pytest.mark.parametrize(
    ("anatomy", "changes", "command"),
    [
        (seen(), {}, "traindyno switches --model torchvision:resnet50 --batch-size 64"),
        (
            seen(lengths={"load": 0.03}),
            {"workload": DATA, "from_loader": True, "settings": Settings(batch_size=64, num_workers=2)},
            "traindyno loader --data folder:/data --model torchvision:resnet50 --batch-size 64",
        ),
        (
            seen(lengths={"transfer": 0.03}),
            {"settings": Settings(batch_size=64, compile="default")},
            "traindyno anatomy --model torchvision:resnet50 --batch-size 64 --pin-memory --set compile=default",
        ),
        (
            seen(lengths={"transfer": 0.03}),
            {"workload": DATA, "from_loader": True, "settings": Settings(batch_size=64, pin_memory=True)},
            "traindyno stalls --data folder:/data --model torchvision:resnet50 --batch-size 64 --workers 0 "
            "--pin-memory",
        ),
        (
            seen(host_step_seconds=0.097, busy_seconds=0.04),
            {"bench": Bench(device="cuda:1"), "settings": Settings(batch_size=64, memory_format="channels_last")},
            "traindyno switches --model torchvision:resnet50 --device cuda:1 --batch-size 64 "
            "--set memory_format=channels_last",
        ),
    ],
)  # fmt: skip
def test_the_next_command_looks_into_the_limit(anatomy: Anatomy, changes: dict[str, Any], command: str) -> None:
    asked = request(**changes)
    answer = conclude_anatomy(asked, [trial(anatomy)])
    assert " ".join(next_command(asked, answer)) == command
