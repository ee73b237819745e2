"""torchrun as this node's part of a group: how it is started, what it prints, and how its ranks ended."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from typing import NamedTuple, Self

from traindyno.core.codec import encode
from traindyno.core.records import TrialSpec
from traindyno.machine.cpus import usable_cpus
from traindyno.worker.ranks.lines import Address

RANK_MODULE = "traindyno.worker.ranks.main"
CAPTAIN, TOKEN, NODE = "TRAINDYNO_CAPTAIN", "TRAINDYNO_TOKEN", "TRAINDYNO_NODE"
SPEC = "TRAINDYNO_SPEC"
THREADS = "OMP_NUM_THREADS"
KEPT_BYTES = 1 << 16
CHUNK_BYTES = 1 << 16
LOG = 2
_PR_SET_PDEATHSIG = 1
_FAILED_RANK = re.compile(r"rank\s*: (\d+) \(local_rank: \d+\)\s+exitcode\s*: (-?\d+) \(pid: \d+\)")


class Place(NamedTuple):
    """This node's number, where torchrun's agents meet and under which name, and where the captain listens."""

    node: int
    rendezvous: str
    id: str
    own_address: str
    captain: Address
    token: str


class Torchrun:
    """The running launcher. What it and its ranks print goes to the trial's log, and the end of it is kept.

    It must be started before any other thread: between fork and exec it makes a call of its own.
    """

    def __init__(self, spec: TrialSpec, place: Place) -> None:
        self._process = subprocess.Popen(
            command(spec, place),
            env={**os.environ, **variables(spec, place)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,
        )
        self._printed = bytearray()
        threading.Thread(target=self._pass_on, daemon=True).start()

    @property
    def ended(self) -> bool:
        """Whether it has ended; what it printed last may take a moment more."""
        return self._process.poll() is not None

    @property
    def ended_by(self) -> int | None:
        """The signal that ended it, and its ranks with it: then it had no time for a table."""
        code = self._process.poll()
        return -code if code is not None and code < 0 else None

    @property
    def exit_codes(self) -> dict[int, int]:
        """How ranks ended that failed, by its own table; negative numbers are signals."""
        return exit_codes_in(self.printed)

    @property
    def printed(self) -> str:
        return self._printed.decode(errors="backslashreplace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Its ranks end when the captain hangs up; what does not is the keeper's to end."""
        self._process.terminate()

    def _pass_on(self) -> None:
        assert self._process.stdout is not None, "its output is a pipe"
        descriptor = self._process.stdout.fileno()
        while data := os.read(descriptor, CHUNK_BYTES):
            self._printed += data
            del self._printed[:-KEPT_BYTES]
            while data:
                data = data[os.write(LOG, data) :]


def exit_codes_in(printed: str) -> dict[int, int]:
    """The ranks and exit codes of torchrun's table of failures; none where it printed no table."""
    return {int(rank): int(code) for rank, code in _FAILED_RANK.findall(printed)}


def command(spec: TrialSpec, place: Place) -> list[str]:
    """What a user would type, with an id of this trial alone and no second attempt."""
    assert spec.group is not None, "a trial of several devices has a group"
    options = {
        "nnodes": spec.group.nodes,
        "nproc-per-node": ranks_per_node(spec),
        "max-restarts": 0,
        "rdzv-backend": "c10d",
        "rdzv-endpoint": place.rendezvous,
        "rdzv-id": place.id,
        "local-addr": place.own_address,
    }
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return [sys.executable, "-m", "torch.distributed.run", *given, "-m", RANK_MODULE]


def variables(spec: TrialSpec, place: Place) -> dict[str, str]:
    """What ranks need to find their captain. Without the number of threads torchrun would give each a single one.

    What a rank runs, it learns from its own machine's launcher and never over a line: what the command line there
    has allowed, no other machine can change.
    """
    usual = os.environ.get(THREADS) or max(1, int(usable_cpus(local_ranks=ranks_per_node(spec)).value))
    return {
        CAPTAIN: f"{place.captain[0]}:{place.captain[1]}",
        TOKEN: place.token,
        NODE: str(place.node),
        SPEC: encode(spec),
        THREADS: str(spec.settings.threads or usual),
        "PYTHONUNBUFFERED": "1",
    }


def ranks_per_node(spec: TrialSpec) -> int:
    assert spec.group is not None, "a trial of several devices has a group"
    return spec.group.devices // spec.group.nodes


def end_with_parent() -> None:
    """Have the kernel end this process with the one that started it."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
