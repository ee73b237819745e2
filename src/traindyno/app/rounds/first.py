"""A configuration to begin with: a constant rate, nothing extra, few epochs, and a gate before anything is tuned."""

import shlex
from collections.abc import Mapping

import msgspec

from traindyno.app.context import Context
from traindyno.app.rounds.run import failed_gate, run_round
from traindyno.app.rounds.wishes import GAIN_IN_ACCURACY
from traindyno.core.answers import Document
from traindyno.core.answers.rounds import RoundAnswer
from traindyno.core.errors import TraindynoError
from traindyno.core.requests import RoundRequest
from traindyno.core.round_file import round_of
from traindyno.core.rounds import Round, Value
from traindyno.report.reproduce import round_bench_words

DEFAULT_CAMPAIGN = "default"
_NOTHING_EXTRA: Mapping[str, Value] = {
    "schedule": "constant",
    "weight_decay": 0.0,
    "label_smoothing": 0.0,
    "warm_up_epochs": 0.0,
}
_OPTIONS = {
    "optimizer": "--optimizer",
    "batch_size": "--batch-size",
    "epochs": "--epochs",
    "image_size": "--image-size",
    "classes": "--classes",
    "conv1_stride": "--conv1-stride",
}


def first_round(
    model: str,
    data: str,
    values: Mapping[str, Value],
    *,
    campaign: str = DEFAULT_CAMPAIGN,
    name: str | None = None,
    rates: int = 8,
) -> Round:
    """The round that tries `rates` learning rates with nothing else: `values` are further fields of the job."""
    usual = "first" if campaign == DEFAULT_CAMPAIGN else f"{campaign}.first"
    content = {
        "name": name or usual,
        "campaign": campaign,
        "minimum_gain": GAIN_IN_ACCURACY,
        "goal": {"kind": "initial", "question": "What to begin with?"},
        "job": {
            "model": model,
            "data": data,
            **_NOTHING_EXTRA,
            **values,
        },
        "budget": {"trials": rates},
    }
    return round_of(content, "the first round")


def first(request: RoundRequest, context: Context, processes: int = 1) -> Document:
    """Try the rates; the best of them is what the campaign begins with. Nothing is begun where nothing learns.

    A campaign that has adopted something since goes on from that, whatever is found here.
    """
    document = run_round(request, context, processes)
    if document.state != "done" or not isinstance(document.answer, RoundAnswer):
        return document
    if (gate := failed_gate(document.answer)) is not None:
        raise TraindynoError(f"there is nothing to begin with yet: {gate.text}", _what_to_try(request.round, context))
    holds = _adopted_since(request.round.campaign, context.store)
    if holds is None:
        return document
    return msgspec.structs.replace(
        document,
        warnings=(_too_late(request.round.campaign, holds), *document.warnings),
        hint=f"traindyno round next {holds}{context.store_option}",
    )


def _what_to_try(round_: Round, context: Context) -> str:
    """More of the same goes on with the same runs; anything else is another study."""
    store = context.store_option
    return (
        f"Look at data, labels and loss first: `traindyno round analyse {round_.name}{store}` shows the runs. More "
        "--rates go on with these; for other --epochs, another --model or --data add --name NAME, for these are kept; "
        f"`traindyno round next {round_.name}{store}` writes a file in which the rates' range can be changed."
    )


def _adopted_since(campaign: str, store: str) -> str | None:
    """The round whose proof gave the campaign what it trains with now; null while it has only begun."""
    from traindyno.app.rounds.ledger import ledger

    adopted = [each.round for each in ledger(store, campaign).entries if each.best_of is None and each.changes]
    return adopted[-1] if adopted else None


def _too_late(campaign: str, holds: str) -> str:
    return (
        f"The campaign {campaign!r} has adopted {holds} since it began, and goes on from that: what this has found "
        "changes nothing there. To begin anew from it, ask again with --campaign NAME."
    )


def first_command(request: RoundRequest) -> str | None:
    """What to type to look for it again; null where its file says more than this command can."""
    round_ = request.round
    values = {field: value for field, value in round_.job.values.items() if _NOTHING_EXTRA.get(field) != value}
    if round_.job.model is None or not values.keys() <= _OPTIONS.keys() or round_.budget.trials is None:
        return None
    words = ["--model", round_.job.model, "--data", round_.job.data, "--rates", str(round_.budget.trials)]
    words += [word for field, value in values.items() for word in (_OPTIONS[field], f"{value}")]
    named = {"--campaign": round_.campaign, "--name": round_.name}
    words += [word for pair in named.items() for word in pair]
    return shlex.join(["traindyno", "round", "first", *words, *round_bench_words(request.bench)])
