"""Trials that are not timed, several at once on one GPU: who runs which, and for how many there is room.

A short run that tells its losses leaves most of the device idle: it starts, builds, compiles, and its batch is small.
What is beside it may change which kernels are chosen, and nothing that matters to its losses, so that several share the
device, each on a runner of its own. Where one fails, its company may be why: its record says nothing, and it is to be
run again by itself.
"""

import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, suppress

import msgspec

from traindyno.app.attempt import Attempt
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.preparing import PreparingRunner
from traindyno.app.watching import RENEW_SECONDS
from traindyno.app.workshop import Workshop
from traindyno.core.errors import TraindynoError
from traindyno.core.events import Emit, TrialFinished, TrialProgress, TrialStarted
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Arm, Measurement, Memory, TrialRecord
from traindyno.core.units import count_of
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Runner, Watcher
from traindyno.search.strategy import Proposal

MOST_LANES = 4
CPUS_PER_LANE = 4
CONTEXT_BYTES = 1 << 30
"""What a process holds on a GPU besides its tensors, and a little more."""
TICK_SECONDS = 0.2

SURE_IN_COMPANY = (Outcome.OK, Outcome.NONFINITE)
"""Endings that say the same of a trial whether it was alone or not."""

Ended = tuple[Attempt, TrialRecord] | BaseException


def lanes_for(workshop: Workshop, records: Sequence[TrialRecord]) -> int:
    """How many trials may share the device, by what those so far have needed of it; one where that is not known."""
    machine = workshop.machine
    if not isinstance(beneath(workshop.runner), LocalRunner) or not workshop.bench.device.startswith("cuda"):
        return 1
    told = [memory for record in records if record.measurement for memory in _memories(record.measurement)]
    needed = [each.peak_reserved_bytes for each in told if each.peak_reserved_bytes is not None]
    limits = [each.limit_bytes for each in told if each.limit_bytes is not None]
    if not needed or not limits:
        return 1
    by_memory = max(limits) // (max(needed) + CONTEXT_BYTES)
    by_cpus = int(machine.cpus_usable or machine.cpus_online or 1) // CPUS_PER_LANE
    return max(1, min(MOST_LANES, by_memory, by_cpus))


def beneath(runner: Runner) -> Runner:
    """The runner itself: what others add is for trials that a loader feeds, or whose data is yet to be prepared."""
    while isinstance(runner, RoomyRunner | PreparingRunner):
        runner = runner.beneath
    return runner


def _memories(measurement: Measurement) -> list[Memory]:
    pair = measurement.pair
    arms: tuple[Arm, ...] = () if pair is None else (pair.baseline, pair.candidate)
    return [measurement.memory, *(arm.memory for arm in arms)]


def run_together(
    attempts: Sequence[Attempt], lanes: int, should_stop: Callable[[], bool], tick: Callable[[], None]
) -> Generator[tuple[Attempt, TrialRecord]]:
    """Each attempt with its end, as they end; `tick` is called several times a second meanwhile.

    The seconds of a record are those since the end before it, so that all of them sum up to the time that passed. An
    error of a lane is raised when all others have ended.
    """
    waiting: queue.SimpleQueue[Attempt] = queue.SimpleQueue()
    for attempt in attempts:
        waiting.put(attempt)
    ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()
    stop, errors = threading.Event(), list[BaseException]()
    with ExitStack() as stack:
        for number, runner in enumerate(_runners(attempts[0].workshop, min(lanes, len(attempts)), stack)):
            lane = threading.Thread(target=_serve, args=(runner, number == 0, waiting, ended, stop), daemon=True)
            lane.start()
            stack.callback(lane.join)
        stack.callback(stop.set)
        last, left = time.monotonic(), len(attempts)
        while left:
            tick()
            if errors or should_stop():
                stop.set()
                left -= _emptied(waiting)
            try:
                told = ended.get(timeout=TICK_SECONDS)
            except queue.Empty:
                continue
            if isinstance(told, BaseException):
                errors.append(told)
                continue
            attempt, record = told
            now, left = time.monotonic(), left - 1
            yield attempt, msgspec.structs.replace(record, seconds=now - last)
            last = now
    if errors:
        raise errors[0]


