"""Which way is the fastest, and which has the fewest devices for nearly as much."""

from collections.abc import Sequence

from traindyno.core.answers.scaling import ScaleRow

NEAR_FASTEST = 0.97


def fastest_row(rows: Sequence[ScaleRow]) -> int:
    """The most examples per second; a row that was not steady only where none was."""
    measured = [position for position, row in enumerate(rows) if row.examples_per_second is not None]
    steady = [position for position in measured if rows[position].steady]
    return max(steady or measured, key=lambda position: rows[position].examples_per_second or 0.0)


def recommended_row(rows: Sequence[ScaleRow], fastest: int) -> int:
    """The fewest devices within 3 % of the fastest, and of their batches the smallest."""
    enough = NEAR_FASTEST * (rows[fastest].examples_per_second or 0.0)
    near = [position for position, row in enumerate(rows) if (row.examples_per_second or 0.0) >= enough]
    return min(near, key=lambda at: (rows[at].devices, rows[at].batch_size, -(rows[at].examples_per_second or 0.0)))
