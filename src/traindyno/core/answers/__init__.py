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
from traindyno.core.answers.learning import (
    AccuracyAnswer,
    AccuracyRow,
    BatchTime,
    NoiseScaleAnswer,
    NoiseWindow,
    RowComparison,
    StepsFit,
    TargetAnswer,
    TargetRow,
    TrainAnswer,
)
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
from traindyno.core.answers.rounds import (
    AdoptAnswer,
    AdoptRehearsal,
    ArmRow,
    BestFound,
    BestOfK,
    CandidateRow,
    Check,
    DraftAnswer,
    Importance,
    IsolationRow,
    LedgerAnswer,
    LedgerEntry,
    Origin,
    ProofRow,
    RangeProposal,
    RoundAnswer,
    TargetEffect,
)
from traindyno.core.answers.scaling import BreakEven, Link, RankRow, ScaleAnswer, ScalePrediction, ScaleRow
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
    | TrainAnswer
    | AccuracyAnswer
    | NoiseScaleAnswer
    | TargetAnswer
    | RoundAnswer
    | AdoptAnswer
    | LedgerAnswer
    | ScaleAnswer
)

__all__ = [
    "AccuracyAnswer",
    "AccuracyRow",
    "AdoptAnswer",
    "AdoptRehearsal",
    "AnatomyAnswer",
    "AnatomySize",
    "Answer",
    "ArmRow",
    "Attempt",
    "BatchTime",
    "BestFound",
    "BestOfK",
    "BreakEven",
    "CandidateRow",
    "Check",
    "Combination",
    "CompareAnswer",
    "CompareRow",
    "CpuScaling",
    "CurvePoint",
    "Document",
    "DraftAnswer",
    "ExpectedRate",
    "Finalist",
    "FindAnswer",
    "Headroom",
    "Importance",
    "Interval",
    "IsolationRow",
    "LedgerAnswer",
    "LedgerEntry",
    "Link",
    "LoaderAnswer",
    "LoaderEffect",
    "LoaderSettings",
    "MaxBatchAnswer",
    "MemoryModel",
    "NoiseScaleAnswer",
    "NoiseWindow",
    "Origin",
    "PhaseCost",
    "PlanAnswer",
    "PlanRow",
    "ProofRow",
    "Quantity",
    "RangeProposal",
    "RankRow",
    "Rehearsal",
    "Remedy",
    "RoundAnswer",
    "RowComparison",
    "ScaleAnswer",
    "ScalePrediction",
    "ScaleRow",
    "SoakAnswer",
    "StallCause",
    "StallRun",
    "StallsAnswer",
    "StepModel",
    "StepShare",
    "StepsFit",
    "SwitchEffect",
    "SwitchesAnswer",
    "TargetAnswer",
    "TargetEffect",
    "TargetRow",
    "Throttle",
    "ThroughputAnswer",
    "TimeSpent",
    "TrainAnswer",
    "TrainingTime",
    "TransferCost",
    "Utilization",
    "Validation",
    "VerifyAnswer",
    "WorkerPoint",
]
