"""Where the time of a fed step goes, and what is said of it."""

import math
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.test_find import measured
from search.simulated_find import BASELINE, COMPUTE_BOUND, WORKLOAD, answer_of, goal_of, search
from search.test_find_disturbed import slowed
from traindyno.analysis.find.feeding import Feeding, feeding_of
from traindyno.core.anatomy import Anatomy, Phase
from traindyno.core.answers import FindAnswer
from traindyno.core.loading import Decoder, Loading
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec

ON_CPU = msgspec.structs.replace(BASELINE, device="cpu")


def run(alone: float, waiting: float, longer: float, settings: Settings = ON_CPU) -> TrialRecord:
    """A run end to end whose step has these parts, in seconds."""
    told = measured([alone + waiting + longer] * 6)
    loading = Loading(resident_step_seconds=alone, resident_ci95=(0.99 * alone, 1.01 * alone), wait_seconds=waiting)
    spec = TrialSpec(kind="feed", workload=WORKLOAD, settings=settings)
    measurement = msgspec.structs.replace(told, loading=loading)
    return TrialRecord(spec=spec, outcome=Outcome.OK, measurement=measurement, seconds=5.0)


def fed(*parts: tuple[float, float, float], on_cpu: bool = True) -> Feeding:
    found = feeding_of([run(*each) for each in parts], on_cpu=on_cpu)
    assert found is not None
    return found


@given(st.lists(st.tuples(*[st.floats(0.001, 1.0)] * 3), min_size=1, max_size=5))
def test_the_parts_of_a_fed_step_add_up(parts: list[tuple[float, float, float]]) -> None:
    found = fed(*parts)
    assert found.waiting is not None
    assert found.longer is not None
    assert found.alone + found.waiting + found.longer == pytest.approx(1.0)
    assert min(found.alone, found.waiting, found.longer) >= -1e-12


def test_the_larger_loss_says_what_a_step_is_held_up_by() -> None:
    assert fed((0.08, 0.1, 0.02)).waits
    shared = fed((0.08, 0.014, 0.111))
    assert not shared.waits
    assert shared.slows_down
    neither = fed((0.095, 0.003, 0.002))
    assert not neither.waits
    assert not neither.slows_down


def test_what_the_host_of_a_gpu_waits_says_nothing_of_the_device() -> None:
    found = fed((0.08, 0.05, 0.001), on_cpu=False)
    assert found.waiting is None
    assert found.longer is None


def test_a_step_that_was_timed_once_leaves_it_open_unless_processes_agree() -> None:
    told = run(0.08, 0.1, 0.0)
    assert told.measurement is not None
    single = msgspec.structs.replace(told.measurement, blocks=told.measurement.blocks[:1], steps=10)
    unknown = msgspec.structs.replace(told, measurement=single)
    one, two = feeding_of([unknown], on_cpu=True), feeding_of([unknown, unknown], on_cpu=True)
    assert one is not None
    assert two is not None
    assert not one.is_settled
    assert two.is_settled


def drifting(alone: tuple[float, float], waiting: float, beside: float) -> TrialRecord:
    """A run whose step by itself was as fast as that before its loader ran, and after it."""
    before, after = alone
    plain = run(math.sqrt(before * after), waiting, beside - math.sqrt(before * after))
    assert plain.measurement is not None
    assert plain.measurement.loading is not None
    told = {"resident_ci95": (min(alone), max(alone)), "resident_drift": after / before}
    loading = msgspec.structs.replace(plain.measurement.loading, **told)
    return msgspec.structs.replace(plain, measurement=msgspec.structs.replace(plain.measurement, loading=loading))


def test_a_cpu_that_slowed_down_is_not_taken_for_a_loader_that_slows_the_step() -> None:
    calm = feeding_of([run(0.12, 0.0, 0.11)] * 2, on_cpu=True)
    slowed_down = feeding_of([drifting((0.12, 0.24), 0.0, 0.23)] * 2, on_cpu=True)
    assert calm is not None
    assert calm.slows_down
    assert slowed_down is not None
    assert slowed_down.may_be_drift
    assert not slowed_down.slows_down
    assert slowed_down.ci95[1] >= 1.0


