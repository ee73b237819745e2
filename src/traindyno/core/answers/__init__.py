"""What studies conclude. The fields are part of the public contract: see docs/reference/answers.md."""

from traindyno.core.answers.batches import (
    CompareAnswer,
    CompareRow,
    CurvePoint,
    MaxBatchAnswer,
    MemoryModel,
    PlanAnswer,
    PlanRow,
    Quantity,
    StepModel,
    ThroughputAnswer,
    Validation,
)
from traindyno.core.answers.document import Document, Rehearsal
from traindyno.core.answers.find import (
    Attempt,
    Finalist,
    FindAnswer,
    Headroom,
    StepShare,
    TimeSpent,
    TrainingTime,
    VerifyAnswer,
)
from traindyno.core.answers.interval import Interval
from traindyno.core.answers.loading import (
    CpuScaling,
    ExpectedRate,
    LoaderAnswer,
    LoaderEffect,
    LoaderSettings,
    Remedy,
    StallCause,
    StallRun,
    StallsAnswer,
    WorkerPoint,
)
from traindyno.core.answers.steps import (
    AnatomyAnswer,
    AnatomySize,
    Combination,
    PhaseCost,
    SoakAnswer,
    SwitchEffect,
    SwitchesAnswer,
    Throttle,
    TransferCost,
    Utilization,
)

Answer = (
    MaxBatchAnswer
    | ThroughputAnswer
    | PlanAnswer
    | CompareAnswer
    | LoaderAnswer
    | StallsAnswer
    | AnatomyAnswer
    | SwitchesAnswer
    | SoakAnswer
    | FindAnswer
    | VerifyAnswer
)

__all__ = [
    "AnatomyAnswer",
    "AnatomySize",
    "Answer",
    "Attempt",
    "Combination",
    "CompareAnswer",
    "CompareRow",
    "CpuScaling",
    "CurvePoint",
    "Document",
    "ExpectedRate",
    "Finalist",
    "FindAnswer",
    "Headroom",
    "Interval",
    "LoaderAnswer",
    "LoaderEffect",
    "LoaderSettings",
    "MaxBatchAnswer",
    "MemoryModel",
    "PhaseCost",
    "PlanAnswer",
    "PlanRow",
    "Quantity",
    "Rehearsal",
    "Remedy",
    "SoakAnswer",
    "StallCause",
    "StallRun",
    "StallsAnswer",
    "StepModel",
    "StepShare",
    "SwitchEffect",
    "SwitchesAnswer",
    "Throttle",
    "ThroughputAnswer",
    "TimeSpent",
    "TrainingTime",
    "TransferCost",
    "Utilization",
    "Validation",
    "VerifyAnswer",
    "WorkerPoint",
]
