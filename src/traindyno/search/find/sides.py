"""Which side to search: the data's or the step's, by what each could gain at best."""

from traindyno.analysis.find.attempts import not_tried, to_be_judged_again
from traindyno.analysis.find.forecast import BOUND_BY_DATA, FASTER_STEP, step_gain, waiting_gain
from traindyno.core.answers.find import Attempt
from traindyno.core.records import Settings
from traindyno.core.setups import step_settings
from traindyno.core.units import format_percent
from traindyno.search.find.finish import know_the_step
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.losses import CHANGES_MOST
from traindyno.search.find.moves import StepSearch
from traindyno.search.find.supply import SupplySearch
from traindyno.search.replaying import Trying

WORTH_SEARCHING = 1.03
"""A side that could gain less than this at best is not searched."""

MOST_VISITS = 3
"""Of the data: as the baseline has it, for a faster step, and for what came of that."""


class Sides:
    """Both sides of a search, which remember what they have tried."""

    def __init__(self, hunt: Hunt) -> None:
        self._hunt, self._findings = hunt, hunt.findings
        self._data, self._step = SupplySearch(hunt), StepSearch(hunt)
        self._visited: set[Settings] = set()
        """Steps for which the data's side was searched."""
        self._left_out: list[Attempt] = []
        """What was said of sides that were not searched."""

    def run_again(self) -> Trying[None]:
        """With the step that is left after lower precision had to go for its losses; else nothing."""
        findings = self._findings
        spoilt = any(switch == CHANGES_MOST for switch, _ in findings.spoiling)
        if not spoilt or findings.held.settings.precision != "fp32":
            return
        yield from self._hunt.logged("memory", know_the_step(self._hunt))
        findings.attempts = [each for each in findings.attempts if not to_be_judged_again(each)]
        self._data, self._step, self._visited = SupplySearch(self._hunt), StepSearch(self._hunt), set()
        yield from self._hunt.logged("step", self._step.begin_again())
        yield from self.run()

    def go_on(self) -> Trying[None]:
        """What there was no time for: losses may have taken less of it than was kept for them."""
        self._findings.attempts = [each for each in self._findings.attempts if each not in self._left_out]
        self._left_out.clear()
        if self._data.take_up_again():
            self._visited.discard(self._settings)
        self._step.ask_again()
        yield from self.run()

    def run(self) -> Trying[None]:
        """Where training is held up first: the data while it waits for them, the step otherwise, by turns."""
        while True:
            gains = {"data": self._data_gain(), "step": self._step_gain()}
            if max(gains.values()) < WORTH_SEARCHING:
                yield from self._look_at_held()
                if self._data_gain() < BOUND_BY_DATA:
                    self._say_what_was_left(gains)
                    return
                continue
            if gains["data"] >= BOUND_BY_DATA or gains["data"] >= gains["step"]:
                self._visited.add(self._settings)
                brief = gains["step"] >= WORTH_SEARCHING and self._step.may_change_much
                kept, members = self._first_look_seconds() if brief else 0.0, self._findings.members
                yield from self._hunt.logged("data", self._data.improve(brief, kept))
                if self._findings.members == members:
                    self._visited.add(self._settings)
            else:
                yield from self._hunt.logged("step", self._step.improve(self._waits_now))

    def _look_at_held(self) -> Trying[None]:
        """On a GPU a step that should not wait for its data is run with them before that is believed."""
        goal, findings = self._hunt.goal, self._findings
        believed = findings.held not in findings.feeds and self._settings not in self._visited
        if goal.on_gpu and goal.has_data and believed and not self._hunt.purse.hurries:
            yield from self._hunt.logged("step", self._data.look_at_held())

    @property
    def _settings(self) -> Settings:
        return step_settings(self._findings.held.settings)

    def _data_gain(self) -> float:
        """Without any waiting; nothing for a step whose data have been searched."""
        seen, has_data = self._visited, self._hunt.goal.has_data
        if not has_data or self._settings in seen or len(seen) >= MOST_VISITS:
            return 1.0
        return waiting_gain(self._findings, self._findings.held)

    def _step_gain(self) -> float:
        """With a step three times as fast, and the data that it needs; nothing once all switches were tried."""
        if self._step.is_done:
            return 1.0
        if self._data.has_more:
            return 1 / FASTER_STEP
        return step_gain(self._findings, self._data.loaders(with_later=self._step.may_change_much))

    def _first_look_seconds(self) -> float:
        """What the step needs for its first look, if a faster one would gain by the loaders that are known already."""
        known = step_gain(self._findings, self._data.loaders(with_later=False))
        return self._step.first_look_seconds if known >= WORTH_SEARCHING else 0.0

    def _waits_now(self) -> bool:
        """Whether the data come next: not for a step that may soon be another, unless that would gain nothing."""
        if self._step.may_change_much and self._step_gain() >= WORTH_SEARCHING:
            return False
        return self._data_gain() >= BOUND_BY_DATA

    def _say_what_was_left(self, gains: dict[str, float]) -> None:
        """A side that was never searched is named with what it could have gained."""
        gained = {side: format_percent(max(0.0, gain - 1), 0) for side, gain in gains.items()}
        if self._step.left_over and not self._step.is_done:
            why = f"training waits for its data; a step three times as fast would gain {gained['step']}"
            self._leave_out(not_tried("step", self._step.left_over, why))
        searched = self._visited or any(part == "data" for part, _ in self._findings.log)
        if self._hunt.goal.has_data and not searched:
            why = f"training does not wait for its data; without any waiting it would gain {gained['data']}"
            self._leave_out(not_tried("data", "workers, decoders and sources", why))

    def _leave_out(self, attempt: Attempt) -> None:
        self._left_out.append(attempt)
        self._findings.attempts.append(attempt)
