"""The first moments of a trial process: its own session, its own output, and then the worker's entry."""

import faulthandler
import importlib
import os
import signal
import sys
import traceback
from typing import NoReturn

from traindyno.runner.linux import die_with_parent

STACK_DUMP_SIGNAL = signal.SIGUSR1


def become_trial(parent: int, entry: str, document: str, events: int, log: int) -> NoReturn:
    """Turn this freshly started process into a trial. It never returns: teardown is the keeper's business."""
    code = 70
    try:
        os.setsid()
        die_with_parent(parent)
        _redirect(log)
        os.set_inheritable(events, False)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        faulthandler.enable(file=2, all_threads=True)
        faulthandler.register(STACK_DUMP_SIGNAL, file=2, all_threads=True, chain=False)
        module, _, function = entry.partition(":")
        code = getattr(importlib.import_module(module), function)(document, events)
    except BaseException:  # noqa: BLE001 - the last frame of the process: what is not written here is lost
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # Also when user code has closed or replaced the streams: a trial must never go on as a second keeper.
            os._exit(code)


def _redirect(log: int) -> None:
    """What the trial prints goes to the log, line by line; it reads nothing."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(null)
    os.close(log)
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115


def main() -> None:
    parent, entry, specification, events, log = sys.argv[1:]
    with os.fdopen(int(specification)) as pipe:
        document = pipe.read()
    become_trial(int(parent), entry, document, int(events), int(log))


if __name__ == "__main__":
    main()
