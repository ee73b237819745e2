"""Trials over a Ray cluster: each in a lane on another machine, while this process keeps the study."""

import time
from pathlib import Path
from typing import Protocol

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Conditions, Failure, TrialRecord, TrialSpec
from traindyno.core.units import count_of
from traindyno.machine.versions import own_version
from traindyno.runner.protocol import NowhereToRunError, Watcher
from traindyno.runner.ray_cluster import IN_USE, LaneHandle, LaneLostError, Place
from traindyno.runner.ray_words import LaneFacts, LaneOrders, Word, kind_of
from traindyno.runner.trial_log import TrialLog

POLL_SECONDS = 0.1
FREED_SECONDS = 5.0
LOST_REMEDY = "Look whether the machine is up and in the cluster (`ray status`); the trial is run again elsewhere."


class Cluster(Protocol):
    """Where lanes come from."""

    def places(self, on_gpus: bool) -> list[Place]: ...

    def take(self, place: Place, orders: LaneOrders) -> LaneHandle | str: ...


class RayRunner:
    """Runs trials in one lane at a time, and takes another when that is lost.

    `kind` is the only kind of machine that will do. Without one, a study that is `pinned` stays with that of its first
    lane, and any other takes what there is.
    """

    def __init__(self, cluster: Cluster, orders: LaneOrders, *, kind: str | None = None, pinned: bool = True) -> None:
        self.simulated = orders.runner.startswith("simulated")
        self._cluster, self._orders = cluster, orders
        self._pinned = pinned
        self._kind = kind
        self._lane: LaneHandle | None = None
        self._left: Place | None = None
        self._left_at = 0.0

    @property
    def lanes(self) -> int:
        """How many there can be, whoever has them."""
        return len(self._places())

    @property
    def kind(self) -> str | None:
        """The kind of machine that this study stays with, if it does."""
        return self._kind

    def facts(self) -> LaneFacts:
        """Those of the machine on which the next trial runs."""
        return self._lane_now().facts

    def run(self, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        self._check_fits(spec)
        lane, began = self._lane_now(), time.monotonic()
        try:
            word = _followed(lane, spec, watcher)
        except LaneLostError as error:
            self._drop()
            return self._placed(_lost(spec, lane.place.node, str(error), time.monotonic() - began), lane)
        except BaseException:
            self._drop()
            raise
        if word.log:
            log = TrialLog(log_path)
            log.append(word.log.encode())
            log.close()
        assert word.record is not None, "a lane that is done has a record"
        return self._placed(word.record, lane)

    def close(self) -> None:
        if self._lane is not None:
            self._lane.close()
            self._lane = None

    def _check_fits(self, spec: TrialSpec) -> None:
        if spec.group is None or (spec.group.nodes == 1 and (spec.group.devices == 1 or self._takes_machines)):
            return
        raise UsageError(
            "a lane of a Ray cluster has one GPU, or one machine of CPUs, and this trial wants more",
            "leave --executor ray away, and type the command on the machine that has them",
        )

    @property
    def _takes_machines(self) -> bool:
        return not self._orders.device.startswith("cuda")

    def _places(self) -> list[Place]:
        return self._cluster.places(on_gpus=not self._takes_machines)

    def _lane_now(self) -> LaneHandle:
        """The lane that we have, or else the first free one of the right kind."""
        if self._lane is None:
            self._lane = self._taken()
            if self._pinned and self._kind is None:
                self._kind = self._kind_of(self._lane)
        return self._lane

    def _taken(self) -> LaneHandle:
        places, reasons = self._places(), []
        for place in places:
            lane = self._lane_at(place)
            unfit = lane if isinstance(lane, str) else self._unfit(lane)
            if not isinstance(lane, str):
                if unfit is None:
                    return lane
                lane.close()
            reasons.append(f"{place.node} is {unfit}")
        what = "GPU" if not self._takes_machines else "machine"
        if not places:
            raise NowhereToRunError(
                f"the Ray cluster has no {what} for trials now", "see what it has with `ray status`, then try again"
            )
        told = f"of {count_of(len(places), what)} of the Ray cluster none is free for this study"
        raise NowhereToRunError(
            f"{told}: {'; '.join(dict.fromkeys(reasons))}", "try again when one is, or start Ray on a further machine"
        )

    def _lane_at(self, place: Place) -> LaneHandle | str:
        """A place that we have just left may need a moment to be free."""
        lane = self._cluster.take(place, self._orders)
        while lane == IN_USE and place == self._left and time.monotonic() < self._left_at + FREED_SECONDS:
            time.sleep(POLL_SECONDS)
            lane = self._cluster.take(place, self._orders)
        return lane

    def _unfit(self, lane: LaneHandle) -> str | None:
        """Why nothing of this study may be measured there."""
        facts = lane.facts
        if facts.refused_because is not None:
            return f"not to be had: {facts.refused_because}"
        if facts.machine.traindyno != own_version():
            return f"one with traindyno {facts.machine.traindyno}, here it is {own_version()}"
        if self._kind is not None and not self.simulated and self._kind_of(lane) != self._kind:
            return f"of another kind ({self._kind_of(lane)}) than the study's ({self._kind})"
        return None

    def _kind_of(self, lane: LaneHandle) -> str:
        return kind_of(lane.facts.machine, self._orders.device)

    def _drop(self) -> None:
        """A lane that is lost, or whose trial nobody waits for: it must not run on unseen."""
        if self._lane is not None:
            self._lane.kill()
            self._left, self._left_at = self._lane.place, time.monotonic()
            self._lane = None

    def _placed(self, record: TrialRecord, lane: LaneHandle) -> TrialRecord:
        """The record with where it comes from."""
        conditions = msgspec.structs.replace(
            record.conditions, machine=lane.place.node, machine_kind=self._kind_of(lane)
        )
        return msgspec.structs.replace(record, conditions=conditions)


def _followed(lane: LaneHandle, spec: TrialSpec, watcher: Watcher) -> Word:
    """Pass on what the lane tells of a trial until it has ended."""
    lane.begin(spec)
    is_told_to_stop = False
    while True:
        word = lane.hear()
        for progress in () if word is None else word.progress:
            watcher.progress(progress)
        if word is not None and word.record is not None:
            return word
        watcher.tick(time.monotonic(), None)
        if not is_told_to_stop and watcher.should_stop():
            is_told_to_stop = True
            lane.stop()
        time.sleep(POLL_SECONDS)


def _lost(spec: TrialSpec, node: str, detail: str, seconds: float) -> TrialRecord:
    failure = Failure(
        outcome=Outcome.INFRASTRUCTURE,
        message=f"the machine {node} of the Ray cluster was lost in the middle of a trial",
        remedy=LOST_REMEDY,
        error_type="LaneLostError",
        details={"node": node, "reason": detail},
    )
    return TrialRecord(
        spec=spec, outcome=Outcome.INFRASTRUCTURE, seconds=seconds, failure=failure, conditions=Conditions()
    )
