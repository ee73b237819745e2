"""Eight processes on one round, killed at random."""

from pathlib import Path

import pytest

from app.rounds.killing import kill_round
from postgres import Cluster


def test_ten_kills_draw_no_point_twice_and_lose_none(tmp_path: Path) -> None:
    summary = kill_round(str(tmp_path / "traindyno.db"), kills=10, processes=8, trials=25, run_seconds=0.3, seed=1)
    assert summary.whole, summary.lines
    assert summary.kills_within_runs > 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_kills_draw_no_point_twice_and_lose_none(tmp_path: Path) -> None:
    summary = kill_round(str(tmp_path / "traindyno.db"), kills=100, processes=8, trials=250, run_seconds=0.5, seed=2)
    assert summary.whole, summary.lines
    assert summary.kills_within_runs > 50


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_a_server_kills_draw_no_point_twice_and_lose_none(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    summary = kill_round(cluster.new_store(), kills=10, processes=8, trials=25, run_seconds=0.3, seed=3)
    assert summary.whole, summary.lines
    assert summary.kills_within_runs > 0
