"""Is one setting faster than another? Both stay alive in processes of their own and take turns, block by block."""

import contextlib
import signal
from collections.abc import Iterator

import msgspec

from traindyno.core.records import Arm, Measurement, Pair, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.classify import failure_of
from traindyno.worker.devices import Device
from traindyno.worker.errors import ArmDiedError, ArmFailedError, DoesNotApplyError
from traindyno.worker.kinds.summary import measurement_of
from traindyno.worker.pairing.life import die_like
from traindyno.worker.pairing.messages import Ready
from traindyno.worker.pairing.process import STACK_DUMP_SIGNAL, ArmProcess
from traindyno.worker.pairing.turns import Turns, take_turns


def measure_pair(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """The candidate's measurement, with both arms and their ratio in it.

    This process never touches the device: it forks the arms, and CUDA does not survive a fork. One arm is built after
    the other, so that neither is disturbed in its first step.
    """
    assert spec.against is not None, "a pair needs settings to measure against"
    baseline_spec = msgspec.structs.replace(spec, settings=spec.against, against=spec.settings)
    try:
        with _two_arms(baseline_spec, spec, channel) as (baseline, candidate):
            baseline_ready = baseline.get_ready()
            _check_layout(spec, baseline_ready)
            candidate_ready = candidate.get_ready()
            channel.phase("turns")
            turns = take_turns(baseline.measure, candidate.measure, spec.budget)
    except ArmDiedError as death:
        die_like(death.status)
    of_baseline = _measurement_of_arm(0, baseline_spec, device, baseline_ready, turns)
    of_candidate = _measurement_of_arm(1, spec, device, candidate_ready, turns)
    return msgspec.structs.replace(of_candidate, pair=_pair(of_baseline, of_candidate, turns))


@contextlib.contextmanager
def _two_arms(
    baseline_spec: TrialSpec, candidate_spec: TrialSpec, channel: Channel
) -> Iterator[tuple[ArmProcess, ArmProcess]]:
    """Both processes, waiting; they are gone when this ends. A request for the stack is for the one that computes."""
    baseline = ArmProcess("baseline", baseline_spec, channel)
    candidate = ArmProcess("candidate", candidate_spec, channel, siblings=[baseline])
    arms = (baseline, candidate)

    def dump_stack(*_: object) -> None:
        for arm in arms:
            arm.dump_stack()

    signal.signal(STACK_DUMP_SIGNAL, dump_stack)
    try:
        yield arms
    finally:
        for arm in arms:
            arm.dismiss()
        for arm in arms:
            arm.bury()


def _check_layout(spec: TrialSpec, ready: Ready) -> None:
    """Two arms that differ by their memory format alone are the same where there is nothing to lay out."""
    assert spec.against is not None
    like_baseline = msgspec.structs.replace(spec.settings, memory_format=spec.against.memory_format)
    if ready.has_images is False and like_baseline == spec.against != spec.settings:
        error = DoesNotApplyError(
            "neither an input nor a weight has four dimensions, so that the memory format changes nothing",
            "leave memory_format as it is",
        )
        raise ArmFailedError(failure_of(error, None, "candidate: model"))


def _measurement_of_arm(side: int, spec: TrialSpec, device: Device, ready: Ready, turns: Turns) -> Measurement:
    """What the arm was, as if measured alone; the turns of both count from the same on."""
    told = [turn[side] for turn in turns.taken]
    blocks = [turn.block for turn in told]
    return measurement_of(
        spec,
        device,
        [ready.warm_up, *blocks],
        blocks[-len(turns.counted) :],
        told[-1].loss,
        steady=turns.steady_from_each[side] is not None,
        start_up_seconds=ready.start_up_seconds,
        first_step_seconds=ready.first_step_seconds,
        memory=told[-1].memory,
        examples_in_data=ready.examples_in_data,
        has_images=ready.has_images,
        loading=ready.loading,
        notes=ready.notes,
    )


def _pair(baseline: Measurement, candidate: Measurement, turns: Turns) -> Pair:
    ratio, ci95 = turns.ratio
    return Pair(
        baseline=msgspec.convert(baseline, Arm, from_attributes=True),
        candidate=msgspec.convert(candidate, Arm, from_attributes=True),
        turns=turns.step_seconds,
        ratio=ratio,
        ci95=ci95,
    )
