"""What trials leave running, which should be nothing."""

import os
import time

import psutil

SOON_SECONDS = 30.0
"""Far from the thousand seconds that what is left behind would last, and generous to a busy machine."""
MARK, OURS = "TRAINDYNO_TESTS_OF", str(os.getpid())
os.environ[MARK] = OURS


def processes_left() -> list[str]:
    """What still runs below this process, apart from the keepers themselves, and what has lost its parents."""
    deadline = time.monotonic() + SOON_SECONDS
    while (left := [*_below_keepers(), *_orphans()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _below_keepers() -> list[str]:
    found = []
    for child in psutil.Process().children():
        try:
            if "traindyno.runner.keeper" in " ".join(child.cmdline()):
                found += [" ".join(process.cmdline()) for process in child.children(recursive=True)]
        except psutil.Error:
            continue  # it ended meanwhile
    return found


def _orphans() -> list[str]:
    """What the jobs of these tests leave behind, and not those of another run on the same machine."""
    return [" ".join(process.cmdline()) for process in psutil.process_iter() if _is_ours(process)]


def _is_ours(process: psutil.Process) -> bool:
    try:
        return (process.cmdline(), process.environ().get(MARK)) == (["sleep", "1000"], OURS)
    except psutil.Error:
        return False
