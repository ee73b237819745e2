"""One rank from its place in the group to its result, or to a failure that knows whether it is the first."""

import os
import re

from msgspec.structs import replace

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, TrialSpec
from traindyno.worker.classify import failure_of, is_lost_process
from traindyno.worker.devices import Device, open_device
from traindyno.worker.learning.processes import device_of, place_of
from traindyno.worker.ranks.endings import INTERFACE_REMEDY, INTERFACE_VARIABLES
from traindyno.worker.ranks.learning import learn_rank
from traindyno.worker.ranks.limits import MEETING
from traindyno.worker.ranks.measuring import measure_rank
from traindyno.worker.ranks.reporting import RankChannel
from traindyno.worker.ranks.sharing import refusal_of

_BROKEN = re.compile(
    r"Connection (closed|reset|refused)|Broken pipe|remote (process|error)|ncclRemoteError|Socket Timeout"
)
# gloo begins with where in its own source it stood.
_PLACE_IN_SOURCE = re.compile(r"^\[enforce fail at [^\]]*\]( [^.]*\.)?")


def run_rank(spec: TrialSpec, channel: RankChannel) -> int:
    """Measure and report. Whatever user code raises ends up as a classified failure."""
    device: Device | None = None
    try:
        place = place_of(os.environ)
        device = device_of(place, open_device(spec.settings.device))
        result = (learn_rank if spec.kind == "learn" else measure_rank)(spec, place, device, channel)
    except BaseException as error:  # noqa: BLE001 - user code may raise anything; nothing is hidden, all is reported
        channel.rank_error(_failure(error, device, channel.phase_name), is_consequence(error))
        return 1
    channel.rank_result(result)
    return 0


def is_consequence(error: BaseException) -> bool:
    """Whether the error says no more than that another rank is gone."""
    return is_lost_process(error) and _BROKEN.search(str(error)) is not None


def _failure(error: BaseException, device: Device | None, phase: str) -> Failure:
    """Ranks that cannot meet have no fault in the user's code: it has not run yet."""
    if phase != MEETING or not isinstance(error, RuntimeError):
        failure = failure_of(error, device, phase)
        return replace(failure, remedy=refusal_of(error) or failure.remedy)
    said = _PLACE_IN_SOURCE.sub("", str(error)).strip().splitlines()
    return Failure(
        outcome=Outcome.INFRASTRUCTURE,
        message=f"the ranks could not connect to each other: {said[0] if said else type(error).__name__}",
        remedy=_interface_now() + INTERFACE_REMEDY,
        error_type=type(error).__name__,
        phase=phase,
    )


def _interface_now() -> str:
    """What the environment says about the interface here."""
    named = [f"{name} is {os.environ[name]!r} there." for name in INTERFACE_VARIABLES if name in os.environ]
    return "".join(f"{sentence} " for sentence in named)
