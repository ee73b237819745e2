"""What it takes to hold a switch, beside the pair that speaks for it."""

from traindyno.analysis.find.forecast import BOUND_BY_DATA, preparing_seconds, waiting_gain
from traindyno.analysis.find.rounds import FEWEST_ROUNDS
from traindyno.analysis.switch_candidates import Candidate
from traindyno.core.loading import GPU_DECODER
from traindyno.core.records import Settings
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.losses import TRIALS_IF_ALIKE

RUNS_FOR_DATA, RUNS_IF_GPU_DECODES = 3, 2
"""End to end, for the loader that a faster step needs; a GPU that decodes needs few workers, and no search for them."""


class AdoptionCosts:
    """Seconds, by what the trials so far took."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._findings, self._purse = hunt.goal, hunt.findings, hunt.purse
        self._has_data = hunt.trials.has_data

    def extra_seconds(self, members: tuple[Candidate, ...], settings: Settings) -> float:
        """What adopting the members takes beside their pair: compiling, and the losses to look at in the end.

        A step that is faster still gains nothing where there is no time left to load for it.
        """
        losses = self.losses_seconds(members, compiled=settings.compile != "none")
        if settings.compile in ("none", self._findings.held.settings.compile):
            return losses
        prices = self._purse.prices
        waits = self._has_data and waiting_gain(self._findings, self._findings.held) >= BOUND_BY_DATA
        loading = self._loading_seconds() if waits else 0.0
        if prices.is_compiled:
            return losses + loading
        # With resident data a round is short, and starting compiled code is much of it.
        rounds = 0.0 if self._has_data else FEWEST_ROUNDS * prices.compiled_seconds
        return losses + prices.compiling_seconds + loading + rounds

    def losses_seconds(self, members: tuple[Candidate, ...], compiled: bool) -> float:
        """What they will take beyond what is kept for them. Of a compiled step they are looked at at its own batch."""
        kept = self._purse.kept_for_losses()
        is_dearer = not kept or compiled != self._purse.prices.is_compiled
        if not any(member.changes_arithmetic for member in members) or not is_dearer:
            return 0.0
        return max(0.0, TRIALS_IF_ALIKE * self._purse.prices.losses_cost(compiled) - kept)

    def _loading_seconds(self) -> float:
        """What it takes to load for a faster step: by a GPU that decodes, from a prepared set, or by many workers."""
        goal, findings, prices = self._goal, self._findings, self._purse.prices
        run = prices.compiled_seconds + prices.fed_seconds
        may_decode = GPU_DECODER in goal.decoders and goal.may_change("decoder")
        if may_decode and findings.is_usable((findings.held.data, GPU_DECODER)):
            return RUNS_IF_GPU_DECODES * run
        is_made = goal.is_prepared or any(source == goal.prepare for source, _ in findings.probes)
        may_prepare = goal.prepare is not None and not is_made and goal.may_change("data")
        preparing = preparing_seconds(findings) or 0.0
        return RUNS_FOR_DATA * run + (preparing if may_prepare and preparing < (goal.budget_seconds or 0.0) else 0.0)