def test_a_step_that_is_slower_beside_its_loader_than_ever_alone_is_slowed_by_it() -> None:
    found = feeding_of([drifting((0.12, 0.14), 0.0, 0.4)] * 2, on_cpu=True)
    assert found is not None
    assert not found.may_be_drift
    assert found.slows_down


def answer_on_cpu(slowdown: float, waiting: float, wait_in_anatomy: float = 0.0, unlike: float = 1.0) -> FindAnswer:
    """A search on a CPU whose steps take `slowdown` times as long beside workers, and wait for that share.

    In every other round, steps take `unlike` times as long besides.
    """
    fed_seconds = [0.0]

    def shaped(record: TrialRecord) -> TrialRecord:
        told = record.measurement
        if told is None or record.spec.settings.num_workers == 0:
            return record
        if told.anatomy is not None:
            anatomy = taken_apart(told.anatomy, fed_seconds[-1], wait_in_anatomy)
            return msgspec.structs.replace(record, measurement=msgspec.structs.replace(told, anatomy=anatomy))
        if told.loading is None or told.loading.resident_step_seconds is None:
            return record
        factor = slowdown * (unlike if record.spec.repeat % 2 else 1.0)
        fed_seconds.append(factor * told.loading.resident_step_seconds / (1 - waiting))
        loading = msgspec.structs.replace(told.loading, wait_seconds=waiting * fed_seconds[-1])
        plain = msgspec.structs.replace(record, measurement=msgspec.structs.replace(told, loading=loading))
        return slowed(plain, fed_seconds[-1] / told.step_seconds)

    goal = goal_of(ON_CPU, cpus=2, keep=("decoder", "batch_size"))
    return answer_of(goal, search(goal, tamper=shaped))


def taken_apart(anatomy: Anatomy, step_seconds: float, waiting: float) -> Anatomy:
    """A step of that length, of which so much is waiting; its other phases share the rest as they did."""
    others = sum(each.seconds for each in anatomy.phases if each.phase != "load")

    def stretched(phase: Phase) -> Phase:
        share = waiting if phase.phase == "load" else (1 - waiting) * phase.seconds / others
        seconds = share * step_seconds
        return msgspec.structs.replace(phase, seconds=seconds, ci95=(0.99 * seconds, 1.01 * seconds))

    phases = tuple(stretched(each) for each in anatomy.phases)
    ends = (0.99 * step_seconds, 1.01 * step_seconds)
    return msgspec.structs.replace(anatomy, phases=phases, plain_step_seconds=step_seconds, plain_ci95=ends)


def sentence(answer: FindAnswer, begin: str) -> str:
    return next(verdict for verdict in answer.verdicts if verdict.startswith(begin))


def test_a_step_that_shares_its_cpus_with_the_loader_is_named_and_explained_by_measured_numbers() -> None:
    found = answer_on_cpu(slowdown=2.4, waiting=0.07)
    workers = found.recommended.settings["num_workers"]
    assert workers > 0
    assert found.bound_after == "compute, shared with the loader"
    assert "is now bound by compute, shared with the loader" in sentence(found, "It was bound by")
    told = sentence(found, "It reaches")
    left = found.headroom
    assert left.share_of_resident == pytest.approx(0.93 / 2.4, rel=0.01)
    assert left.waiting_share == pytest.approx(0.07, abs=0.001)
    assert left.slowed_share == pytest.approx(1 - 0.93 / 2.4 - 0.07, abs=0.005)
    assert told.startswith("It reaches 39 % of the rate")
    assert "7 % of the time it waits for a batch and 54 % is lost" in told
    assert f"{workers} workers and the step share 2 CPUs" in told


def test_processes_that_lose_their_time_alike_are_told_although_their_shares_differ() -> None:
    found = answer_on_cpu(slowdown=1.6, waiting=0.07, unlike=2.0)
    assert found.bound_after == "compute, shared with the loader"
    assert "(± over 100 %) of the rate" in sentence(found, "It reaches")
    assert "workers and the step share 2 CPUs" in sentence(found, "It reaches")


