"""What a trial prints, kept within bounds: the beginning in a file, the end in memory and, at last, in the file too."""

import contextlib
import os
from pathlib import Path

HEAD_BYTES = 4 << 20
TAIL_BYTES = 64 << 10
EVIDENCE_CHARACTERS = 8000


class TrialLog:
    """Takes everything; a flood is cut in the middle, and a full disk costs the file but never the trial."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: int | None = None
        self._tail = bytearray()
        self._written = 0
        self._received = 0

    def append(self, data: bytes) -> None:
        self._received += len(data)
        self._tail += data
        del self._tail[:-TAIL_BYTES]
        if self._written < HEAD_BYTES:
            self._write(data[: HEAD_BYTES - self._written])
            self._written += len(data)

    def close(self) -> None:
        left_out = self._received - HEAD_BYTES - len(self._tail)
        if left_out > 0:
            self._write(f"\n... {left_out} bytes left out ...\n".encode())
        if self._received > HEAD_BYTES:
            self._write(bytes(self._tail[-(self._received - HEAD_BYTES) :]))
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def tail(self) -> str:
        """The end of the output, as evidence."""
        return self._tail.decode(errors="backslashreplace")[-EVIDENCE_CHARACTERS:]

    def _write(self, data: bytes) -> None:
        if self._path is None:
            return
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            os.write(self._file, data)
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        self._path = None
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None
