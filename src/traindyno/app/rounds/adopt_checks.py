"""Whether a round may be proved: what fresh seeds are spent on must have been found first."""

from collections.abc import Sequence

from traindyno.app.rounds.run import failed_gate
from traindyno.core.answers.rounds import Check, RoundAnswer
from traindyno.core.errors import UsageError


def passed_over(answer: RoundAnswer, name: str, *, despite_checks: bool) -> tuple[str, ...]:
    """What the failed checks say that a proof is to be made in spite of; refused where that is not wanted.

    Fresh seeds are for what a round has found, and a round whose checks fail has not found it yet.
    """
    if answer.goal == "initial":
        raise UsageError(
            f"round {name!r} looked for a first configuration, and there is no incumbent to prove it against",
            "go on with `traindyno round new`",
        )
    if (gate := failed_gate(answer)) is not None:
        raise UsageError(f"round {name!r} has not passed its gate: {gate.text}", gate.next_step)
    if answer.best is None:
        raise UsageError(
            f"no run of the search of round {name!r} has a score yet", f"go on with `traindyno round run` of {name}"
        )
    failed = [check for check in answer.checks if check.state == "failed"]
    if failed and not despite_checks:
        raise UsageError(f"round {name!r} is not ready: {' '.join(check.text for check in failed)}", _next_step(failed))
    return tuple(dict.fromkeys(check.text for check in failed))


def _next_step(failed: Sequence[Check]) -> str:
    steps = dict.fromkeys(check.next_step for check in failed if check.next_step is not None)
    return f"{' '.join(steps)} Or prove it as it is with --despite-checks.".lstrip()
