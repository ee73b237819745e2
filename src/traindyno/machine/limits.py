"""What the system lets one process have."""

import resource
import sys


def open_files() -> tuple[int, int]:
    """How many files may be open at once: the limit that holds, and the one it may be raised to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _count(soft), _count(hard)


def _count(value: int) -> int:
    return sys.maxsize if value == resource.RLIM_INFINITY else value
