"""Words for a step that takes longer beside its loader than alone, without waiting for it."""

from traindyno.core.units import count_of

SHARED = ", shared with the loader"
"""Follows the bound of a step that hardly waits for its batch, and is slower beside the loader than alone."""


def sharing_words(workers: int, cpus: float) -> str:
    return f"{count_of(workers, 'worker')} and the step share {'one CPU' if cpus == 1 else f'{cpus:g} CPUs'}"


def drift_words(drift: float) -> str:
    """The step by itself is another one by the time that its loader has run."""
    cannot = "the loader cannot be told from CPUs that change their speed"
    return f"by itself the step took {drift:.2f} times as long after its loader had run as before, so that {cannot}"