def test_a_step_that_keeps_its_speed_beside_the_loader_is_bound_by_compute_alone() -> None:
    found = answer_on_cpu(slowdown=1.02, waiting=0.0)
    assert found.bound_after == "compute"
    assert "is lost" not in sentence(found, "It reaches")


def test_the_bound_and_the_share_come_from_the_same_runs() -> None:
    """The step that was taken apart waited for a third of its time, the runs end to end for nothing."""
    found = answer_on_cpu(slowdown=1.0, waiting=0.0, wait_in_anatomy=0.34)
    assert found.bound_after == "compute"
    assert sentence(found, "It reaches").startswith("It reaches 100 % of the rate")
    assert found.step_after == ()
    told = sentence(found, "Of what is recommended")
    assert "it waited for its data 34 % of the time, and 0 % in the runs end to end" in told
    assert found.headroom.unknown_because is not None


def test_a_step_taken_apart_that_agrees_with_the_runs_is_told() -> None:
    found = answer_on_cpu(slowdown=1.0, waiting=0.0, wait_in_anatomy=0.02)
    assert found.step_after != ()
    assert not any("runs end to end are told alone" in verdict for verdict in found.verdicts)


def answer_on_gpu(
    step_alone: float,
    fed_seconds: float,
    anatomy_seconds: float,
    waiting: float,
    transfer_seconds: float = 1e-9,
    decoder: Decoder = "pil",
    augment_seconds: float = 0.0012,
) -> FindAnswer:
    """A search on a GPU at its baseline of four workers, whose runs and whose step taken apart take that long."""

    def shaped(record: TrialRecord) -> TrialRecord:
        told = record.measurement
        if told is None:
            return record
        if told.anatomy is not None:
            anatomy = taken_apart(told.anatomy, anatomy_seconds, waiting)
            return msgspec.structs.replace(record, measurement=msgspec.structs.replace(told, anatomy=anatomy))
        if told.loading is None or record.spec.kind != "feed":
            return record
        ends = (0.99 * step_alone, 1.01 * step_alone)
        loading = msgspec.structs.replace(told.loading, resident_step_seconds=step_alone, resident_ci95=ends)
        plain = msgspec.structs.replace(record, measurement=msgspec.structs.replace(told, loading=loading))
        return slowed(plain, fed_seconds / told.step_seconds)

    goal = goal_of(msgspec.structs.replace(BASELINE, num_workers=4, decoder=decoder))
    profile = f"transfer_seconds={transfer_seconds},augment_seconds={augment_seconds}"
    return answer_of(goal, search(goal, profile, tamper=shaped)[:3])


def test_on_a_gpu_a_step_that_loses_time_without_waiting_is_slower_beside_the_loader() -> None:
    found = answer_on_gpu(step_alone=0.1, fed_seconds=0.15, anatomy_seconds=0.15, waiting=0.01)
    assert found.bound_before == "compute, shared with the loader"
    assert "it was not seen to wait, and is slower beside 4 loader workers" in sentence(found, "It reaches 67 %")
    assert found.headroom.waiting_share is None


@pytest.mark.parametrize(
    ("fed_seconds", "anatomy_seconds", "waiting", "bound"),
    [(0.1, 0.15, 0.34, "compute"), (0.15, 0.1, 0.0, "data: decode")],
)
def test_on_a_gpu_a_step_taken_apart_that_contradicts_the_runs_is_not_told(
    fed_seconds: float, anatomy_seconds: float, waiting: float, bound: str
) -> None:
    found = answer_on_gpu(0.1, fed_seconds, anatomy_seconds, waiting)
    assert found.bound_before == bound
    assert found.step_before == ()
    assert "stood still for its data" in sentence(found, "Of the baseline")


def test_on_a_gpu_a_step_that_waits_as_its_runs_do_is_told() -> None:
    found = answer_on_gpu(step_alone=0.1, fed_seconds=0.15, anatomy_seconds=0.15, waiting=0.33)
    assert found.bound_before == "data: decode"
    assert found.step_before != ()


