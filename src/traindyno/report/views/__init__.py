"""How each kind of answer is told, one file each. To add one: a new file here and a line in `VIEWS`."""

from traindyno.core.answers import (
    AccuracyAnswer,
    AdoptAnswer,
    AnatomyAnswer,
    CompareAnswer,
    Document,
    FindAnswer,
    LedgerAnswer,
    LoaderAnswer,
    MaxBatchAnswer,
    NoiseScaleAnswer,
    PlanAnswer,
    RoundAnswer,
    ScaleAnswer,
    SoakAnswer,
    StallsAnswer,
    SwitchesAnswer,
    TargetAnswer,
    ThroughputAnswer,
    TrainAnswer,
    VerifyAnswer,
)
from traindyno.report.document import answers_of
from traindyno.report.view import View
from traindyno.report.views.accuracy import ACCURACY
from traindyno.report.views.anatomy import ANATOMY
from traindyno.report.views.compare import COMPARE
from traindyno.report.views.find import FIND
from traindyno.report.views.loader import LOADER
from traindyno.report.views.max_batch import MAX_BATCH
from traindyno.report.views.noise_scale import NOISE_SCALE
from traindyno.report.views.plan import PLAN
from traindyno.report.views.rounds import ROUND
from traindyno.report.views.rounds_adopt import ADOPT
from traindyno.report.views.rounds_ledger import LEDGER
from traindyno.report.views.scale import SCALE
from traindyno.report.views.soak import SOAK
from traindyno.report.views.stalls import STALLS
from traindyno.report.views.switches import SWITCHES
from traindyno.report.views.target import TARGET
from traindyno.report.views.throughput import THROUGHPUT
from traindyno.report.views.train import TRAIN
from traindyno.report.views.unanswered import UNANSWERED
from traindyno.report.views.verify import VERIFY

VIEWS: dict[type, View] = {
    MaxBatchAnswer: MAX_BATCH,
    ThroughputAnswer: THROUGHPUT,
    PlanAnswer: PLAN,
    CompareAnswer: COMPARE,
    LoaderAnswer: LOADER,
    StallsAnswer: STALLS,
    SwitchesAnswer: SWITCHES,
    SoakAnswer: SOAK,
    AnatomyAnswer: ANATOMY,
    FindAnswer: FIND,
    VerifyAnswer: VERIFY,
    TrainAnswer: TRAIN,
    AccuracyAnswer: ACCURACY,
    NoiseScaleAnswer: NOISE_SCALE,
    TargetAnswer: TARGET,
    ScaleAnswer: SCALE,
    RoundAnswer: ROUND,
    AdoptAnswer: ADOPT,
    LedgerAnswer: LEDGER,
}


def view_of(document: Document) -> View:
    """The view of the document's answer; a study without one still shows its trials."""
    answers = answers_of(document)
    return VIEWS.get(type(answers[0]), UNANSWERED) if answers else UNANSWERED
