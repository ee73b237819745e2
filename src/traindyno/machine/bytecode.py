"""Whether Python must compile a package from source each time that it starts.

Installers that write no bytecode, images that forbid it (PYTHONDONTWRITEBYTECODE) and folders that cannot be written to
make every start of Python slower, and each process that `torch.compile` starts.
"""

import sys
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from traindyno.machine.folders import may_write

_SAMPLE = ("__init__.py", "_dynamo/convert_frame.py", "_inductor/scheduler.py")
"""Some installations have bytecode for what was imported once, and for nothing else."""


def keeps_bytecode(package: str) -> bool | None:
    """Whether the package's bytecode is there, or is kept from its first use on; null where it is not installed."""
    found = find_spec(package)
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent
    missing = [path for name in _SAMPLE if (folder / name).exists() and not (path := _compiled(folder / name)).exists()]
    return not missing or (not sys.dont_write_bytecode and all(may_write(path.parent) for path in missing))


def _compiled(source: Path) -> Path:
    return Path(cache_from_source(str(source)))
