"""A machine that lends itself to a study which another one heads."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from traindyno.app.node_checks import AGENT_TOKEN, TOKEN_VARIABLE, token_from
from traindyno.app.processes import check_alone
from traindyno.app.sources import NamedAgain, check_named_again
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import TrialSpec
from traindyno.core.units import format_seconds
from traindyno.machine.facts import collect
from traindyno.machine.gpu import GpuReader, open_reader
from traindyno.machine.locks import device_lock
from traindyno.runner.agent import Agent, Parting, RefusedError
from traindyno.runner.choose import open_runner
from traindyno.runner.local import LocalRunner
from traindyno.runner.node_link import Address, LinkLostError, WrongTokenError, call, parse_address
from traindyno.runner.node_messages import Hello, Welcome
from traindyno.runner.protocol import Runner

AGAIN_SECONDS = 0.5
WAIT_SECONDS = 600.0
Tell = Callable[[str], None]
ShouldStop = Callable[[], bool]


def serve_head(
    head: str, code: NamedAgain, tell: Tell, should_stop: ShouldStop, wait_seconds: float = WAIT_SECONDS
) -> None:
    """Take part in studies of the head at that address until it says that it is over, or the user wants to stop.

    A head that goes without a word is waited for, as it was in the beginning.
    """
    check_alone()
    token, address = token_from(os.environ, AGENT_TOKEN), parse_address(head)
    with ExitStack() as stack:
        reader = open_reader()
        stack.callback(reader.close)
        agent = Agent(
            Hello(machine=collect(reader), code=code),
            lambda welcome: _runner_for(welcome, reader),
            lambda spec: allowed(spec, code),
            tell,
            should_stop,
        )
        parting: Parting = "lost"
        while parting == "lost":
            tell(f"looking for a head at {address}")
            parting = _served(agent, address, token, should_stop, wait_seconds)
    tell("the head says that it is over" if parting == "over" else "stopped")


def _served(agent: Agent, address: Address, token: bytes, should_stop: ShouldStop, wait_seconds: float) -> Parting:
    """One head's study, from looking for it to parting. One that has machines enough is asked again for a while."""
    deadline = time.monotonic() + wait_seconds
    while not should_stop():
        try:
            return agent.serve(call(address, token))
        except WrongTokenError:
            raise UsageError(
                f"the head at {address} has another {TOKEN_VARIABLE}", "set the same value on all machines"
            ) from None
        except RefusedError as error:
            if error.for_good or time.monotonic() > deadline:
                raise
        except LinkLostError as error:
            if time.monotonic() > deadline:
                within = f" within {format_seconds(wait_seconds)}" if wait_seconds > 0 else ""
                raise TraindynoError(
                    f"no head was found at {address}{within}: {error}",
                    "see that `traindyno scale --nodes N --listen HOST:PORT` runs there, and that nothing lies between",
                ) from None
        time.sleep(AGAIN_SECONDS)
    return "stopped"


@contextmanager
def _runner_for(welcome: Welcome, reader: GpuReader) -> Iterator[Runner]:
    """The devices are held, and the runner warm, as long as the head's study goes on."""
    with ExitStack() as stack:
        for device in welcome.devices:
            stack.enter_context(device_lock(device, reader))
        runner = open_runner(welcome.runner, welcome.deadlines)
        stack.callback(runner.close)
        if isinstance(runner, LocalRunner):
            runner.warm_up()
        yield runner


def allowed(spec: TrialSpec, code: NamedAgain) -> TrialSpec:
    """The trial as it is. Code that this machine's command line does not name is refused, and so is any other work."""
    if spec.kind != "scale" or spec.group is None:
        raise UsageError(
            f"the head asks for a trial of kind {spec.kind!r}, and an agent measures scaling alone",
            "run `traindyno scale` on the head",
        )
    check_named_again(spec.workload, code)
    return spec
