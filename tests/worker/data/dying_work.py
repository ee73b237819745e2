"""Work that ends its process as the kernel does when memory runs out."""

import os
import signal


def end_this_process(task: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return task
