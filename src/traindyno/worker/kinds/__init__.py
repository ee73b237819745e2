"""The kinds of trial, by name. A new kind is one file here and one line in this table."""

from collections.abc import Callable

from traindyno.core.records import Measurement, TrialSpec
from traindyno.worker.channel import Channel
from traindyno.worker.devices import Device
from traindyno.worker.kinds.anatomy import measure_anatomy
from traindyno.worker.kinds.feed import measure_feed
from traindyno.worker.kinds.fit import measure_fit
from traindyno.worker.kinds.job import measure_job
from traindyno.worker.kinds.learn import measure_learn
from traindyno.worker.kinds.load import measure_load
from traindyno.worker.kinds.losses import measure_losses
from traindyno.worker.kinds.noise import measure_noise
from traindyno.worker.kinds.pair import measure_pair
from traindyno.worker.kinds.probe import measure_probe
from traindyno.worker.kinds.scale import measure_scale
from traindyno.worker.kinds.soak import measure_soak
from traindyno.worker.kinds.speed import measure_speed
from traindyno.worker.kinds.train import measure_training

Kind = Callable[[TrialSpec, Device, Channel], Measurement]
KINDS: dict[str, Kind] = {
    "fit": measure_fit,
    "speed": measure_speed,
    "train": measure_training,
    "probe": measure_probe,
    "load": measure_load,
    "feed": measure_feed,
    "anatomy": measure_anatomy,
    "losses": measure_losses,
    "pair": measure_pair,
    "soak": measure_soak,
    "learn": measure_learn,
    "noise": measure_noise,
    "job": measure_job,
    "scale": measure_scale,
}
