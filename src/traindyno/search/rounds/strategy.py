"""What a round runs next: the incumbent as a gate, then its search, then one that learns; and fresh seeds for proof.

Several processes may ask at once. What each of them is told of the others' runs decides, by their draws alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from traindyno.analysis.rounds.gate import judge_gate
from traindyno.analysis.rounds.trials import round_trials
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.core.requests import AdoptRequest, Candidate, RoundRequest
from traindyno.core.round_space import (
    configuration_of,
    dimensions_of,
    gate_runs,
    incumbent_of,
    label_of,
    planned_trials,
    values_of,
)
from traindyno.core.rounds import ALONE, Draw, Floor, Round, RoundTrial, Value
from traindyno.search.rounds.drawing import draw_in
from traindyno.search.rounds.floors import floors_for
from traindyno.search.rounds.slots import Book, Slot, next_slot
from traindyno.search.rounds.specs import spec_of
from traindyno.search.strategy import Proposal

SEARCH_SEEDS = 1000
"""Added to the first seed for the search, so that its runs share none with the gate's."""
SHOWN_VALUES = 4


@dataclass
class _Told:
    """What a strategy was told, and what follows from it. Who asks for many tells the same and a little more."""

    finished: Sequence[TrialRecord]
    ended: list[TrialRecord]
    trials: Sequence[RoundTrial]
    is_open: bool
    book: Book
    running: Sequence[TrialSpec] = ()
    under_way: list[Draw] = field(default_factory=list)
    floors: dict[str, tuple[Floor, ...]] = field(default_factory=dict)

    def is_part_of(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> bool:
        """Whether only runs in someone's hands have been added. A list of what has ended may be another by now."""
        is_same = isinstance(finished, tuple) and finished is self.finished
        return is_same and list(running[: len(self.running)]) == self.running

    def hear(self, running: Sequence[TrialSpec]) -> None:
        added = _draws(running[len(self.running) :])
        self.book.enter(added)
        self.under_way += added
        self.running = list(running)


class RoundStrategy:
    """The strategy behind `round run`. The template says device, precision and limits."""

    def __init__(self, request: RoundRequest, template: TrialSpec) -> None:
        self._request, self._template = request, template
        self._round = request.round
        self._told: _Told | None = None

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        told = self._hear(finished, running)
        gate, expected = self._gate(), self._expected(told.book)
        if (waiting := next((draw for draw in gate if draw.slot not in told.book.taken), None)) is not None:
            return self._gate_proposal(waiting, len(gate), expected)
        if not told.is_open or (slot := next_slot(self._round, told.book.counts)) is None:
            return None
        draw = draw_in(self._round, slot, told.book, told.trials, told.under_way)
        spec = spec_of(
            self._request,
            self._template,
            configuration_of(self._round, draw.values),
            draw,
            self._request.bench.seed + SEARCH_SEEDS + draw.index,
            self._floors(told, draw.arm),
        )
        return Proposal(spec=spec, reason=_reason(self._round, slot, draw), expected_trials=expected)

    def _hear(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> _Told:
        if self._told is None or not self._told.is_part_of(finished, running):
            ended, book = _ended(finished), Book(self._round)
            trials = round_trials(self._round, ended)
            book.enter(_draws(record.spec for record in ended))
            self._told = _Told(finished, ended, trials, self._is_open(self._gate(), trials), book)
        self._told.hear(running)
        return self._told

    def _floors(self, told: _Told, arm: str) -> tuple[Floor, ...]:
        if arm not in told.floors:
            told.floors[arm] = floors_for(self._round, arm, told.ended)
        return told.floors[arm]

    def _gate(self) -> list[Draw]:
        """The incumbent with one seed after the other."""
        values = values_of(self._round, incumbent_of(self._round))
        target = self._round.target
        arm = label_of(values[target.name]) if target is not None and target.name in values else ALONE
        return [Draw(phase="gate", arm=arm, index=index, values=values) for index in range(gate_runs(self._round))]

    def _gate_proposal(self, draw: Draw, runs: int, expected_trials: int) -> Proposal:
        seed = self._request.bench.seed + draw.index
        spec = spec_of(self._request, self._template, incumbent_of(self._round), draw, seed)
        reason = f"the incumbent as it is, seed {draw.index + 1} of {runs}"
        return Proposal(spec=spec, reason=reason, expected_trials=expected_trials)

    def _is_open(self, gate: Sequence[Draw], trials: Sequence[RoundTrial]) -> bool:
        """Whether tuning may begin: every run of the gate has ended, and nothing is wrong with them."""
        if not {draw.slot for draw in gate} <= {trial.draw.slot for trial in trials}:
            return False
        return not gate or judge_gate(self._round, trials).state != "failed"

    def _expected(self, book: Book) -> int:
        return max((planned_trials(self._round) or 0) + book.elsewhere, book.runs + 1)


class AdoptStrategy:
    """The strategy behind `round adopt`: all candidates with the same fresh seeds.

    Seed by seed, so that a study which is cut leaves them equal, and beginning with another one each time, because
    machines drift.
    """

    def __init__(self, request: AdoptRequest, template: TrialSpec) -> None:
        self._request, self._template = request, template

    def ask(self, finished: Sequence[TrialRecord], running: Sequence[TrialSpec]) -> Proposal | None:
        taken = {draw.slot for draw in _draws((*(record.spec for record in _ended(finished)), *running))}
        candidates, seeds = self._request.candidates, self._request.looks[-1]
        for index in range(seeds):
            first = index % len(candidates)
            for candidate in (*candidates[first:], *candidates[:first]):
                draw = self._draw(candidate, index)
                if draw.slot not in taken:
                    reason = f"{candidate.label}, fresh seed {index + 1} of {seeds}"
                    return Proposal(
                        spec=self._spec(candidate, draw), reason=reason, expected_trials=seeds * len(candidates)
                    )
        return None

    def _draw(self, candidate: Candidate, index: int) -> Draw:
        values = values_of(self._request.round, candidate.values)
        return Draw(phase="confirm", arm=candidate.label, index=index, values=values)

    def _spec(self, candidate: Candidate, draw: Draw) -> TrialSpec:
        seed = self._request.first_seed + draw.index
        return spec_of(self._request, self._template, candidate.values, draw, seed)


def _ended(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Without those that were stopped: they are to be run again."""
    return [record for record in records if record.outcome is not Outcome.INTERRUPTED]


def _draws(specs: Iterable[TrialSpec]) -> list[Draw]:
    return [spec.draw for spec in specs if spec.draw is not None]


def _reason(round: Round, slot: Slot, draw: Draw) -> str:
    """Such as `arm mlp:64x64, point 7 of 16: learning_rate 0.12`."""
    places = [f"arm {draw.arm}"] if round.target is not None else []
    places += [draw.branch] if draw.branch != ALONE else []
    return f"{', '.join([*places, _number(round, slot)])}: {_in_words(round, draw)}"


def _number(round: Round, slot: Slot) -> str:
    if slot.phase == "exploit":
        return f"{round.then} point {slot.number} of {round.then_trials}"
    return f"point {slot.number}" + ("" if round.budget.trials is None else f" of {round.budget.trials}")


def _in_words(round: Round, draw: Draw) -> str:
    dimensions = [each.name for each in dimensions_of(round, draw.arm, draw.branch)]
    shown = [f"{name} {_short(draw.values[name])}" for name in dimensions[:SHOWN_VALUES]]
    more = len(dimensions) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])]) or "nothing else to draw"


def _short(value: Value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else label_of(value)