def _emptied(waiting: "queue.SimpleQueue[Attempt]") -> int:
    """How many waited, and no longer do."""
    count = 0
    with suppress(queue.Empty):
        while waiting.get_nowait():
            count += 1
    return count


def _runners(workshop: Workshop, lanes: int, stack: ExitStack) -> list[LocalRunner]:
    """The study's own runner and some beside it, which are gone when this is over."""
    own = beneath(workshop.runner)
    assert isinstance(own, LocalRunner)
    own.warm_up()
    others = [own.sibling() for _ in range(lanes - 1)]
    for other in others:
        stack.callback(other.close)
        other.warm_up()
    return [own, *others]


def _serve(
    runner: LocalRunner,
    is_own: bool,
    waiting: "queue.SimpleQueue[Attempt]",
    ended: "queue.SimpleQueue[Ended]",
    stop: threading.Event,
) -> None:
    """One lane: takes what waits until nothing does. One that cannot start leaves its share to the study's own."""
    watcher = _Stoppable(stop)
    attempt = None
    try:
        if not runner.get_ready(watcher):
            return
        with suppress(queue.Empty):
            while attempt := waiting.get_nowait():
                ended.put((attempt, attempt.run_beside(runner, watcher)))
                attempt = None
    except BaseException as error:  # noqa: BLE001 - whoever waits for the ends raises it
        if attempt is not None:
            ended.put((attempt, TrialRecord(spec=attempt.spec, outcome=Outcome.INFRASTRUCTURE, seconds=0.0)))
        if is_own or not isinstance(error, TraindynoError):
            ended.put(error)


class Company:
    """What is told of trials that run at once: those that have ended, and one of the others as what runs now."""

    def __init__(self, emit: Emit, proposals: Sequence[Proposal], ordinal: int, lanes: int) -> None:
        self._emit, self._lanes = emit, lanes
        self._running = {proposal.spec.key: proposal for proposal in proposals}
        self._shown: Proposal | None = None
        self._ordinal, self._expected = ordinal, proposals[0].expected_trials
        self._began = self._renewed = time.monotonic()
        self._show()

    def tick(self) -> None:
        others = min(self._lanes, len(self._running)) - 1
        phase = f"beside {count_of(others, 'other')}" if others else "the last of several"
        self._emit(TrialProgress(phase=phase, steps=0, seconds=time.monotonic() - self._began))

    def renew_is_due(self) -> bool:
        """Whether the leases need to be prolonged; it is taken to be done."""
        is_due = time.monotonic() - self._renewed > RENEW_SECONDS
        self._renewed = time.monotonic() if is_due else self._renewed
        return is_due

    def ended(self, record: TrialRecord, remaining_seconds: float | None) -> None:
        """One that is to be run again is told of then, and has no time left to tell."""
        del self._running[record.spec.key]
        if remaining_seconds is not None:
            ordinal, self._ordinal = self._ordinal, self._ordinal + 1
            self._emit(
                TrialFinished(
                    ordinal=ordinal,
                    expected_trials=max(self._expected, ordinal),
                    record=record,
                    remaining_seconds=remaining_seconds,
                )
            )
        self._show()

    def _show(self) -> None:
        shown = next(iter(self._running.values()), None)
        if shown is None or shown is self._shown:
            return
        self._shown, expected = shown, max(self._expected, self._ordinal)
        self._emit(TrialStarted(ordinal=self._ordinal, expected_trials=expected, spec=shown.spec, reason=shown.reason))


class _Stoppable(Watcher):
    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def should_stop(self) -> bool:
        return self._stop.is_set()
