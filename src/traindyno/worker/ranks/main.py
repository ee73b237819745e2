"""The entry of one rank, as torchrun starts it: it calls its captain, measures with the others, and tells what it saw.

It calls before torch is imported, so that a rank that cannot reach its captain is noticed at once.
"""

import faulthandler
import os
import socket
import sys

from traindyno.core.codec import decode
from traindyno.core.records import TrialSpec
from traindyno.worker.ranks.launching import CAPTAIN, NODE, SPEC, TOKEN, end_with_parent
from traindyno.worker.ranks.lines import call, parsed
from traindyno.worker.ranks.position import Position
from traindyno.worker.ranks.reporting import RankChannel


def main() -> int:
    """Measure one specification; the return value is the exit code."""
    end_with_parent()
    faulthandler.enable(file=2, all_threads=True)
    # The secret is not for the user's code, which sees the environment.
    line = call(parsed(os.environ.pop(CAPTAIN)), os.environ.pop(TOKEN).encode())
    rank, node = int(os.environ["RANK"]), int(os.environ.pop(NODE))
    spec = decode(os.environ.pop(SPEC), TrialSpec)
    line.tell("hello", of="rank", rank=rank, node=node, host=socket.gethostname(), pid=os.getpid())
    channel = RankChannel(line, Position())
    channel.keep_telling()
    from traindyno.worker.ranks.rank import run_rank

    return run_rank(spec, channel)


if __name__ == "__main__":
    code = 1
    try:
        code = main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not the usual way out: tearing the group down would wait for ranks that may be gone.
        os._exit(code)
