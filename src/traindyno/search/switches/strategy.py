"""The study of switches: each alone against an interleaved baseline, their losses, then the greedy combination."""

import random
from collections.abc import Sequence

from traindyno.analysis.switch_candidates import Candidate, all_applied, names_of
from traindyno.analysis.switch_choice import climbing_order, to_confirm
from traindyno.analysis.switch_effects import LEAST_BY_THEMSELVES
from traindyno.analysis.switch_findings import Findings, Members, Tried
from traindyno.core.loading import Supply
from traindyno.core.records import Settings, TrialRecord, TrialSpec
from traindyno.search.replaying import Trying, Wanted, proposal_of, replay
from traindyno.search.strategy import Proposal
from traindyno.search.switches.checking import Checking
from traindyno.search.switches.climb import MOST_OF_A_RUNG, Climb
from traindyno.search.switches.expecting import trials_left
from traindyno.search.switches.trying import compare

NO_LOSS = "inference has none"


class SwitchesPlan:
    """The strategy behind `switches`. The template's settings are the baseline, its budget that of a pair."""

    def __init__(
        self,
        template: TrialSpec,
        candidates: Sequence[Candidate],
        *,
        combine: bool = True,
        check_losses: bool = True,
        repeats: int = 2,
        seed: int = 0,
    ) -> None:
        self._template = template
        self._all = tuple(candidates)
        self._candidates = [candidate for candidate in candidates if candidate.skipped_because is None]
        self._combine = combine
        unchecked = "not asked for" if not check_losses else None if template.workload.mode == "train" else NO_LOSS
        self._checking = Checking(template, self._candidates, unchecked, combine=combine)
        self._repeats = max(1, repeats)
        # Neither the rounds, with one more for what is noisy, nor the combination have pairs with these numbers.
        self._first_fresh = max(self._repeats + 1, MOST_OF_A_RUNG)
        self._seed = seed

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        wanted, findings = self._replay(history)
        if wanted is None:
            return None
        left = trials_left(findings, self._candidates, self._checking.checked, self._repeats, self._combine)
        return proposal_of(wanted, expected_trials=len(history) + max(1, left))

    def findings(self, history: Sequence[TrialRecord]) -> Findings:
        """What the trials so far have shown."""
        return self._replay(history)[1]

    def _replay(self, history: Sequence[TrialRecord]) -> tuple[Wanted | None, Findings]:
        findings = Findings(candidates=self._all)
        return replay(self._study(findings), history), findings

    def _study(self, findings: Findings) -> Trying[None]:
        yield from self._singles(findings)
        if findings.baseline_failure is not None:
            return
        yield from self._checking.run(findings)
        order = climbing_order(findings) if self._combine else ()
        if order:
            climb = Climb(self._template, findings, order)
            yield from climb.run()
            findings.members = yield from self._checking.sound_part(findings, climb.held)
        while (members := to_confirm(findings)) is not None:
            yield from self._against_baseline(findings, members)
        findings.ended = True

    def _singles(self, findings: Findings) -> Trying[None]:
        """Rounds of one pair for each switch, then one more for each that is noisier than the others.

        The order of a round depends on the seed and the round alone.
        """
        for repeat in range(self._repeats):
            for candidate in self._round(repeat):
                reason = f"{candidate.name} alone, round {repeat + 1} of {self._repeats}"
                yield from self._single(findings, candidate, repeat, reason)
                if findings.baseline_failure is not None:
                    return
        noisy = [candidate for candidate, tried in findings.singles.items() if findings.noisy(tried)]
        for candidate in noisy:
            yield from self._single(findings, candidate, self._repeats, f"{candidate.name} alone, its pairs differ")

    def _single(self, findings: Findings, candidate: Candidate, repeat: int, reason: str) -> Trying[None]:
        """One pair. Where the baseline's arm fails after others ran, it is the pair that failed, not the baseline."""
        before = findings.singles.get(candidate, Tried())
        if before.failure is not None or before.apart:
            return
        settings = candidate.applied(self._template.settings)
        tried = yield from self._pair(settings, repeat, reason, candidate.supply)
        if tried.of_baseline and not any(each.pairs for each in findings.singles.values()):
            findings.baseline_failure = tried.failure
        else:
            findings.singles[candidate] = before.and_then(tried)

    def _pair(self, settings: Settings, repeat: int, reason: str, supply: Supply = "resident") -> Trying[Tried]:
        return (yield from compare(self._template, settings, self._template.settings, supply, repeat, reason))

    def _round(self, repeat: int) -> list[Candidate]:
        return sorted(
            self._candidates,
            key=lambda candidate: random.Random(f"{self._seed} {repeat} {candidate.name}").random(),
        )

    def _against_baseline(self, findings: Findings, members: Members) -> Trying[None]:
        """Fresh pairs, for what was chosen because it looked good must not be judged by that look.

        One more where they are noisy, or one of the members was alone, so that these tell by themselves.
        """
        settings = all_applied(members, self._template.settings)
        tried = Tried()
        noisy_alone = findings.any_noisy(members) and self._repeats < LEAST_BY_THEMSELVES
        for count in range(self._repeats + 1):
            enough = count == self._repeats and not (noisy_alone or findings.noisy(tried))
            if enough or tried.failure is not None or tried.apart:
                break
            reason = f"{names_of(members)} against the baseline again"
            tried = tried.and_then((yield from self._pair(settings, self._first_fresh + count, reason)))
            findings.finals[members] = tried
