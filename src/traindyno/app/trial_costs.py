"""What a study is expected to take, for its plan."""

from traindyno.search.strategy import Strategy

START_SECONDS = 5.0
# A slow step gets overtime of twice the trial's own time.
LONGEST = 3
# Compiling a model of usual size from nothing.
COMPILING_SECONDS = {"max-autotune": 600.0}
USUAL_COMPILING_SECONDS = 60.0


def expected_trials(strategy: Strategy) -> int:
    proposal = strategy.ask([])
    return 0 if proposal is None else proposal.expected_trials


def longest_trial_seconds(measuring_seconds: float) -> float:
    """The longest that a trial usually takes, its start included."""
    return START_SECONDS + LONGEST * measuring_seconds


def at_most_seconds(expected: int, trial_seconds: float, budget_seconds: float | None) -> float:
    total = expected * trial_seconds
    return total if budget_seconds is None else min(total, budget_seconds)


def compiling_seconds(mode: str) -> float:
    """What compiling in a mode takes the first time; later trials find its results on disk."""
    return 0.0 if mode == "none" else COMPILING_SECONDS.get(mode, USUAL_COMPILING_SECONDS)
