"""The two ends between which an estimate may well lie."""

Interval = tuple[float, float]
