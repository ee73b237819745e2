"""How the answer of `find` came about; a search that was cut short came about in another way."""

from traindyno.analysis.find.placed import placed_finalists
from traindyno.core.answers import Document, Finalist, FindAnswer
from traindyno.report.finalists import faster_elsewhere, foretells_loss

METHOD = (
    "First the baseline is measured as it is, and its step taken apart: the search spends its trials on the side that "
    "holds training up. Loaders that a simulation, made of separately measured parts, shows unable to win are not "
    "run. Changes of the step are tried in pairs of processes that take turns. {end} A near-equal reaches at least "
    "97 % of the recommended speed and saves something. Learning rates for another batch are by rule, not measured."
)
CONFIRMED = (
    "In the end the best candidates ran end to end, loader and all, by turns with the baseline and each time in a "
    "fresh process: speeds are ratios of such rounds, and their 95 % intervals cover the variation between processes."
)
UNCONFIRMED = (
    "The speed was not confirmed by repeated rounds that agree, in which the best candidates take turns with the "
    "baseline in fresh processes: it comes from single runs or from a single round, and its 95 % interval covers the "
    "variation within one process only."
)
LEARNING = (
    " Batches are judged by the time to the same loss: examples per second, measured, over the examples that it takes, "
    "predicted to grow as 1 + batch ÷ noise scale of the gradients if each batch has a rate of its own. Another batch "
    "is recommended only where the whole interval speaks for it. No run was trained to that loss."
)
ALONE = "In the end no other way to train had a speed to compare with the baseline's."


def find_method(document: Document) -> str:
    """By whether the speed that is told was confirmed."""
    compared = _compared(document.answer)
    end = CONFIRMED if all(found.confirmed for found in compared) else UNCONFIRMED
    return METHOD.format(end=end if compared else ALONE) + (LEARNING if foretells_loss(document.answer) else "")


def _compared(answer: FindAnswer) -> list[Finalist]:
    """Whose speed the answer tells; where nothing is faster, all that were not."""
    found = faster_elsewhere(answer) or answer.recommended
    others = [placed.finalist for placed in placed_finalists(answer) if placed.finalist.changes]
    return [found] if found.changes else others
