"""What the GPU did during a long run: temperature, clock and power, and when something held its clocks."""

from itertools import pairwise
from typing import Any

from traindyno.analysis.soak_run import SoakRun, known_values
from traindyno.analysis.soak_throttle import HARMLESS, POWER, is_thermal
from traindyno.core.soaking import Reading
from traindyno.report.charts.soak_time import PANEL_HEIGHT, Panel, thinned, value_axis
from traindyno.report.charts.style import GREEN, ORANGE, PURPLE, RED, SKY, WIDTH, panel_title, rows_data

QUANTITIES = (
    ("temperature_celsius", "GPU temperature (°C)", ORANGE),
    ("sm_clock_mhz", "SM clock (MHz)", PURPLE),
    ("power_watts", "GPU power (W)", GREEN),
)
HEAT, POWER_LIMIT, OTHER = "held by heat", "held by the power limit", "held by something else"
SPANS = {HEAT: RED, POWER_LIMIT: SKY, OTHER: ORANGE}


def gpu_panels(run: SoakRun) -> list[Panel]:
    """A low panel for each quantity that was read; the times in which clocks were held are shaded."""
    told = [each for each in QUANTITIES if known_values(run.readings, each[0])]
    spans = held_spans(run)
    return [_panel(run, *each, spans, legend=number == 0) for number, each in enumerate(told)]


def held_spans(run: SoakRun) -> list[dict[str, Any]]:
    """From when to when the clocks were held, in minutes, and by what; neighbouring readings are joined."""
    spans: list[dict[str, Any]] = []
    for reading, after in pairwise(run.readings):
        cause = _cause(reading)
        start, end = run.seconds_of(reading) / 60, run.seconds_of(after) / 60
        if cause is None:
            continue
        if spans and spans[-1]["cause"] == cause and abs(spans[-1]["end"] - start) < 1e-9:
            spans[-1]["end"] = end
        else:
            spans.append({"minutes": start, "end": end, "cause": cause})
    return spans


def _cause(reading: Reading) -> str | None:
    reasons = [reason for reason in reading.clock_reasons or () if reason not in HARMLESS]
    if any(is_thermal(reason) for reason in reasons):
        return HEAT
    if any(reason in POWER for reason in reasons):
        return POWER_LIMIT
    return OTHER if reasons else None


def _panel(run: SoakRun, name: str, title: str, color: str, spans: list[dict[str, Any]], legend: bool) -> Panel:
    import altair

    rows = [
        {"minutes": run.seconds_of(reading) / 60, "value": value}
        for reading in thinned(run.readings)
        if (value := getattr(reading, name)) is not None
    ]
    y = value_axis("value", [row["value"] for row in rows])
    line = altair.Chart(rows_data(rows)).mark_line(color=color, strokeWidth=1.8)

    def draw(x: Any) -> Any:
        layers = [*_shades(spans, x, legend), line.encode(x=x, y=y)]
        return altair.layer(*layers).properties(width=WIDTH, height=PANEL_HEIGHT, title=panel_title(title))

    return draw


def _shades(spans: list[dict[str, Any]], x: Any, legend: bool) -> list[Any]:
    import altair

    if not spans:
        return []
    causes = [cause for cause in SPANS if any(span["cause"] == cause for span in spans)]
    colors = altair.Scale(domain=causes, range=[SPANS[cause] for cause in causes])
    shown = altair.Legend(orient="top", symbolOpacity=0.4) if legend else None
    color = altair.Color("cause:N", scale=colors, title=None, legend=shown)
    shade = altair.Chart(rows_data(spans)).mark_rect(opacity=0.16)
    return [shade.encode(x=x, x2="end:Q", y=altair.value(0), y2=altair.value(PANEL_HEIGHT), color=color)]
