"""The whole table of worker counts and batch sizes."""

from search.fake_device import failed, failure
from search.fake_loader import FakeMachine, loader_template, run_loader
from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.search.loader_grid import LoaderGrid


def grid(**options: object) -> LoaderGrid:
    return LoaderGrid(loader_template(), (0, 1, 2, 4), (16, 64), **options)  # type: ignore[arg-type]


def cells(history: list[TrialRecord]) -> list[tuple[int, int]]:
    return [(record.spec.settings.num_workers, record.batch_size) for record in history[1:]]


def test_every_cell_is_measured_once_after_a_probe() -> None:
    history = run_loader(grid(), FakeMachine())
    assert history[0].spec.kind == "probe"
    assert sorted(cells(history)) == [(count, size) for count in (0, 1, 2, 4) for size in (16, 64)]
    assert {record.spec.kind for record in history[1:]} == {"feed"}


def test_the_order_is_random_and_follows_the_seed() -> None:
    orders = {tuple(cells(run_loader(grid(seed=seed), FakeMachine()))) for seed in (1, 1, 2, 3)}
    assert len(orders) == 3


def test_without_a_model_the_loader_is_measured_alone() -> None:
    assert {record.spec.kind for record in run_loader(grid(with_model=False), FakeMachine())} == {"probe", "load"}


def test_cells_that_cannot_fit_are_left_out() -> None:
    room = LoaderRoom(shared_free_bytes=40_000_000)
    left = cells(run_loader(grid(room=room), FakeMachine(batch_bytes=10_000_000)))
    assert (4, 16) in left
    assert (4, 64) not in left


def test_no_cell_has_more_workers_than_can_share_the_data() -> None:
    left = cells(run_loader(grid(), FakeMachine(most_workers=2)))
    assert sorted(left) == [(count, size) for count in (0, 1, 2) for size in (16, 64)]


def test_a_cell_that_fails_is_not_repeated() -> None:
    history = run_loader(grid(), FakeMachine(failures={4: Outcome.OUT_OF_SHARED_MEMORY}))
    assert len(history) == 9


def test_a_mistake_in_the_data_ends_the_grid() -> None:
    first = grid().ask([])
    assert first is not None
    assert grid().ask([failed(first.spec, failure(Outcome.DATA_ERROR))]) is None
