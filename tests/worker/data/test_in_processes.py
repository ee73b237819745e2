"""Work is shared out over processes from any script, also one that would do it all again if it were run again."""

import subprocess
import sys
from pathlib import Path

import pytest

UNGUARDED = """
print("the script runs")
from math import factorial
from traindyno.worker.data.in_processes import in_processes
print(sorted(in_processes(factorial, range(5), 2, lambda: False)), __file__ is not None, __name__)
"""


@pytest.mark.parametrize("how", [["script.py"], ["-m", "script"]])
def test_a_script_without_a_guard_is_not_run_again_by_the_processes(how: list[str], tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNGUARDED)
    ran = subprocess.run([sys.executable, *how], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["the script runs", "[1, 1, 2, 6, 24] True __main__"]
