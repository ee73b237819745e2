"""Where the step of each way goes: computing, waiting for the slowest, communication, loading, or both at once."""

from itertools import accumulate
from typing import Any

from traindyno.core.answers import ScaleRow
from traindyno.core.scaling import USUAL_BUCKET_MIB
from traindyno.report.charts.scale_lines import flush_title
from traindyno.report.charts.style import (
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE_GREY,
    PURPLE,
    RED,
    SKY,
    rows_data,
)
from traindyno.report.wording import duration, known

COLORS = {
    "computing": SKY,
    "loading": RED,
    "loading beside communication": ORANGE,
    "waiting for the slowest": PALE_GREY,
    "communication": PURPLE,
}
BAR_STEP = 22
MOST_BARS = 16


def parts_panel(rows: list[ScaleRow]) -> Any:
    """A bar for each way of several devices, or of one where that is all there is; null where nothing was parted."""
    import altair

    parted = [row for row in rows if row.communication_share is not None and known(row.communication_share)]
    several = [row for row in parted if row.devices > 1] or parted
    shown = several[-MOST_BARS:]
    if not shown:
        return None
    cut = "" if shown == several else f", the last {MOST_BARS} of {len(several)}"
    drawn = [piece for row in shown for piece in _stacked(row)]
    names = [name for name in COLORS if any(piece["part"] == name for piece in drawn)]
    scale = altair.Scale(domain=[0, 1.24], nice=False)
    ticks = altair.Axis(title="share of the step", values=[0, 0.5, 1], format="%")
    x = altair.X("start:Q", scale=scale, axis=ticks)
    y = altair.Y(
        "way:N", sort=None, axis=altair.Axis(title=None, ticks=False, domain=False, labelLimit=220, labelPadding=6)
    )
    colors = altair.Scale(domain=names, range=[COLORS[name] for name in names])
    color = altair.Color("part:N", scale=colors, title=None, legend=altair.Legend(orient="top", columns=3))
    bars = altair.Chart(rows_data(drawn)).mark_bar(height={"band": 0.7}).encode(x=x, x2="end:Q", y=y, color=color)
    ends = [{"way": way_words(row), "end": 1.0, "label": duration(row.step_seconds)} for row in shown]
    labels = altair.Chart(rows_data(ends)).mark_text(align="left", dx=8, fontSize=LABEL_SIZE, color=INK)
    return altair.layer(bars, labels.encode(x=altair.X("end:Q", scale=scale), y=y, text="label:N")).properties(
        height={"step": BAR_STEP}, title=flush_title(f"Where the step goes (devices × batch of each{cut})")
    )


def way_words(row: ScaleRow) -> str:
    """`2 × 32`, and what is unusual of it."""
    unusual = (
        None if row.bucket_mib == USUAL_BUCKET_MIB else f"{row.bucket_mib:g} MiB",
        None if row.accumulation_steps == 1 else f"{row.accumulation_steps} parts",
    )
    return ", ".join(part for part in (f"{row.devices} × {row.batch_per_device}", *unusual) if part)


def _stacked(row: ScaleRow) -> list[dict[str, Any]]:
    """Pieces of the step, one after another; noise may make a share negative, which takes no room."""
    left, shares = 1.0, {}
    found = (("communication", row.communication_share), ("waiting for the slowest", row.waiting_share))
    loading = (("loading", row.load_share), ("loading beside communication", row.load_hidden_share))
    for name, part in (*found, *loading):
        shares[name] = min(left, max(0.0, part)) if part is not None and known(part) else 0.0
        left -= shares[name]
    lengths = [(name, left if name == "computing" else shares[name]) for name in COLORS]
    ends = accumulate(length for _, length in lengths)
    pieces = zip(lengths, ends, strict=True)
    return [
        {"way": way_words(row), "part": name, "start": end - length, "end": end}
        for (name, length), end in pieces
        if length > 0
    ]
