"""A rank's line to its captain: what any trial tells, where the rank stands, and the end of both together."""

import os
import sys
import threading
import time
import traceback
from typing import Any

from traindyno.core.records import Failure
from traindyno.core.soaking import END_SIGNAL
from traindyno.worker.channel import Channel
from traindyno.worker.ranks.lines import Line
from traindyno.worker.ranks.members import RankResult
from traindyno.worker.ranks.position import Position

ALIVE_SECONDS = 1.0


class RankChannel(Channel):
    """Every message also tells where the rank stands; so does one a second, whatever the rank computes."""

    def __init__(self, line: Line, position: Position) -> None:
        super().__init__(descriptor=-1)
        self._line, self.position = line, position

    def phase(self, name: str) -> None:
        self.position.mark(name)
        super().phase(name)

    def rank_result(self, result: RankResult) -> None:
        self._send("result", result=result)

    def rank_error(self, failure: Failure, consequence: bool) -> None:
        self._send("error", failure=failure, consequence=consequence)

    def _send(self, kind: str, **fields: Any) -> None:
        where = self.position
        self._line.tell(kind, marks=where.marks, step=where.step, stage=where.stage, **fields)

    def keep_telling(self) -> None:
        """Tell every second where the rank stands, and end the process at once when the captain is gone."""
        threading.Thread(target=self._tell, daemon=True).start()
        threading.Thread(target=self._listen, args=(threading.get_ident(),), daemon=True).start()

    def _tell(self) -> None:
        while True:
            self._send("alive")
            time.sleep(ALIVE_SECONDS)

    def _listen(self, main_thread: int) -> None:
        while (message := self._line.hear()) is not None:
            if message["type"] == "end":
                os.kill(os.getpid(), END_SIGNAL)
                continue
            frame = sys._current_frames().get(main_thread)
            self._send("stack", text="".join(traceback.format_stack(frame)))
        os._exit(1)
