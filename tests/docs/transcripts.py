"""The transcripts in docs/commands.md: run again, compared with what stands there, or written anew.

python tests/docs/transcripts.py

A transcript is a code block of language `console` whose first line is the command. All of them run one after another
in one folder, on the simulated runner, so that they say the same on every machine.
"""

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from traindyno.cli.main import main as command_line

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
TRANSCRIPT = re.compile(
    r"^```console\n\$ traindyno (?P<arguments>[^\n]+)\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL
)

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d\+00:00| \d\d:\d\d)")


@contextlib.contextmanager
def plain_terminal(folder: Path) -> Iterator[None]:
    """A terminal of 100 columns without colours, in a folder of its own."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
            yield
    finally:
        os.chdir(before)


def run(arguments: str) -> str:
    """What a command prints, on both streams, as a reader of the terminal sees it."""
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen), contextlib.suppress(SystemExit):
        command_line(shlex.split(arguments))
    return "".join(f"{line.rstrip()}\n" for line in screen.getvalue().splitlines())


def comparable(output: str) -> str:
    """The output without what differs from day to day."""
    return _MOMENT.sub("MOMENT", output)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, plain_terminal(Path(folder)):
        text = TRANSCRIPT.sub(_renewed, PAGE.read_text())
    PAGE.write_text(text)


def _renewed(found: re.Match[str]) -> str:
    printed = run(found["arguments"])
    same = comparable(printed) == comparable(found["output"])
    return f"```console\n$ traindyno {found['arguments']}\n{found['output'] if same else printed}```"


if __name__ == "__main__":
    main()
