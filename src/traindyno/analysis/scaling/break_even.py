"""From which batch in all more devices are faster than the fewest."""

from collections.abc import Sequence

from traindyno.core.answers.scaling import BreakEven, ScaleRow


def break_even(rows: Sequence[ScaleRow]) -> tuple[BreakEven, ...]:
    """One for each count of devices that shared a batch which the fewest devices had too.

    Rows are those with usual buckets and accumulation, so that there is one for each count and batch.
    """
    shared = shared_batches(rows)
    return tuple(
        _break_even(devices, [row for row in shared if row.devices == devices])
        for devices in sorted({row.devices for row in shared})
    )


def shared_batches(rows: Sequence[ScaleRow]) -> list[ScaleRow]:
    """Rows of more devices than the fewest, whose batch in all the fewest had too."""
    compared = [row for row in rows if row.speedup is not None]
    fewest = min((row.devices for row in compared), default=0)
    return [row for row in compared if row.devices > fewest]


def is_faster(row: ScaleRow) -> bool:
    """Beyond chance."""
    return row.speedup_ci95 is not None and row.speedup_ci95[0] > 1


def is_slower(row: ScaleRow) -> bool:
    return row.speedup_ci95 is not None and row.speedup_ci95[1] < 1


def _break_even(devices: int, rows: Sequence[ScaleRow]) -> BreakEven:
    slower = max((row.batch_size for row in rows if is_slower(row)), default=None)
    faster = [row.batch_size for row in rows if is_faster(row) and row.batch_size > (slower or 0)]
    batch_size = min(faster, default=None)
    between = None if slower is None or batch_size is None else (slower, batch_size)
    undecided = [row.batch_size for row in rows if not is_faster(row) and not is_slower(row)]
    return BreakEven(
        devices=devices,
        batch_size=batch_size,
        slower_at=slower,
        between=between,
        undecided_at=tuple(size for size in sorted(undecided) if size > (slower or 0)),
    )
