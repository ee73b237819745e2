"""What the head of several machines and its agents say to each other: JSON documents, and nothing that is executed."""

from traindyno.core.base import Record
from traindyno.core.machine import MachineFacts
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.runner.protocol import Deadlines

Code = tuple[tuple[str, str | None], ...]
"""Code of the user's own that a machine's command line names, each with the fingerprint of its file."""


class Hello(Record, frozen=True, tag_field="type", tag="hello"):
    """An agent introduces its machine."""

    machine: MachineFacts
    code: Code = ()


class Welcome(Record, frozen=True, tag_field="type", tag="welcome"):
    """The head takes the machine in. `devices` are those that its trials will take there, `cuda:0` and so on."""

    node: int
    nodes: int
    runner: str
    deadlines: Deadlines
    devices: tuple[str, ...] = ()


class Refusal(Record, frozen=True, tag_field="type", tag="refusal"):
    """The head does not take the machine in: now, or `for_good`."""

    message: str
    hint: str
    for_good: bool = True


class Order(Record, frozen=True, tag_field="type", tag="order"):
    """The head begins a trial; `spec.meeting` says where its processes meet."""

    spec: TrialSpec


class Halt(Record, frozen=True, tag_field="type", tag="halt"):
    """The trial is to end now."""


class Ended(Record, frozen=True, tag_field="type", tag="ended"):
    """How the trial went on the agent's machine."""

    record: TrialRecord


class Alive(Record, frozen=True, tag_field="type", tag="alive"):
    """Said once a second by both, whatever else they do."""


class Farewell(Record, frozen=True, tag_field="type", tag="farewell"):
    """The head needs the machine no longer."""


Message = Hello | Welcome | Refusal | Order | Halt | Ended | Alive | Farewell
