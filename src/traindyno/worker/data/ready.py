"""How many batches of a loader are ready and not yet taken."""

from collections.abc import Iterator
from typing import Any


def ready_batches(iterator: Iterator[Any]) -> int | None:
    """By what torch's own iterator takes from, which no documentation promises; null where there is no such queue.

    Where a thread pins, batches wait there once they are pinned: the step would wait for those that workers have
    finished and that still are to be. A batch that came before its turn has left the queue, and waits beside its
    number. Another thread may be taking one at the moment, so what waits there is looked at in a copy.
    """
    queue, early = getattr(iterator, "_data_queue", None), getattr(iterator, "_task_info", None)
    if queue is None or early is None:
        return None
    return sum(len(each) == 2 for each in tuple(early.values())) + int(queue.qsize())
