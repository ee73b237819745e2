"""The entry of a trial process: one specification in, one result or error out."""

import contextlib

from traindyno.core.codec import decode
from traindyno.core.records import TrialSpec
from traindyno.worker.channel import Channel


def run(document: str, descriptor: int) -> int:
    """Run the trial that `document` describes and report on `descriptor`; the return value is the exit code."""
    channel = Channel(descriptor)
    channel.hello()
    spec = decode(document, TrialSpec)
    return run_trial(spec, channel)


def run_trial(spec: TrialSpec, channel: Channel) -> int:
    """Measure and report. Whatever user code raises ends up as a classified failure."""
    from traindyno.worker.classify import failure_of
    from traindyno.worker.devices import Device, open_device
    from traindyno.worker.kinds import KINDS

    device: Device | None = None
    try:
        device = open_device(spec.settings.device)
        measurement = KINDS[spec.kind](spec, device, channel)
    except BaseException as error:  # noqa: BLE001 - user code may raise anything; nothing is hidden, all is reported
        failure = failure_of(error, device, channel.phase_name)
        with contextlib.suppress(BrokenPipeError):
            channel.error(failure)
            channel.bye()
        return 1
    channel.result(measurement)
    channel.bye()
    return 0
