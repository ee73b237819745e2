"""The lanes of a Ray cluster: where there can be some, and one of them taken for ourselves."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from traindyno.core.codec import decode, encode
from traindyno.core.records import TrialSpec
from traindyno.runner.ray_access import entered
from traindyno.runner.ray_words import LaneFacts, LaneOrders, Word

UP_SECONDS = 90.0
"""A lane starts in a few seconds, on a machine that others keep busy in some ten times as many."""
SOON_SECONDS = 10.0
SILENCE_SECONDS = 30.0
END_SECONDS = 10.0
WAIT_SECONDS = 0.2
IN_USE = "in use"


class LaneLostError(Exception):
    """The machine of a lane, or the lane itself, is gone."""


@dataclass(frozen=True)
class Place:
    """Room for one lane: a machine of the cluster, or one of its GPUs. `cpus` are those that it takes with it."""

    node_id: str
    node: str
    number: int
    cpus: int
    gpus: int

    @property
    def name(self) -> str:
        """Ray knows one actor by it at a time: whoever has the name has the place."""
        return f"lane-{self.node_id}-{self.number}"


class LaneHandle:
    """A lane of ours. Whatever is asked of it may find that it is lost."""

    def __init__(self, ray: Any, actor: Any, place: Place, facts: LaneFacts) -> None:
        self._ray, self._actor = ray, actor
        self.place, self.facts = place, facts
        self._asked: Any = None
        self._heard_at = 0.0

    def begin(self, spec: TrialSpec) -> None:
        self._heard_at = time.monotonic()
        self._asked = None
        self._sent = self._actor.begin.remote(encode(spec))

    def hear(self) -> Word | None:
        """What the lane has to tell, or null if it has not answered yet; longer silence is a loss."""
        self._asked = self._asked or self._actor.hear.remote()
        ready, _ = self._ray.wait([self._asked], timeout=WAIT_SECONDS)
        if time.monotonic() - self._heard_at > SILENCE_SECONDS and not ready:
            raise LaneLostError(f"no word for {SILENCE_SECONDS:g} s")
        return self._told() if ready else None

    def stop(self) -> None:
        """Ask the trial to end. Whether the lane is still there shows when it is heard next."""
        self._actor.stop.remote()

    def close(self) -> None:
        """Give the place back, with all that the lane started at its end."""
        errors = self._ray.exceptions
        with suppress(errors.GetTimeoutError, errors.RayActorError, errors.RayTaskError):
            self._ray.get(self._actor.close.remote(), timeout=END_SECONDS)
        self.kill()

    def kill(self) -> None:
        self._ray.kill(self._actor, no_restart=True)

    def _told(self) -> Word | None:
        asked, self._asked = self._asked, None
        try:
            word = decode(self._ray.get(asked), Word)
        except self._ray.exceptions.ActorUnavailableError:
            if time.monotonic() - self._heard_at > SILENCE_SECONDS:
                raise LaneLostError("it cannot be reached") from None
            return None
        except self._ray.exceptions.RayActorError as error:
            raise LaneLostError(str(error).splitlines()[0]) from None
        self._heard_at = time.monotonic()
        return word


class RayCluster:
    """A cluster that this process is connected to."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def has_gpus(self) -> bool:
        return any(node["Resources"].get("GPU", 0) >= 1 for node in self._nodes())

    def places(self, on_gpus: bool) -> list[Place]:
        """Room for lanes: one for each GPU, or else one for each machine that has CPUs for Ray."""
        return [place for node in self._nodes() for place in _places_on(node, on_gpus)]

    def take(self, place: Place, orders: LaneOrders) -> LaneHandle | str:
        """A lane at this place, or why there is none: another process has it, or other work of Ray's is in its way."""
        ray = self._ray
        try:
            actor = self._actor_class(place).remote(encode(orders))
        except ray.exceptions.ActorAlreadyExistsError:
            return IN_USE
        try:
            told = actor.facts.remote()
            if not ray.wait([told], timeout=SOON_SECONDS)[0]:
                log = logging.getLogger("traindyno")
                log.warning("waiting for Ray to start a lane on %s, for %g s at most", place.node, UP_SECONDS)
            facts = decode(ray.get(told, timeout=UP_SECONDS - SOON_SECONDS), LaneFacts)
        except ray.exceptions.GetTimeoutError:
            ray.kill(actor, no_restart=True)
            return f"not free: Ray has started no lane there in {UP_SECONDS:g} s"
        except (ray.exceptions.RayActorError, ray.exceptions.ActorUnschedulableError) as error:
            return f"without a lane: {_last_line(error)}"
        return LaneHandle(ray, actor, place, facts)

    def _actor_class(self, place: Place) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        from traindyno.runner.ray_lane import Lane

        return self._ray.remote(Lane).options(
            name=place.name,
            num_cpus=place.cpus,
            num_gpus=place.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=place.node_id, soft=False),
        )

    def _nodes(self) -> list[dict[str, Any]]:
        """The machines that are there now, always in the same order."""
        return sorted((node for node in self._ray.nodes() if node["Alive"]), key=lambda node: str(node["NodeID"]))


@contextmanager
def open_cluster(address: str | None) -> Iterator[RayCluster]:
    with entered(address) as ray:
        yield RayCluster(ray)


def _last_line(error: Exception) -> str:
    """Where Ray's errors, which are long, say what it is."""
    return ([line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__])[-1]


def _places_on(node: dict[str, Any], on_gpus: bool) -> list[Place]:
    """A lane takes its share of the machine's CPUs, so that Ray gives them to nobody else meanwhile."""
    cpus, gpus = int(node["Resources"].get("CPU", 0)), int(node["Resources"].get("GPU", 0))
    lanes = gpus if on_gpus else min(1, cpus)
    named = node["NodeName"] != node["NodeManagerAddress"]
    name = node["NodeName"] if named else node["NodeManagerHostname"]
    return [
        Place(node_id=node["NodeID"], node=name, number=number, cpus=cpus // lanes, gpus=int(on_gpus))
        for number in range(lanes)
    ]
