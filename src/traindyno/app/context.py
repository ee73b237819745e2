"""What a use case is told besides its request: where to keep records, whom to tell, what to continue."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from traindyno.core.events import Emit, Event
from traindyno.store.location import typed_url

DEFAULT_STORE = "traindyno.db"


def store_option(store: str) -> str:
    """` --store URL`, where it is another than the usual one; without its password, which is typed nowhere."""
    return "" if store == DEFAULT_STORE else f" --store {shlex.quote(typed_url(store))}"


def ignore(event: Event) -> None:
    """For callers who do not want to hear about progress."""


@dataclass(frozen=True)
class Context:
    """`resume` names an unfinished study to take up instead of beginning a new one.

    Of such a study `moved` says where code of the user's own lies now, by the name that it had, and
    `time_budget_seconds` is what its rest may take, if that was said anew. `elsewhere` allows it to go on on another
    machine of the same kind.
    """

    store: str = DEFAULT_STORE
    name: str | None = None
    emit: Emit = ignore
    should_stop: Callable[[], bool] = field(default=lambda: False)
    resume: str | None = None
    moved: Mapping[str, str] = field(default_factory=dict)
    time_budget_seconds: float | None = None
    elsewhere: bool = False

    @property
    def store_option(self) -> str:
        """What a command to type next has at its end."""
        return store_option(self.store)
