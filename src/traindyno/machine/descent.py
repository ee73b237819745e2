"""Which processes a process has started, without a look at all the others."""

import contextlib
import os


def tells_children(pid: int) -> bool:
    """Whether the kernel tells which children a process has; one that is built without that may not."""
    return os.path.exists(f"/proc/{pid}/task/{pid}/children")


def children_of(pid: int) -> list[int]:
    """The direct children of a process, from every one of its threads."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as listing:
                children.extend(int(child) for child in listing.read().split())
    return children


def descendants_of(pid: int) -> list[int]:
    """Children, their children, and so on."""
    found: list[int] = []
    pending = children_of(pid)
    while pending:
        child = pending.pop()
        found.append(child)
        pending.extend(children_of(child))
    return found
