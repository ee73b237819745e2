import subprocess
import sys

import pytest

HEAVY = ("rich", "altair", "vl_convert", "numpy", "scipy", "torch")


@pytest.mark.parametrize("module", ["traindyno.report", "traindyno.report.exports", "traindyno.report.document"])
def test_importing_the_room_imports_nothing_heavy(module: str) -> None:
    check = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
