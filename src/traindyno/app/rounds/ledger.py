"""What a campaign has decided: every adoption in the store, what holds now, and what must be tuned again."""

import msgspec

from traindyno.analysis.rounds.staleness import elsewhere, holding, stale_reason
from traindyno.app.context import store_option
from traindyno.app.library import list_studies
from traindyno.app.rounds.decisions import decided_in
from traindyno.app.rounds.first import DEFAULT_CAMPAIGN
from traindyno.core.answers import Document
from traindyno.core.answers.rounds import LedgerAnswer, LedgerEntry
from traindyno.core.errors import UsageError
from traindyno.core.requests import AdoptRequest, RoundRequest
from traindyno.core.rounds import Configuration


def ledger_document(store: str, campaign: str | None) -> Document:
    """The ledger of a campaign: of the one that is named, or of the only one there is."""
    name = _chosen(store, campaign)
    answer = ledger(store, name)
    hint = None if answer.entries else f"traindyno round first{store_option(store)}"
    return Document(command="round ledger", study=None, answer=answer, state="done", hint=hint)


def _chosen(store: str, campaign: str | None) -> str:
    known = campaigns(store)
    if campaign is None and len(known) > 1 and DEFAULT_CAMPAIGN not in known:
        raise UsageError(f"there are several campaigns: {', '.join(known)}", f"name one: --campaign {known[0]}")
    if campaign is not None and campaign not in known:
        begins = f"it has no tuning rounds yet; `traindyno round first{store_option(store)}` proposes one"
        there_are = f"there is {', '.join(known)}" if known else begins
        raise UsageError(f"there is no campaign {campaign!r} in this store", there_are)
    if campaign is not None:
        return campaign
    return known[0] if len(known) == 1 else DEFAULT_CAMPAIGN


def ledger(store: str, campaign: str) -> LedgerAnswer:
    """Every decision of a campaign, oldest first, with what has become of it."""
    decided = decided_in(store, campaign)
    decisions = [each.decision for each in decided]
    entries = tuple(
        msgspec.structs.replace(each.entry, stale=stale_reason(decisions, place)) for place, each in enumerate(decided)
    )
    told = (
        sentence for place, entry in enumerate(entries) for sentence in (elsewhere(decisions, place), _despite(entry))
    )
    return LedgerAnswer(
        campaign=campaign,
        entries=entries,
        configuration=holding(decisions),
        verdicts=tuple(sentence for sentence in told if sentence is not None),
        simulated=any(entry.simulated for entry in entries),
    )


def _despite(entry: LedgerEntry) -> str | None:
    """What was passed over where a round was proved that was not ready."""
    if not entry.failed_checks:
        return None
    return f"{entry.round} was decided although its checks had failed: {' '.join(entry.failed_checks)}"


def campaigns(store: str) -> tuple[str, ...]:
    """The campaigns that have rounds in the store."""
    rounds = [row.request.round for row in list_studies(store) if isinstance(row.request, RoundRequest | AdoptRequest)]
    return tuple(sorted({each.campaign for each in rounds}))


def current_configuration(store: str, campaign: str) -> Configuration | None:
    """What the campaign trains with now; null while it has decided nothing."""
    return holding([each.decision for each in decided_in(store, campaign)]) or None
