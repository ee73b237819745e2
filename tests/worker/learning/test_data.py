"""What runs learn from: the same batch for the same step, and no example in both parts, whatever the source."""

from itertools import chain
from typing import Any

import pytest
import torch

from traindyno.worker.learning.data import LearningData
from traindyno.worker.learning.loaded import LoadedData
from traindyno.worker.learning.order import Order
from traindyno.worker.learning.processes import Processes
from traindyno.worker.learning.resident import ResidentData
from worker.learning.learning_sets import LearningSet, make_sets, open_set, same, shades

ON_DEVICE = ("cifar10", "prepared pixels")
LOADED = (
    "prepared pixels to be enlarged",
    "prepared JPEG",
    "folder without splits",
    "folder with splits",
    "folder with splits in memory",
    "own dataset",
    "own loader",
)
KINDS = (*ON_DEVICE, *LOADED)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LearningSet]:
    return make_sets(tmp_path_factory.mktemp("sets"))


def taken(data: LearningData, first_step: int, count: int) -> list[Any]:
    with data.training(first_step) as take:
        return [take() for _ in range(count)]


def evaluated(data: LearningData) -> list[Any]:
    with data.evaluation() as batches:
        return list(batches)


def all_shades(batches: list[Any]) -> list[int]:
    return list(chain.from_iterable(map(shades, batches)))


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_that_need_no_scaling_lie_on_the_device_and_all_else_is_loaded(
    kind: str, sets: dict[str, LearningSet]
) -> None:
    assert isinstance(open_set(sets[kind].workload), ResidentData if kind in ON_DEVICE else LoadedData)


@pytest.mark.parametrize("kind", [*KINDS, "folder of pictures"])
def test_a_run_begun_in_the_middle_gets_the_batches_of_one_begun_before(
    kind: str, sets: dict[str, LearningSet]
) -> None:
    data = open_set(sets[kind].workload)
    whole = taken(data, 0, 9)
    assert same(taken(data, 5, 4), whole[5:])


@pytest.mark.parametrize("kind", [*LOADED, "folder of pictures"])
def test_workers_make_the_batches_that_this_process_makes(kind: str, sets: dict[str, LearningSet]) -> None:
    alone, shared = (open_set(sets[kind].workload, workers=workers) for workers in (0, 2))
    assert same(taken(shared, 3, 5), taken(alone, 3, 5))
    assert same(evaluated(shared), evaluated(alone))


@pytest.mark.parametrize("kind", KINDS)
def test_every_training_example_comes_once_an_epoch_and_no_other_does(kind: str, sets: dict[str, LearningSet]) -> None:
    data = open_set(sets[kind].workload)
    count = data.training_examples
    row = all_shades(taken(data, 0, 2 * count // 7 + 1))
    first, second, held_out = row[:count], row[count : 2 * count], all_shades(evaluated(data))
    assert first != second
    assert sorted(first) == sorted(second)
    assert len({*first, *held_out}) == count + data.evaluation_examples == sets[kind].examples


@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_sees_every_example_once_and_the_same_way_each_time(kind: str, sets: dict[str, LearningSet]) -> None:
    data = open_set(sets[kind].workload, batch_size=4)
    first = evaluated(data)
    assert same(first, evaluated(data))
    sizes = [len(shades(batch)) for batch in first]
    assert sizes == [4] * (data.evaluation_examples // 4) + [data.evaluation_examples % 4] * bool(
        data.evaluation_examples % 4
    )


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_is_another_order_and_the_same_evaluation(kind: str, sets: dict[str, LearningSet]) -> None:
    one, other = (open_set(sets[kind].workload, seed=seed) for seed in (0, 1))
    assert all_shades(taken(one, 0, 2)) != all_shades(taken(other, 0, 2))
    assert same(evaluated(one), evaluated(other))


@pytest.mark.parametrize("kind", [*ON_DEVICE, "folder with splits", "own dataset"])
def test_processes_share_every_batch_and_the_evaluation(kind: str, sets: dict[str, LearningSet]) -> None:
    alone = open_set(sets[kind].workload, batch_size=8)
    shares = [open_set(sets[kind].workload, batch_size=8, processes=Processes(rank, 2)) for rank in range(2)]
    whole = taken(alone, 0, 5)
    parts = [taken(share, 0, 5) for share in shares]
    assert [shades(one) + shades(other) for one, other in zip(*parts, strict=True)] == list(map(shades, whole))
    assert list(chain.from_iterable(all_shades(evaluated(share)) for share in shares)) == all_shades(evaluated(alone))


@pytest.mark.parametrize("kind", [*ON_DEVICE, "folder with splits"])
def test_the_shares_of_two_processes_are_the_very_images_of_the_batch(kind: str, sets: dict[str, LearningSet]) -> None:
    alone = taken(open_set(sets[kind].workload, batch_size=8), 2, 1)[0]
    parts = [
        taken(open_set(sets[kind].workload, batch_size=8, processes=Processes(rank, 2)), 2, 1)[0] for rank in (0, 1)
    ]
    assert same([torch.cat(pair) for pair in zip(*parts, strict=True)], list(alone))


@pytest.mark.parametrize("kind", KINDS)
def test_micro_batches_are_different_training_examples_and_each_draw_is_another(
    kind: str, sets: dict[str, LearningSet]
) -> None:
    data = open_set(sets[kind].workload)
    trained = set(all_shades(taken(data, 0, data.training_examples // 7 + 1)))
    draws = [data.micro_batches(3, 6, draw) for draw in (0, 1)]
    for batches in draws:
        assert [len(set(shades(batch)) & trained) for batch in batches] == [3] * 6
    assert all_shades(draws[0]) != all_shades(draws[1])
    assert same(draws[0], data.micro_batches(3, 6, 0))


@pytest.mark.parametrize("kind", ["cifar10", "folder of pictures"])
def test_images_are_cropped_anew_each_epoch(kind: str, sets: dict[str, LearningSet]) -> None:
    data = open_set(sets[kind].workload, batch_size=1)
    count, order = data.training_examples, Order(data.training_examples, seed=0)
    epochs = []
    for number in range(2):
        images = dict(zip(order.epoch(number).tolist(), taken(data, number * count, count), strict=True))
        epochs.append([images[index] for index in range(count)])
    assert sum(not same(first, second) for first, second in zip(*epochs, strict=True)) > count / 2


@pytest.mark.parametrize("kind", ["cifar10", "folder of pictures", "own loader"])
@pytest.mark.parametrize("workers", [0, 2])
def test_reading_draws_nothing_from_the_chance_that_training_has(
    kind: str, workers: int, sets: dict[str, LearningSet]
) -> None:
    data = open_set(sets[kind].workload, workers=workers)
    before = torch.get_rng_state()
    taken(data, 0, 3), evaluated(data), data.micro_batches(2, 2, 0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", ["cifar10", "prepared pixels", "folder of pictures"])
def test_images_come_in_channels_last_if_the_settings_say_so(kind: str, sets: dict[str, LearningSet]) -> None:
    data = open_set(sets[kind].workload, memory_format="channels_last")
    for images, _ in (*taken(data, 0, 1), *evaluated(data), *data.micro_batches(2, 1, 0)):
        assert images.is_contiguous(memory_format=torch.channels_last)
