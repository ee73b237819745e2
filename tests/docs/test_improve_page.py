"""The page on improving a script shows the example's settings, and its command is accepted."""

import shlex
from pathlib import Path

from cli.command_line import run
from docs.markdown import DOCS, ROOT, code_blocks
from traindyno.core.records import Settings
from traindyno.core.settings_file import parse_settings_file, settings_of
from traindyno.machine.settings_files import read_settings_file

PAGE = (DOCS / "improve.md").read_text()
EXAMPLE = ROOT / "examples" / "torchvision_reference.toml"


def test_the_page_shows_the_settings_of_the_example_that_are_not_torch_s_own() -> None:
    (shown,) = code_blocks(PAGE, "toml")
    plain = Settings(batch_size=1)
    assert settings_of(parse_settings_file(shown, "shown"), plain) == settings_of(read_settings_file(EXAMPLE), plain)


def test_the_command_starts_from_the_example(tmp_path: Path) -> None:
    (command,) = code_blocks(PAGE, "bash")
    words = shlex.split(command.replace("\\\n", " ").replace("examples/", f"{EXAMPLE.parent}/"))
    told = run(tmp_path, *words[1:], "--runner", "simulated", "--no-report")
    assert told.returncode == 0, told.stderr
    assert "--batch-size 32 --workers 16 --pin-memory" in told.stderr
    assert "cudnn_benchmark=true" in told.stderr
    assert read_settings_file(tmp_path / "faster.toml").baseline is not None
