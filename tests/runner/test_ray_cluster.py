"""Lanes of a real Ray cluster on this machine, whose GPUs exist in Ray's accounts alone."""

from importlib.util import find_spec

import pytest

from ray_nodes import ray_nodes, wait_for
from traindyno.runner.protocol import Deadlines
from traindyno.runner.ray_cluster import LaneHandle, open_cluster
from traindyno.runner.ray_words import LaneOrders

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
]
ORDERS = LaneOrders(runner="simulated", deadlines=Deadlines(), device="cuda:0", folder="/")


def test_each_gpu_is_a_lane_that_one_process_has_at_a_time() -> None:
    with ray_nodes("one", gpus=2) as nodes, open_cluster(nodes.address) as cluster:
        assert cluster.has_gpus()
        places = cluster.places(on_gpus=True)
        assert [(place.node, place.number, place.gpus) for place in places] == [("one", 0, 1), ("one", 1, 1)]
        lanes = [cluster.take(place, ORDERS) for place in places]
        assert isinstance(lanes[0], LaneHandle)
        assert isinstance(lanes[1], LaneHandle)
        assert cluster.take(places[0], ORDERS) == "in use"
        lanes[0].close()
        wait_for("the free place", lambda: isinstance(cluster.take(places[0], ORDERS), LaneHandle))


def test_on_cpus_each_machine_with_some_is_a_lane() -> None:
    with ray_nodes("one", "two") as nodes, open_cluster(nodes.address) as cluster:
        assert not cluster.has_gpus()
        assert sorted(place.node for place in cluster.places(on_gpus=False)) == ["one", "two"]
        assert cluster.places(on_gpus=True) == []
