"""How fast is this batch? Blocks of steps on resident data, until steady and precise."""

from traindyno.core.records import Measurement, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.kinds.bench import set_up
from traindyno.worker.kinds.summary import summarise
from traindyno.worker.steps import make_evaluation_step
from traindyno.worker.timing import steps_of_block, time_block, time_steps

DEFAULT_SECONDS = 5.0


def measure_speed(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Discard until steady, then stop as soon as the interval of the median block is narrow enough."""
    bench = set_up(spec, device, channel)
    seconds = DEFAULT_SECONDS if spec.budget.seconds is None else spec.budget.seconds
    timing = time_steps(bench.step, device, channel, seconds, spec.budget.relative_interval)
    evaluation_seconds = None
    memory = device.memory()
    if spec.evaluate:
        channel.phase("evaluation")
        evaluation = make_evaluation_step(bench.job, bench.batch, spec.settings, device)
        time_block(evaluation, 1, device)
        steps = steps_of_block(time_block(evaluation, 1, device)[0].seconds)
        evaluation_seconds = time_block(evaluation, steps, device, alive=channel.alive)[0].seconds / steps
    return summarise(
        spec,
        bench,
        device,
        timing.after_first_step,
        timing.counted,
        timing.loss,
        steady=timing.steady_from is not None,
        first_step_seconds=timing.first_step_seconds,
        evaluation_seconds=evaluation_seconds,
        memory=memory,
    )
