"""Running a measuring use case from the command line: progress, interrupts, result, exit code."""

from collections.abc import Callable

from traindyno.app.context import Context
from traindyno.app.interrupts import catching_interrupts
from traindyno.cli.output import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, Output
from traindyno.cli.progress import showing_progress
from traindyno.core.answers import Document, VerifyAnswer


def run_beside(use_case: Callable[[Callable[[], bool]], None]) -> int:
    """What another of several processes does: nothing of it is shown, and the first one delivers."""
    with catching_interrupts() as interrupts:
        use_case(interrupts)
    return EXIT_INTERRUPTED if interrupts() else EXIT_DONE


def run(use_case: Callable[[Context], Document], output: Output, store: str, name: str | None) -> int:
    """Show progress while the use case runs, then deliver its document. A gain that does not hold is a failure."""
    with (
        catching_interrupts() as interrupts,
        showing_progress(quiet=output.quiet, verbose=output.verbose) as emit,
    ):
        document = use_case(Context(store=store, name=name, emit=emit, should_stop=interrupts))
    code = output.deliver(document)
    lost = isinstance(document.answer, VerifyAnswer) and document.answer.holds is False
    return code or (EXIT_FAILED if lost else EXIT_DONE)
