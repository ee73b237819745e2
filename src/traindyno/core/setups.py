"""A way to train: where the examples come from, and the settings; and the file that keeps two of them."""

from typing import Any

import msgspec

from traindyno.core.base import Record
from traindyno.core.learning import Objective
from traindyno.core.records import Settings, WorkloadSpec

LOADER_SETTINGS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "decoder")


def step_settings(settings: Settings) -> Settings:
    """The settings that a step on resident data depends on: nothing of the loader."""
    return fed_as(settings, Settings(batch_size=settings.batch_size))


def fed_as(settings: Settings, other: Settings) -> Settings:
    """The same step with the loader of other settings."""
    return msgspec.structs.replace(settings, **{name: getattr(other, name) for name in LOADER_SETTINGS})


class Setup(Record, frozen=True):
    """Where the examples come from, and the settings."""

    data: str
    settings: Settings

    def changes(self, baseline: "Setup") -> dict[str, Any]:
        """What differs from the baseline, by name; `data` is named like the settings."""
        mine, theirs = msgspec.to_builtins(self.settings), msgspec.to_builtins(baseline.settings)
        found = {name: value for name, value in mine.items() if value != theirs[name]}
        return {"data": self.data, **found} if self.data != baseline.data else found


class SettingsFile(Record, frozen=True):
    """What a settings file holds: `settings` to train with, and, if `find` wrote it, what they were found for.

    One file serves `find --baseline`, `verify` and `traindyno.apply`; only `verify` needs more than the settings.
    `speedup` is of examples per second. `objective` is null where that was looked for; `learning_gain` is how many
    times as fast the same loss should be reached, which is predicted. `confirmed` is false where the gain rests on
    single processes, and `simulated` true where it was made up by the simulated runner. `others_cpu_share` is the most
    of the CPUs that other programs took beside a trial, where that was much.
    """

    settings: dict[str, Any]
    data: str | None = None
    workload: WorkloadSpec | None = None
    baseline: Setup | None = None
    speedup: float | None = None
    speedup_ci95: tuple[float, float] | None = None
    confirmed: bool | None = None
    simulated: bool | None = None
    study: str | None = None
    objective: Objective | None = None
    learning_gain: float | None = None
    others_cpu_share: float | None = None
