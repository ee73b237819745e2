"""The comments of a settings file, for the person who reads it."""

from collections.abc import Iterator

import msgspec

from traindyno.core.setups import SettingsFile
from traindyno.core.toml_text import toml_value

USES = (
    "`traindyno verify FILE` measures them again,",
    "`traindyno find --baseline FILE` starts from them, and in a script",
    'traindyno.apply("FILE", model, dataset, optimizer=...) sets them.',
    "The device is not named here: it is chosen where the settings are used.",
)


def head_lines(file: SettingsFile) -> Iterator[str]:
    """What stands above everything: the gain, how far to trust it, and what the file is for."""
    yield from _found(file)
    yield from _other_batch(file)
    yield from USES


def baseline_beside(file: SettingsFile) -> dict[str, str]:
    """By setting, what the baseline has where it has another value."""
    if file.baseline is None:
        return {}
    theirs = msgspec.to_builtins(file.baseline.settings)
    changed = {name: theirs[name] for name, value in file.settings.items() if name in theirs and value != theirs[name]}
    return {name: f"baseline: {'none' if value is None else toml_value(value)}" for name, value in changed.items()}


def _found(file: SettingsFile) -> Iterator[str]:
    """What was gained, and how far that can be trusted."""
    if file.speedup is None:
        yield "Settings to train with."
    else:
        yield "Settings to train with, found by `traindyno find`:"
        yield (
            _gain(file.speedup, file) if _changes_anything(file) else "the baseline's own, for none faster were found."
        )
    if file.confirmed is False:
        yield "NOT CONFIRMED: it rests on single runs, without rounds by turns with the baseline."
    if file.simulated:
        yield "SIMULATED: made up by the simulated runner, not measured."


def _gain(speedup: float, file: SettingsFile) -> str:
    told = f"{speedup:.2f} times as fast as the baseline"
    if file.speedup_ci95 is None:
        return f"{told}."
    within = " within one process" if file.confirmed is False else ""
    return f"{told} (95 % interval{within} {file.speedup_ci95[0]:.2f} to {file.speedup_ci95[1]:.2f})."


def _changes_anything(file: SettingsFile) -> bool:
    return file.baseline is None or file.data != file.baseline.data or bool(baseline_beside(file))


def _other_batch(file: SettingsFile) -> Iterator[str]:
    batch_size = file.settings.get("batch_size")
    if file.baseline is not None and batch_size not in (None, file.baseline.settings.batch_size):
        yield f"ANOTHER BATCH: {batch_size} instead of {file.baseline.settings.batch_size}."
        yield "Learning rate, momentum and regularisation must be tuned to it."
