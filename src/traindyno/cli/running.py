"""Running a measuring use case from the command line: progress, interrupts, result, exit code."""

from collections.abc import Callable

from traindyno.app.context import Context
from traindyno.app.interrupts import catching_interrupts
from traindyno.cli.output import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, Output
from traindyno.cli.progress import showing_progress
from traindyno.core.answers import Document, VerifyAnswer
from traindyno.core.answers.rounds import RoundAnswer


def run_beside(use_case: Callable[[Callable[[], bool]], None]) -> int:
    """What another of several processes does: nothing of it is shown, and the first one delivers."""
    with catching_interrupts() as interrupts:
        use_case(interrupts)
    return EXIT_INTERRUPTED if interrupts() else EXIT_DONE


def run(use_case: Callable[[Context], Document], output: Output, store: str, name: str | None) -> int:
    """Show progress while the use case runs, then deliver its document.

    A gain that does not hold is a failure, and so is a round that did not pass its gate.
    """
    with (
        catching_interrupts() as interrupts,
        showing_progress(quiet=output.quiet, verbose=output.verbose) as emit,
    ):
        document = use_case(Context(store=store, name=name, emit=emit, should_stop=interrupts))
    code = output.deliver(document)
    return code or (EXIT_FAILED if _is_lost(document.answer) else EXIT_DONE)


def _is_lost(answer: object) -> bool:
    if isinstance(answer, RoundAnswer):
        from traindyno.app.rounds.run import failed_gate

        return failed_gate(answer) is not None
    return isinstance(answer, VerifyAnswer) and answer.holds is False
