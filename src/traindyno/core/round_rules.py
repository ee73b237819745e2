"""The rules of thumb themselves, one for each hyperparameter that is well known, and some for names that tell."""

from collections.abc import Mapping
from typing import Literal

from traindyno.core.base import Record
from traindyno.core.rounds import Range, Role, Value

Group = Literal[
    "optimiser parameter", "optimiser choice", "regularisation", "architecture", "schedule", "length", "batch", "other"
]
ANY = ""
"""The optimiser of a range that holds for all."""


class FieldRule(Record, frozen=True):
    """What is usually done with a field. `why` says why; `caveat` is what remains open when it is fixed at `{value}`.

    `ranges` are by optimiser. `tied` are the kinds of target about which no fair answer is found while this is fixed.
    `matters_with` is another field and the value without which this one changes nothing. Values lie from `lowest` to
    below `below`, and are more than `above`.
    """

    group: Group
    usual: tuple[Role, ...]
    why: str
    caveat: str
    ranges: Mapping[str, Range] = {}
    tied: tuple[Group, ...] = ()
    matters_with: tuple[str, str] | None = None
    lowest: float | None = None
    above: float | None = None
    below: float | None = None


def _log(low: float, high: float) -> Range:
    return Range(low=low, high=high, scale="log")


_STRENGTH = "how strong it must be changes with whatever else changes"
_OFSTRUCTURE = "changing it is a question of its own"
_LENGTH = "runs of different lengths cannot be compared fairly, and longer ones nearly always win"
_ARCHITECTURE_CAVEAT = "the answer holds for {name} = {value}; another architecture may want other values"
RULES: Mapping[str, FieldRule] = {
    "learning_rate": FieldRule(
        group="optimiser parameter",
        usual=("nuisance",),
        why="the best rate moves with nearly every other change, so every arm needs its own",
        caveat="the answer holds at a learning rate of {value}; what it compares might do better at another",
        ranges={"sgd": _log(1e-3, 1.0), "adam": _log(1e-5, 1e-1), "adamw": _log(1e-5, 1e-1)},
        tied=("optimiser parameter", "optimiser choice", "architecture", "batch", "schedule", "length"),
        above=0.0,
    ),
    # What counts is 1 - momentum on a log scale. The rate is searched beside it over three decades and makes up for
    # most of that, and 0, which no log scale has, is worth a look; so the scale is the one that people read.
    "momentum": FieldRule(
        group="optimiser parameter",
        usual=("nuisance",),
        why="it acts together with the learning rate",
        caveat="the answer holds at a momentum of {value}",
        ranges={"sgd": Range(low=0.0, high=0.99)},
        tied=("optimiser parameter", "optimiser choice", "batch"),
        matters_with=("optimizer", "sgd"),
        lowest=0.0,
        below=1.0,
    ),
    "clip_norm": FieldRule(
        group="optimiser parameter",
        usual=("fixed", "target", "nuisance"),
        why="whether gradients are clipped is a question of its own; how short is a nuisance then",
        caveat="the answer holds with gradients clipped to {value}",
        ranges={ANY: _log(0.1, 10.0)},
        above=0.0,
    ),
    "weight_decay": FieldRule(
        group="regularisation",
        usual=("nuisance",),
        why=_STRENGTH,
        caveat="the answer holds with a weight decay of {value}",
        ranges={"sgd": _log(1e-6, 1e-2), "adam": _log(1e-6, 1e-2), "adamw": _log(1e-4, 1.0)},
        tied=("regularisation", "optimiser parameter", "optimiser choice", "architecture", "batch", "length"),
        lowest=0.0,
    ),
    "label_smoothing": FieldRule(
        group="regularisation",
        usual=("nuisance",),
        why=_STRENGTH,
        caveat="the answer holds with a label smoothing of {value}",
        ranges={ANY: Range(low=0.0, high=0.2)},
        tied=("regularisation", "architecture", "length"),
        lowest=0.0,
        below=1.0,
    ),
    "optimizer": FieldRule(
        group="optimiser choice",
        usual=("target", "fixed"),
        why="each optimiser has parameters of its own, and they must be tuned apart",
        caveat="the answer holds with {value}; another optimiser may turn it round",
    ),
    "model": FieldRule(
        group="architecture",
        usual=("target", "fixed"),
        why=_OFSTRUCTURE,
        caveat="the answer holds for {value}; another model must be tuned again",
    ),
    "conv1_stride": FieldRule(
        group="architecture", usual=("target", "fixed"), why=_OFSTRUCTURE, caveat=_ARCHITECTURE_CAVEAT, lowest=1.0
    ),
    "image_size": FieldRule(
        group="architecture",
        usual=("target", "fixed"),
        why=_OFSTRUCTURE,
        caveat="the answer holds for images of {value} px",
        lowest=1.0,
    ),
    "batch_norm": FieldRule(
        group="architecture",
        usual=("target", "fixed"),
        why=_OFSTRUCTURE,
        caveat="the answer holds with batch normalisation {value}",
    ),
    "ghost_size": FieldRule(
        group="architecture",
        usual=("nuisance", "fixed"),
        why="it acts as a regulariser, and with `ghost` alone",
        caveat="the answer holds for groups of {value} examples",
        ranges={ANY: Range(low=8, high=128, scale="log", integer=True)},
        matters_with=("batch_norm", "ghost"),
        lowest=2.0,
    ),
    "fine_tuning": FieldRule(
        group="architecture",
        usual=("target", "fixed"),
        why=_OFSTRUCTURE,
        caveat="the answer holds where {value} of the network is trained",
    ),
    "schedule": FieldRule(
        group="schedule",
        usual=("target", "fixed"),
        why="it decides what the rate means",
        caveat="the answer holds for the schedule {value}; with another, other rates are best",
    ),
    "warm_up_epochs": FieldRule(
        group="schedule",
        usual=("fixed", "target", "nuisance"),
        why="whether there is a warm-up is a question of its own",
        caveat="the answer holds with a warm-up of {value} epochs",
        lowest=0.0,
    ),
    "step_factor": FieldRule(
        group="schedule",
        usual=("nuisance", "fixed"),
        why="how far the rate falls acts together with the rate",
        caveat="the answer holds where the rate steps down by {value}",
        ranges={ANY: _log(0.03, 0.5)},
        matters_with=("schedule", "step"),
        above=0.0,
    ),
    "epochs": FieldRule(
        group="length",
        usual=("fixed",),
        why=_LENGTH,
        caveat="the answer holds for runs of {value} epochs; longer ones may turn it round",
        above=0.0,
    ),
    "steps": FieldRule(
        group="length",
        usual=("fixed",),
        why=_LENGTH,
        caveat="the answer holds for runs of {value} steps; longer ones may turn it round",
        lowest=1.0,
    ),
    "batch_size": FieldRule(
        group="batch",
        usual=("fixed", "target"),
        why="tuned well enough, most batches come to the same accuracy: speed chooses it, and then all is tuned to it",
        caveat="the answer holds at batch {value}; at another, rate and regularisation must be tuned again",
        lowest=1.0,
    ),
    "data": FieldRule(
        group="other", usual=("fixed",), why="it is what is learnt", caveat="the answer holds on {value}"
    ),
}
OTHER = FieldRule(
    group="other", usual=("fixed",), why="no rule is known for it", caveat="the answer holds for {name} = {value}"
)
STRUCTURE = FieldRule(group="architecture", usual=("target", "fixed"), why=_OFSTRUCTURE, caveat=_ARCHITECTURE_CAVEAT)
_REGULARISATION = FieldRule(
    group="regularisation",
    usual=("nuisance",),
    why=_STRENGTH,
    caveat="the answer holds for {name} = {value}",
    tied=("regularisation", "architecture", "length"),
    lowest=0.0,
)
_DROPOUT = FieldRule(
    group="regularisation",
    usual=("nuisance",),
    why=_STRENGTH,
    caveat="the answer holds with {name} = {value}",
    ranges={ANY: Range(low=0.0, high=0.5)},
    tied=("regularisation", "architecture", "length"),
    lowest=0.0,
    below=1.0,
)
ALIASES = {"lr": "learning_rate", "wd": "weight_decay", "optimiser": "optimizer", "bs": "batch_size"}
WORDS_IN_NAMES = {
    "dropout": _DROPOUT, "drop_rate": _DROPOUT, "drop_path": _DROPOUT,
    "smoothing": _REGULARISATION, "mixup": _REGULARISATION, "augment": _REGULARISATION,
    "layers": STRUCTURE, "depth": STRUCTURE, "width": STRUCTURE, "hidden": STRUCTURE, "activation": STRUCTURE,
}  # fmt: skip
LENGTHS = frozenset(
    f"{before}{word}"
    for word in ("epochs", "steps", "iterations", "updates")
    for before in ("", "max_", "num_", "n_", "training_", "train_", "total_")
)
"""Names of how long a run is, also among the arguments of a job of the user's own."""
PLAINEST: Mapping[str, tuple[Value, ...]] = {
    "schedule": ("constant",),
    "batch_norm": ("own",),
    "fine_tuning": ("head",),
    "warm_up_epochs": (0,),
    "momentum": (0,),
}
"""The value of a field that adds nothing, where it has one."""
