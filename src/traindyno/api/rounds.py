"""Tuning rounds: `run_round`, `adopt_round`, `round_ledger`, `analyse_round`, `next_round`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from traindyno.api.options import bench_of
from traindyno.api.spoken import speaks_python
from traindyno.app.context import DEFAULT_STORE, Context, ignore
from traindyno.core.answers.rounds import AdoptAnswer, DraftAnswer, LedgerAnswer, RoundAnswer
from traindyno.core.events import Emit
from traindyno.core.rounds import Round


@speaks_python
def run_round(
    file: str | os.PathLike[str],
    *,
    processes: int = 1,
    store: str = DEFAULT_STORE,
    on_event: Emit | None = None,
    **options: Any,
) -> RoundAnswer:
    """Run the round that a file describes, or a text of several lines; go on with one that has runs already.

    Further options are those of the bench: `device`, `seed`, `runner`, `time_budget_seconds` and so on.
    """
    from traindyno.app.rounds.requests import request_of
    from traindyno.app.rounds.run import run_round as use_case

    bench = bench_of(options, "run_round")
    request = request_of(_round(file), bench)
    context = Context(store=store, emit=ignore if on_event is None else on_event)
    answer: RoundAnswer = use_case(request, context, processes).answer
    return answer


@speaks_python
def adopt_round(
    round_study: str,
    *,
    seeds: int | None = None,
    arms: Sequence[str] = (),
    despite_checks: bool = False,
    minimum_gain: float | None = None,
    models: Sequence[str] = (),
    processes: int = 1,
    store: str = DEFAULT_STORE,
    on_event: Emit | None = None,
    **bench: Any,
) -> AdoptAnswer:
    """Prove the best of a round against the incumbent with fresh seeds, and decide.

    `models` names code of your own again that the round runs. Further options are fields of the bench that are to be
    other than the round's.
    """
    from traindyno.app.rounds.adopt import adopt
    from traindyno.app.rounds.adopt_request import adopt_request
    from traindyno.app.sources import hash_source

    bench_of(bench, "adopt_round")
    request, remarks = adopt_request(
        store,
        round_study,
        seeds=seeds,
        arms=arms,
        despite_checks=despite_checks,
        minimum_gain=minimum_gain,
        bench=bench,
    )
    context = Context(store=store, emit=ignore if on_event is None else on_event)
    named = tuple((model, hash_source(model)) for model in models)
    answer: AdoptAnswer = adopt(request, context, named, remarks, processes).answer
    return answer


@speaks_python
def round_ledger(campaign: str | None = None, *, store: str = DEFAULT_STORE) -> LedgerAnswer:
    """What a campaign has decided, oldest first, and the configuration that holds now."""
    from traindyno.app.rounds.ledger import ledger_document

    answer: LedgerAnswer = ledger_document(store, campaign).answer
    return answer


@speaks_python
def analyse_round(name: str, *, store: str = DEFAULT_STORE) -> RoundAnswer:
    """Check a round that was run, and say what it has shown so far; nothing is run for it."""
    from traindyno.app.rounds.analyse import analysed

    return analysed(name, store).answer


@speaks_python
def next_round(
    name: str, file: str | os.PathLike[str] | None = None, *, force: bool = False, store: str = DEFAULT_STORE
) -> DraftAnswer:
    """Draft the round that follows from the findings of another, and write its file, named after it by default."""
    from traindyno.app.rounds.next import draft_next

    return draft_next(name, None if file is None else Path(file), store, force=force)


def _round(file: str | os.PathLike[str]) -> Round:
    if isinstance(file, str) and "\n" in file:
        from traindyno.core.round_file import parse_round

        return parse_round(file, "the round")
    from traindyno.app.rounds.files import read_round

    return read_round(Path(file))
