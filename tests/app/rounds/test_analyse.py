"""What to type next after a look at a round."""

from pathlib import Path

from app.round_files import sizes_round
from traindyno.app.context import Context
from traindyno.app.rounds.analyse import analyse
from traindyno.app.rounds.requests import request_of
from traindyno.app.rounds.run import run_round
from traindyno.core.events import Event, TrialStarted
from traindyno.core.requests import Bench
from traindyno.core.round_file import parse_round

ROUND = sizes_round(trials=6, fixed="[fixed.momentum]\nvalue = 0.9\n")


def run_until(trials: int, store: str) -> None:
    """Run the round, and stop it when so many of its runs have begun."""
    begun: list[Event] = []

    def heard(event: Event) -> None:
        begun.extend([event] if isinstance(event, TrialStarted) else [])

    request = request_of(parse_round(ROUND, "sizes.toml"), Bench(device="simulated", runner="simulated"))
    run_round(request, Context(store=store, emit=heard, should_stop=lambda: len(begun) >= trials))


def test_a_round_that_was_cut_short_is_to_be_gone_on_with(tmp_path: Path) -> None:
    store = str(tmp_path / "traindyno.db")
    run_until(8, store)
    assert str(analyse("sizes", store).hint).startswith("traindyno resume sizes --store ")
    run_until(100, store)
    assert "resume" not in str(analyse("sizes", store).hint)
