"""A stretch of plain training, from building the workload to the last step, to hold predictions against."""

import time

from traindyno.core.records import Block, Measurement, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.kinds.bench import set_up
from traindyno.worker.kinds.summary import summarise
from traindyno.worker.steps import finite_loss
from traindyno.worker.timing import time_block

EDGE_SECONDS = 1.0


def measure_training(spec: TrialSpec, device: Device, channel: Channel) -> Measurement:
    """Run exactly `budget.steps` steps; the device is waited for about once a second, to report progress."""
    assert spec.budget.steps is not None, "a training trial has a number of steps"
    bench = set_up(spec, device, channel)
    start = time.monotonic()
    channel.phase("first step")
    block, loss = time_block(bench.step, 1, device)
    blocks, done = [block], 1
    channel.phase("training")
    while done < spec.budget.steps:
        steps = min(spec.budget.steps - done, _steps_to_edge(blocks[-1]))
        block, loss = time_block(bench.step, steps, device, alive=channel.alive)
        blocks.append(block)
        done += steps
        channel.step(done, block.seconds / block.steps)
    value = finite_loss(loss)
    seconds = bench.start_up_seconds + time.monotonic() - start
    return summarise(spec, bench, device, blocks, blocks[1:] or blocks, value, steady=False, training_seconds=seconds)


def _steps_to_edge(block: Block) -> int:
    return max(1, round(EDGE_SECONDS * block.steps / max(block.seconds, 1e-9)))
