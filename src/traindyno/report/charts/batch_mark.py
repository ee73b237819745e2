"""A batch size that a chart points out: a dashed line across it, named at the top."""

from collections.abc import Sequence
from typing import Any

from traindyno.report.charts.style import GREY, LABEL_SIZE, rows_data


def batch_mark(batch_size: int, label: str, sizes: Sequence[int], x: Any) -> list[Any]:
    """The line and its name, which stands where there is more room beside it; `x` is the axis of batch sizes."""
    import altair

    left = batch_size**2 < min(sizes) * max(sizes)
    chart = altair.Chart(rows_data([{"batch_size": batch_size, "label": label}]))
    rule = chart.mark_rule(color=GREY, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x)
    text = chart.mark_text(
        align="left" if left else "right",
        baseline="top",
        dx=6 if left else -6,
        dy=4,
        fontSize=LABEL_SIZE,
        color=GREY,
    )
    return [rule, text.encode(x=x, y=altair.value(0), text="label:N")]
