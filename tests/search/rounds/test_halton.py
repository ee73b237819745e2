"""Points of the plain search: even, the same in every process, and the same for arms that are to be compared."""

import subprocess
import sys

import numpy
from scipy.stats import kstest, qmc

from traindyno.search.rounds.halton import halton_point

NAMES = ["clip_norm", "label_smoothing", "learning_rate", "momentum", "warm_up_epochs", "weight_decay"]


def points(names: list[str], number: int, branch: str = "", round_name: str = "depth") -> "numpy.ndarray":
    drawn = [halton_point(round_name, branch, names, index) for index in range(number)]
    return numpy.array([[point[name] for name in names] for point in drawn])


def test_every_dimension_is_filled_evenly_from_the_first_points_on() -> None:
    for column in points(NAMES, 64).T:
        assert kstest(column, "uniform").statistic < 0.1
        assert set(numpy.floor(column * 8)) == set(range(8))


def test_points_leave_smaller_holes_than_chance_does() -> None:
    for dimensions in (1, 2, 4, 6):
        ours = qmc.discrepancy(points(NAMES[:dimensions], 16))
        chances = [
            qmc.discrepancy(numpy.random.default_rng(seed).random((16, dimensions))) for seed in range(20)
        ]  # fmt: skip
        assert ours < numpy.median(chances)


def test_a_point_is_the_same_in_another_process_and_in_another_order_of_the_file() -> None:
    here = halton_point("depth", "", NAMES, 11)
    assert halton_point("depth", "", NAMES[::-1], 11) == here
    code = f"from traindyno.search.rounds.halton import halton_point; print(halton_point('depth', '', {NAMES}, 11))"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == str(here)


def test_other_rounds_and_other_branches_have_other_points() -> None:
    here = points(NAMES[:2], 8)
    assert not numpy.isclose(points(NAMES[:2], 8, branch="optimizer=sgd"), here).any()
    assert not numpy.isclose(points(NAMES[:2], 8, round_name="width"), here).any()


def test_a_space_without_dimensions_has_one_point() -> None:
    assert halton_point("depth", "", [], 3) == {}
