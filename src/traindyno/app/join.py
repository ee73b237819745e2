"""Lending a hand: this process takes part in studies that others have begun, one after the other, until they end."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from traindyno.app.context import Context
from traindyno.app.rounds.run import help_round
from traindyno.app.sources import NamedAgain, moved_code
from traindyno.core.base import Record
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.events import Event, Notice, TrialFinished
from traindyno.core.requests import AdoptRequest, Bench, RoundRequest, workloads_of
from traindyno.core.resuming import resume_command
from traindyno.store.ledger import Ledger, StoreAwayError, StudyRow, StudyState
from traindyno.store.location import may_exist

POLL_SECONDS = 2.0
TICK_SECONDS = 0.1


class JoinedStudy(Record, frozen=True):
    """A study that this process took part in; `ran` counts the trials that it ran itself."""

    study: str
    command: str
    state: StudyState
    ran: int


class LeftStudy(Record, frozen=True):
    """A study that this process took no part in, or ceased to, and why."""

    study: str
    reason: str


class JoinAnswer(Record, frozen=True):
    studies: tuple[JoinedStudy, ...]
    left_alone: tuple[LeftStudy, ...]
    ran: int


@dataclass
class _Shift:
    """What this process has done so far, by the names of studies."""

    names: tuple[str, ...]
    context: Context
    named_again: NamedAgain
    device: str | None
    joined: dict[str, JoinedStudy] = field(default_factory=dict)
    left: dict[str, LeftStudy] = field(default_factory=dict)


def join(
    names: Sequence[str],
    context: Context,
    named_again: NamedAgain = (),
    *,
    device: str | None = None,
    wait_seconds: float = 0.0,
) -> JoinAnswer:
    """Take part in the named studies, or in all that run, until they are finished.

    While there is none, or not even a store, wait so long for one to begin. Code of the user's own runs only if it is
    named here. Without a `device` trials run on the first of the kind that the study has.
    """
    shift, deadline = _Shift(tuple(names), context, named_again, device), time.monotonic() + wait_seconds
    while not may_exist(context.store) and time.monotonic() < deadline and not context.should_stop():
        _pause(shift)
    if context.should_stop():
        return JoinAnswer(studies=(), left_alone=(), ran=0)
    if not may_exist(context.store):
        raise NothingMeasuredError(f"there is no store at {context.store}, and so no study to join", _beginning(shift))
    with Ledger.open(context.store, create=False) as ledger:
        if not wait_seconds:
            for name in names:
                ledger.study(name)
        _work(shift, ledger, wait_seconds, deadline)
    if not shift.joined and not context.should_stop():
        raise _nothing(shift)
    parts = tuple(shift.joined.values())
    return JoinAnswer(studies=parts, left_alone=tuple(shift.left.values()), ran=sum(part.ran for part in parts))


def _work(shift: _Shift, ledger: Ledger, wait_seconds: float, deadline: float) -> None:
    while not shift.context.should_stop():
        row = _next(shift, ledger.studies())
        if row is not None:
            _take_part(shift, ledger, row)
            deadline = time.monotonic() + wait_seconds
        elif _all_over(shift) or time.monotonic() >= deadline:
            return
        else:
            _pause(shift)


def _next(shift: _Shift, rows: Sequence[StudyRow]) -> StudyRow | None:
    """The oldest study that can be joined now; those that cannot be are told of, once."""
    wanted = [row for row in reversed(rows) if row.name in shift.names or (not shift.names and row.state == "running")]
    for row in wanted:
        reason = None if row.name in shift.left else _reason_to_leave(shift, row)
        if reason is not None:
            _leave(shift, row.name, reason)
    return next((row for row in wanted if row.name not in shift.left and not _is_over(shift, row)), None)


def _is_over(shift: _Shift, row: StudyRow) -> bool:
    """A study that was joined is joined again only if others go on with it."""
    return row.name in shift.joined and row.state != "running"


def _reason_to_leave(shift: _Shift, row: StudyRow) -> str | None:
    if not isinstance(row.request, RoundRequest | AdoptRequest):
        return f"it is one of `{row.command}`, which one process runs alone"
    if row.name in shift.joined:
        return None
    if row.state == "done":
        return "it is finished"
    if row.state == "failed":
        going_on = f"{resume_command(row.name, row.request)}{shift.context.store_option}"
        return f"it has failed; `{going_on}` goes on with it"
    return None


def _take_part(shift: _Shift, ledger: Ledger, row: StudyRow) -> None:
    """One study to its end, or to ours: others may go on with it.

    Where it is the only one asked for, what keeps us from it is an error like any other.
    """
    heard: list[Event] = []
    state: StudyState = "failed"
    try:
        _run(shift, row, heard)
    except StoreAwayError:
        raise
    except TraindynoError as error:
        if len(shift.names) == 1:
            raise
        _leave(shift, row.name, f"{error.message}; {error.hint}" if error.hint else error.message)
    else:
        state = ledger.study(row.name).state
    before = shift.joined.get(row.name)
    ran = len(heard) + (0 if before is None else before.ran)
    if ran or state != "failed":
        shift.joined[row.name] = JoinedStudy(study=row.name, command=row.command, state=state, ran=ran)


def _run(shift: _Shift, row: StudyRow, heard: list[Event]) -> None:
    request = row.request

    def emit(event: Event) -> None:
        if isinstance(event, TrialFinished):
            heard.append(event)
        shift.context.emit(event)

    moved = moved_code(workloads_of(request), shift.named_again)
    context = replace(shift.context, emit=emit, resume=row.name, moved=moved)
    assert isinstance(request, RoundRequest | AdoptRequest)
    request = msgspec.structs.replace(request, bench=bench_here(request.bench, shift.device))
    if isinstance(request, RoundRequest):
        help_round(request, context)
        return
    # It needs scipy, which running does without.
    from traindyno.app.rounds.adopt import adopt

    adopt(request, context)


def bench_here(bench: Bench, device: str | None) -> Bench:
    """The study's bench as it is meant here: the same kind of device, and what was found there is found anew.

    A time budget is that of whoever began: who lends a hand does so until the end. It lends this machine, also where
    the other runs are made over a cluster.
    """
    kind = bench.device.partition(":")[0]
    own = msgspec.structs.replace(bench.asked, executor="local", address=None, lane_kind=None)
    return msgspec.structs.replace(own, device=device or kind, time_budget_seconds=None)


def _leave(shift: _Shift, name: str, reason: str) -> None:
    shift.left[name] = LeftStudy(study=name, reason=reason)
    if len(shift.names) == 1:
        return  # the error says it
    shift.context.emit(Notice(level="warning", text=f"study {name!r} is left alone: {reason}"))


def _all_over(shift: _Shift) -> bool:
    """Whether every study that was named is finished or left alone."""
    return bool(shift.names) and all(name in shift.joined or name in shift.left for name in shift.names)


def _pause(shift: _Shift) -> None:
    until = time.monotonic() + POLL_SECONDS
    while time.monotonic() < until and not shift.context.should_stop():
        time.sleep(TICK_SECONDS)


def _nothing(shift: _Shift) -> NothingMeasuredError:
    if len(shift.left) == 1:
        (left,) = shift.left.values()
        return NothingMeasuredError(f"study {left.study!r} was left alone: {left.reason}", _beginning(shift))
    what = f"none of the studies {', '.join(shift.names)}" if shift.names else "no study that several may run together"
    return NothingMeasuredError(f"{what} is running in this store", _beginning(shift))


def _beginning(shift: _Shift) -> str:
    store = shift.context.store_option
    return f"begin one with `traindyno round run FILE{store}`, or wait for one with --wait 10m"
