"""How many batches of a loader are finished and not yet taken."""

from collections.abc import Iterator
from typing import Any


def ready_batches(iterator: Iterator[Any]) -> int | None:
    """By the queues of torch's own iterator, which no documentation promises; null where there are no such queues.

    A batch that came before its turn has left them, and waits beside its number. Pinned ones have a queue of their own.
    """
    names = ("_worker_result_queue", "_data_queue")
    queues = {id(queue): queue for name in names if (queue := getattr(iterator, name, None)) is not None}
    early = getattr(iterator, "_task_info", None)
    if early is None or not queues:
        return None
    before_their_turn = sum(len(each) == 2 for each in early.values())
    return before_their_turn + sum(int(queue.qsize()) for queue in queues.values())
