"""Does this batch fit? A few full steps in a fresh process, with the memory they took."""

from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.kinds.bench import set_up
from traindyno.worker.kinds.summary import summarise
from traindyno.worker.steps import finite_loss, make_evaluation_step
from traindyno.worker.timing import time_block

DEFAULT_STEPS = 3


def measure_fit(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Three steps by default: the optimiser's state appears in the first, so the peak comes in the second."""
    bench = set_up(spec, device, channel)
    channel.phase("first step")
    blocks: list[Block] = []
    value = None
    for number in range(1, (spec.budget.steps or DEFAULT_STEPS) + 1):
        block, loss = time_block(bench.step, 1, device)
        device.check_memory()
        value = finite_loss(loss)
        blocks.append(block)
        channel.phase("steps")
        channel.step(number, block.seconds)
    evaluation_seconds = None
    if spec.evaluate:
        channel.phase("evaluation")
        evaluation = make_evaluation_step(bench.job, bench.batch, spec.settings, device)
        evaluation_seconds = time_block(evaluation, 1, device)[0].seconds
        device.check_memory()
    return summarise(
        spec, bench, device, blocks, blocks[1:] or blocks, value, steady=False, evaluation_seconds=evaluation_seconds
    )
