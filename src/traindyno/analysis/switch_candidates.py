"""A switch set to one value, as a study tries it: what it changes, and what must be asked of it."""

import msgspec

from traindyno.core.base import Record
from traindyno.core.loading import Supply
from traindyno.core.records import Settings

Value = bool | int | str


class Candidate(Record, frozen=True):
    """One value of one switch, or why it is not tried. `switch` is the name of a field of the settings.

    `partner` marks what may gain only together with others. What is not `recommendable` is measured to show its
    price or what memory it saves, and is never adopted for speed.
    """

    switch: str
    value: Value
    supply: Supply = "resident"
    changes_arithmetic: bool = False
    recommendable: bool = True
    partner: bool = False
    skipped_because: str | None = None

    @property
    def name(self) -> str:
        """`precision=bf16`."""
        return f"{self.switch}={value_words(self.value)}"

    def applied(self, settings: Settings) -> Settings:
        return msgspec.structs.replace(settings, **{self.switch: self.value})


def value_words(value: Value) -> str:
    """`on` and `off` for what is one or the other."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def all_applied(members: tuple[Candidate, ...], settings: Settings) -> Settings:
    """The settings with every one of the members set."""
    for member in members:
        settings = member.applied(settings)
    return settings


def names_of(members: tuple[Candidate, ...]) -> str:
    """`precision=bf16, memory_format=channels_last and compile=default`."""
    names = [member.name for member in members]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
