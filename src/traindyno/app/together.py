"""Trials that are not timed, several at once on one GPU: who runs which, and for how many there is room.

A short run that tells its losses spends most of its time on the host: it starts, builds, compiles. What is beside it
changes nothing of what it tells, so that several share the device, each on a runner of its own. Where one does not end
well, want of room may be why: its record says nothing, and it is to be run again by itself.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import msgspec

from traindyno.app.attempt import Attempt
from traindyno.app.watching import RENEW_SECONDS
from traindyno.app.workshop import Workshop
from traindyno.core.events import Emit, TrialFinished, TrialProgress, TrialStarted
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Arm, Measurement, Memory, TrialRecord
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Watcher
from traindyno.search.strategy import Proposal

MOST_LANES = 4
CPUS_PER_LANE = 4
CONTEXT_BYTES = 1 << 30
"""What a process holds on a GPU besides its tensors, and a little more."""
TICK_SECONDS = 0.2

Ended = tuple[Attempt, TrialRecord | BaseException]


def lanes_for(workshop: Workshop, records: Sequence[TrialRecord]) -> int:
    """How many trials may share the device, by what those so far have needed of it; one where that is not known."""
    runner, machine = workshop.runner, workshop.machine
    if not isinstance(runner, LocalRunner) or not workshop.bench.device.startswith("cuda"):
        return 1
    told = [memory for record in records if record.measurement for memory in _memories(record.measurement)]
    needed = [each.peak_reserved_bytes for each in told if each.peak_reserved_bytes is not None]
    limits = [each.limit_bytes for each in told if each.limit_bytes is not None]
    if not needed or not limits:
        return 1
    by_memory = max(limits) // (max(needed) + CONTEXT_BYTES)
    by_cpus = int(machine.cpus_usable or machine.cpus_online or 1) // CPUS_PER_LANE
    return max(1, min(MOST_LANES, by_memory, by_cpus))


def _memories(measurement: Measurement) -> list[Memory]:
    pair = measurement.pair
    arms: tuple[Arm, ...] = () if pair is None else (pair.baseline, pair.candidate)
    return [measurement.memory, *(arm.memory for arm in arms)]


def run_together(
    attempts: Sequence[Attempt], lanes: int, should_stop: Callable[[], bool], tick: Callable[[], None]
) -> Iterator[tuple[Attempt, TrialRecord]]:
    """Each attempt with its end, as they end; `tick` is called several times a second meanwhile.

    The seconds of a record are those since the end before it, so that all of them sum up to the time that passed.
    """
    waiting: queue.SimpleQueue[Attempt] = queue.SimpleQueue()
    for attempt in attempts:
        waiting.put(attempt)
    ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()
    stop = threading.Event()
    with ExitStack() as stack:
        for runner in _runners(attempts[0].workshop, min(lanes, len(attempts)), stack):
            lane = threading.Thread(target=_serve, args=(runner, waiting, ended, stop), daemon=True)
            lane.start()
            stack.callback(lane.join)
        stack.callback(stop.set)
        last, left = time.monotonic(), len(attempts)
        while left:
            if should_stop():
                stop.set()
            tick()
            try:
                attempt, told = ended.get(timeout=TICK_SECONDS)
            except queue.Empty:
                continue
            if isinstance(told, BaseException):
                raise told
            now, left = time.monotonic(), left - 1
            yield attempt, msgspec.structs.replace(told, seconds=now - last)
            last = now


def _runners(workshop: Workshop, lanes: int, stack: ExitStack) -> list[LocalRunner]:
    """The study's own runner and some beside it, which are gone when this is over."""
    own = workshop.runner
    assert isinstance(own, LocalRunner)
    own.warm_up()
    others = [own.sibling() for _ in range(lanes - 1)]
    for other in others:
        stack.callback(other.close)
        other.warm_up()
    return [own, *others]


def _serve(
    runner: LocalRunner,
    waiting: "queue.SimpleQueue[Attempt]",
    ended: "queue.SimpleQueue[Ended]",
    stop: threading.Event,
) -> None:
    """One lane: takes what waits until nothing does. After a request to stop, what waits ends before it began."""
    while True:
        try:
            attempt = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            if stop.is_set():
                record = TrialRecord(spec=attempt.spec, outcome=Outcome.INTERRUPTED, seconds=0.0)
            else:
                record = attempt.run_beside(runner, _Stoppable(stop))
            ended.put((attempt, record))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the end of this attempt raises it
            ended.put((attempt, error))


class Company:
    """What is told of trials that run at once: those that have ended, and one of the others as what runs now."""

    def __init__(self, emit: Emit, proposals: Sequence[Proposal], ordinal: int) -> None:
        self._emit = emit
        self._running = {proposal.spec.key: proposal for proposal in proposals}
        self._ordinal, self._expected = ordinal, proposals[0].expected_trials
        self._began = self._renewed = time.monotonic()
        self._start()

    def tick(self) -> None:
        phase = f"beside {len(self._running) - 1} others" if len(self._running) > 1 else "the last of several"
        self._emit(TrialProgress(phase=phase, steps=0, seconds=time.monotonic() - self._began))

    def renew_is_due(self) -> bool:
        """Whether the leases need to be prolonged; it is taken to be done."""
        is_due = time.monotonic() - self._renewed > RENEW_SECONDS
        self._renewed = time.monotonic() if is_due else self._renewed
        return is_due

    def ended(self, record: TrialRecord, remaining_seconds: float) -> None:
        """One that did not end well will be told of when it is run again."""
        del self._running[record.spec.key]
        if record.ok:
            self._emit(
                TrialFinished(
                    ordinal=self._ordinal,
                    expected_trials=self._expected,
                    record=record,
                    remaining_seconds=remaining_seconds,
                )
            )
            self._ordinal += 1
        self._start()

    def _start(self) -> None:
        if self._running:
            shown = next(iter(self._running.values()))
            self._emit(
                TrialStarted(
                    ordinal=self._ordinal, expected_trials=self._expected, spec=shown.spec, reason=shown.reason
                )
            )


class _Stoppable(Watcher):
    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def should_stop(self) -> bool:
        return self._stop.is_set()
