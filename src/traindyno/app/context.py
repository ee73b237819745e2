"""What a use case is told besides its request: where to keep records, whom to tell, what to continue."""

from collections.abc import Callable
from dataclasses import dataclass, field

from traindyno.core.events import Emit, Event

DEFAULT_STORE = "traindyno.db"


def ignore(event: Event) -> None:
    """For callers who do not want to hear about progress."""


@dataclass(frozen=True)
class Context:
    """`resume` names an unfinished study to take up instead of beginning a new one."""

    store: str = DEFAULT_STORE
    name: str | None = None
    emit: Emit = ignore
    should_stop: Callable[[], bool] = field(default=lambda: False)
    resume: str | None = None
