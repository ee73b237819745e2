"""Where runs that learn keep their state, so that a study which is killed loses no more than their last minute."""

import shutil
from contextlib import suppress
from pathlib import Path

import msgspec

from traindyno.app.workshop import Workshop
from traindyno.core.errors import UsageError
from traindyno.core.records import TrialSpec

LAST = "last.pt"
"""What a run goes on from, in its folder."""
DAMAGED = "DamagedCheckpointsError"
"""How a trial ends that finds checkpoints and none that is whole."""


def study_checkpoints(workshop: Workshop, study: str) -> Path:
    """The folder of a study's checkpoints, beside the store."""
    return workshop.hidden_folder / "checkpoints" / study


def checkpoint_folder(workshop: Workshop, study: str, spec: TrialSpec) -> Path:
    """The folder of one trial's checkpoints, the same whenever the study is resumed."""
    return study_checkpoints(workshop, study) / spec.key


def with_checkpoints(workshop: Workshop, study: str, spec: TrialSpec) -> TrialSpec:
    """The trial with a folder for its state, if it learns; the state stays its own when code of the user's moves."""
    if spec.kind != "learn" or workshop.runner.simulated:
        return spec
    folder = spec.checkpoints or str(checkpoint_folder(workshop, study, spec))
    return msgspec.structs.replace(spec, checkpoints=folder, checkpoints_of=spec.key)


def forget_checkpoints(workshop: Workshop, study: str, spec: TrialSpec) -> None:
    """Remove what `with_checkpoints` had kept for a trial that is done now."""
    folder = checkpoint_folder(workshop, study, spec)
    if spec.kind == "learn" and folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()


def check_unused(folder: Path) -> None:
    """A new study must not go on from the state of another."""
    if (folder / LAST).exists():
        raise UsageError(
            f"{folder} holds checkpoints of another run already",
            "name another folder with --checkpoints, or go on with that run: `traindyno resume STUDY`",
        )
