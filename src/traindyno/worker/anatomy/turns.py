"""Blocks with instruments and blocks without, by turns and from one supply."""

from collections.abc import Callable

import torch

from traindyno.analysis.flow_pace import Pace
from traindyno.core.anatomy import PhaseName
from traindyno.core.records import Block
from traindyno.worker.anatomy.instruments import Instruments, MarkedWaits, Reading
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.flow_timing import FlowTimer, Renewable
from traindyno.worker.lead import Ready, untold
from traindyno.worker.steps import Step


class Turns(FlowTimer):
    """Times the plain step as any fed step is timed, and beside each of its blocks one with instruments.

    Which of the two goes first changes from pair to pair, so that a drift touches both alike. The clock stands while
    instruments are read; what workers load meanwhile is less than a hundredth of a block.
    """

    def __init__(
        self,
        plain: Step,
        instrumented: Step,
        instruments: Instruments,
        supply: Renewable,
        waits: MarkedWaits,
        pace: Pace,
        device: Device,
        channel: Channel,
        ahead: Callable[[], None] = lambda: None,
        ready: Ready = untold,
        skip: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(plain, supply, waits, pace, device, channel, ahead=ahead, ready=ready, skip=skip)
        self._instrumented, self._instruments, self._marked_waits = instrumented, instruments, waits
        self.instrumented_blocks: list[Block] = []
        self.readings: list[dict[PhaseName, Reading]] = []

    def _time_block(self, steps: int) -> torch.Tensor | None:
        if not self._blocks:
            self._time_instrumented(steps)  # The first one makes its instruments, and does not count.
        plain_first = len(self._blocks) % 2 == 0
        if not plain_first:
            self._keep(*self._time_instrumented(steps))
        self._edge = None
        loss = super()._time_block(steps)
        if plain_first:
            self._keep(*self._time_instrumented(steps))
        return loss

    def _keep(self, block: Block, readings: dict[PhaseName, Reading]) -> None:
        self.instrumented_blocks.append(block)
        self.readings.append(readings)

    def _time_instrumented(self, steps: int) -> tuple[Block, dict[PhaseName, Reading]]:
        if self._supply.left() < steps:
            self._supply.renew()
            self._discard()
        self._ahead()
        self._device.synchronize()
        start = self._clock()
        with self._marked_waits.marking(self._instruments):
            self._run(self._instrumented, steps)
        self._instruments.mark("load")
        self._ahead()
        self._instruments.close()
        self._device.synchronize()
        block = Block(steps=steps, seconds=self._clock() - start)
        return block, self._instruments.read(steps)
