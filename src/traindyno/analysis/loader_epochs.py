"""What the start of an epoch costs, and whether keeping the workers saves it.

No trial is needed for that: every trial of a loader measures what starting its workers takes.
"""

from traindyno.analysis.loader_effects import WORTH_HAVING
from traindyno.analysis.loader_parts import LoaderParts
from traindyno.analysis.loader_trials import LoaderTrials, measurement_of
from traindyno.core.answers import LoaderEffect
from traindyno.core.records import Settings
from traindyno.core.units import format_seconds


def persistent_workers(
    chosen: Settings, trials: LoaderTrials, parts: LoaderParts, epoch_examples: int | None, rate: float
) -> LoaderEffect:
    """Whether keeping the workers from one epoch to the next is worth it, by what starting them was seen to cost."""

    def effect(why: str, ratio: float | None = None) -> LoaderEffect:
        return LoaderEffect(
            knob="persistent_workers",
            value="true",
            ratio=ratio,
            ci95=None,
            adopted=ratio is not None and ratio >= WORTH_HAVING,
            skipped_because=why,
        )

    starting = epoch_start_seconds(chosen, trials)
    if chosen.num_workers == 0:
        return effect("there are no workers to keep")
    if starting is None or epoch_examples is None:
        return effect("the length of an epoch is not known: give --epoch-examples")
    epoch = epoch_examples / rate
    kept = min(starting, parts.load_seconds)
    words = f"computed: starting workers takes {format_seconds(starting)}, an epoch {format_seconds(epoch)}"
    return effect(words, ratio=(epoch + starting) / (epoch + kept))


def epoch_start_seconds(chosen: Settings, trials: LoaderTrials) -> float | None:
    """What the start of an epoch costs at the chosen worker count while workers are not kept.

    The start of a later epoch tells it best; where only the first was timed, that one does.
    """
    same = [
        record for record in (*trials.loads, *trials.goal) if record.spec.settings.num_workers == chosen.num_workers
    ]
    told = [loading for record in same if (loading := measurement_of(record).loading) is not None]
    known = [*(each.next_epoch_seconds for each in told), *(each.start_up_seconds for each in told)]
    return next((seconds for seconds in known if seconds is not None), None)