def test_on_a_gpu_a_step_that_waited_less_while_it_was_taken_apart_is_bound_by_its_data_all_the_same() -> None:
    found = answer_on_gpu(
        step_alone=0.0374, fed_seconds=0.0472, anatomy_seconds=0.0409, waiting=0.082, transfer_seconds=2e-5
    )
    assert found.bound_before == "data: decode"
    assert found.step_before != ()
    assert {each.phase: each.share for each in found.step_before}["load"] < 0.1


@pytest.mark.parametrize(("decoding_seconds", "bound"), [(5e-5, "data: decode"), (3e-5, "data: fetch")])
def test_a_gpu_that_decodes_is_named_where_it_takes_longer_than_all_that_its_workers_do(
    decoding_seconds: float, bound: str
) -> None:
    """Four workers fetch in 37 µs per example."""
    found = answer_on_gpu(0.1, 0.15, 0.1, 0.0, decoding_seconds, decoder="nvjpeg", augment_seconds=1e-4)
    assert found.bound_before == bound


def test_a_search_that_was_cut_does_not_say_that_there_is_nothing_to_change() -> None:
    goal = goal_of(keep=("num_workers", "decoder", "batch_size"))
    history = search(goal, COMPUTE_BOUND)
    first_pair = next(place for place, record in enumerate(history) if record.spec.kind == "pair")
    cut, only = answer_of(goal, history[: first_pair + 1]), answer_of(goal, history[:2])
    assert cut.verdicts[0] == "Nothing was shown to be faster than the baseline before the search was cut short."
    assert only.verdicts[0] == "Nothing but the baseline was measured before the search was cut short."
    assert not any("nothing to change" in verdict for verdict in (*cut.verdicts, *only.verdicts))


def answer_of_two_speeds(beside: float, waiting: float, apart: float = 1.4) -> FindAnswer:
    """Fed steps take `beside` times as long as alone, wait for that share, and slow down by 1.96 while they run.

    Their interval alone is `apart` times as long and as short.
    """

    def slowing_down(record: TrialRecord) -> TrialRecord:
        told = record.measurement
        if told is None or told.loading is None or record.spec.kind != "feed":
            return record
        alone = told.step_seconds / beside
        ends, found = (alone / apart, alone * apart), {"resident_step_seconds": alone}
        loading = msgspec.structs.replace(told.loading, **found, resident_ci95=ends, resident_drift=1.96)
        loading = msgspec.structs.replace(loading, wait_seconds=waiting * told.step_seconds)
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(told, loading=loading))

    goal = goal_of(ON_CPU, cpus=2, keep=("decoder", "batch_size"))
    return answer_of(goal, search(goal, tamper=slowing_down))


def test_a_share_that_cpus_of_two_speeds_leave_open_is_told_by_its_ends_and_why() -> None:
    answer = answer_of_two_speeds(beside=1.3, waiting=0.05)
    told = sentence(answer, "It reaches ")
    assert re.match(r"It reaches 5\d % to 100 % of the rate", told), told
    assert "5 % of the time it waits for a batch and by itself the step took 1.96 times as long after" in told
    assert "shared with the loader" not in f"{answer.bound_before} {answer.bound_after}"


def test_a_share_that_may_be_anything_is_not_known_and_why() -> None:
    answer = answer_of_two_speeds(beside=1.3, waiting=0.05, apart=50.0)
    told = sentence(answer, "How near it comes ")
    assert "resident on the device is not known: 5 % of the time it waits" in told
    assert "by itself the step took 1.96 times as long after" in told
    assert not any(verdict.startswith("It reaches ") for verdict in answer.verdicts)


def test_a_wait_is_told_whatever_the_speed_of_the_cpus() -> None:
    answer = answer_of_two_speeds(beside=2.5, waiting=0.55)
    assert answer.bound_before.startswith("data")
    told = sentence(answer, "It reaches ")
    assert told.endswith(": 55 % of the time it waits for a batch.")
    assert "1.96" not in told
