"""The comments of a settings file, for the person who reads it."""

from collections.abc import Iterator

import msgspec

from traindyno.core.setups import SettingsFile
from traindyno.core.toml_text import toml_value
from traindyno.core.units import format_percent

USES = (
    "`traindyno verify FILE` measures them again,",
    "`traindyno find --baseline FILE` starts from them, and in a script",
    'traindyno.apply("FILE", model, dataset, optimizer=...) sets them.',
    "The device is not named here: it is chosen where the settings are used.",
)
_UNCHANGED = "the baseline's own, for none faster were found."


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
        yield f"Settings to train with, found by `traindyno find{_option(file)}`:"
        yield from _gain(file.speedup, file) if _changes_anything(file) else (_UNCHANGED,)
    if file.confirmed is False:
        why = "no repeated rounds by turns with the baseline agree on it"
        yield f"NOT CONFIRMED: {why if _changes_anything(file) else 'no repeated rounds were run'}."
    if file.others_cpu_share is not None:
        yield f"A BUSY MACHINE: {others_took(file.others_cpu_share)} meanwhile."
    if file.simulated:
        yield "SIMULATED: made up by the simulated runner, not measured."


def _option(file: SettingsFile) -> str:
    return "" if file.objective is None else f" --objective {file.objective}"


def _gain(speedup: float, file: SettingsFile) -> Iterator[str]:
    """As fast in what was looked for. At the baseline's own batch the same examples come to the same loss."""
    if file.objective != "time-to-accuracy":
        yield f"{speedup:.2f} times as fast as the baseline{_interval(file)}."
    elif file.learning_gain is None or not _has_other_batch(file):
        yield f"{speedup:.2f} times as fast as the baseline{_interval(file)},"
        yield "and at the same batch that much sooner at the same loss."
    else:
        yield f"{file.learning_gain:.2f} times as fast to the same loss as the baseline, as gradient noise predicts;"
        yield f"{speedup:.2f} times its examples per second{_interval(file)}."


def _interval(file: SettingsFile) -> str:
    if file.speedup_ci95 is None:
        return ""
    within = " within one process" if file.confirmed is False else ""
    return f" (95 % interval{within} {file.speedup_ci95[0]:.2f} to {file.speedup_ci95[1]:.2f})"


def others_took(share: float) -> str:
    """How busy a machine was on which a gain was measured."""
    return f"other programs took up to {format_percent(share, 0)} of its CPUs"


def gain_comment(file: SettingsFile) -> str:
    """What the numbers of the last table count, and whose they are."""
    if file.learning_gain is None:
        return "How much faster than the baseline, and the study that measured it."
    return "speedup is of examples per second; learning_gain of the time to the same loss, predicted."


def _changes_anything(file: SettingsFile) -> bool:
    return file.baseline is None or file.data != file.baseline.data or bool(baseline_beside(file))


def _has_other_batch(file: SettingsFile) -> bool:
    own = file.settings.get("batch_size")
    return file.baseline is not None and own not in (None, file.baseline.settings.batch_size)


def _other_batch(file: SettingsFile) -> Iterator[str]:
    if file.baseline is not None and _has_other_batch(file):
        yield f"ANOTHER BATCH: {file.settings['batch_size']} instead of {file.baseline.settings.batch_size}."
        yield "Learning rate, momentum and regularisation must be tuned to it."
