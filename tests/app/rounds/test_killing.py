"""Eight processes on one round, killed at random."""

from pathlib import Path

import pytest

from app.rounds.killing import kill_round


def test_ten_kills_draw_no_point_twice_and_lose_none(tmp_path: Path) -> None:
    summary = kill_round(tmp_path, kills=10, processes=8, trials=25, run_seconds=0.3, seed=1)
    assert summary.whole, summary.lines
    assert summary.kills_within_runs > 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_kills_draw_no_point_twice_and_lose_none(tmp_path: Path) -> None:
    summary = kill_round(tmp_path, kills=100, processes=8, trials=250, run_seconds=0.5, seed=2)
    assert summary.whole, summary.lines
    assert summary.kills_within_runs > 50
