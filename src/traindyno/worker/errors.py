"""Faults inside a trial whose origin decides how the trial is classified."""

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.records import Failure


class LargerThanDataError(TraindynoError):
    """More is asked for than the data's `examples` give: a larger batch, or a longer pass. Other trials can go on."""

    def __init__(self, message: str, hint: str, examples: int) -> None:
        super().__init__(message, hint)
        self.examples = examples


class DoesNotApplyError(TraindynoError):
    """A setting cannot be used with this model, optimiser or batch. Trials with other settings can go on."""


class NotSharedError(DoesNotApplyError):
    """Workers do not share a stream out: more than one of them deliver its examples several times."""


class CompileFailedError(TraindynoError):
    """torch.compile could not make anything of the model. Trials without it can go on."""


class NothingToLoadError(UsageError):
    """A loader was asked for, and the workload makes its batches up on the device. It can run without one."""


class DataError(Exception):
    """Reading or collating the user's data raised; the user's own exception is the cause."""


class BadBatchError(DataError, TraindynoError):
    """A batch was read, and nothing can be learnt from it."""


class ArmFailedError(Exception):
    """One of the two processes of a pair failed and told how: its `failure` is that of the trial."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ArmDiedError(Exception):
    """One of the two processes of a pair ended without a word; `status` is what it left to be waited for."""

    def __init__(self, status: int) -> None:
        super().__init__(f"an arm ended with status {status}")
        self.status = status


class RankFailedError(Exception):
    """A group of processes that train together failed: its `failure` is that of the trial."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
