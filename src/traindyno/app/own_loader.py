"""A loader of the user's own that trains otherwise than the baseline: told at once, not at the end of a budget."""

from traindyno.core.events import Emit, Event, Notice, TrialFinished
from traindyno.core.records import Settings, TrialRecord


def telling_own_loader(emit: Emit, baseline: Settings) -> Emit:
    """Tells all that it is told, and after the first trial that knows the loader what the baseline lacks of it."""
    told = False

    def tell(event: Event) -> None:
        nonlocal told
        emit(event)
        if not told and isinstance(event, TrialFinished) and (text := _differs(event.record, baseline)) is not None:
            told = True
            emit(Notice(level="warning", text=text))

    return tell


def _differs(record: TrialRecord, baseline: Settings) -> str | None:
    loading = None if record.measurement is None else record.measurement.loading
    if loading is None or loading.own_batch_size is None:
        return None
    size, workers = loading.own_batch_size, loading.own_workers
    if (size, workers) == (baseline.batch_size, baseline.num_workers):
        return None
    return (
        f"The job's own DataLoader has batch_size={size} and num_workers={workers}, and the baseline does not: to "
        f"begin with it as it is, stop this and add --batch-size {size} --workers {workers}."
    )
