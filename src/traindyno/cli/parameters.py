"""Types of option values: durations, memory, shares, prices, sweeps. Mistakes are told in the product's own words."""

import math
from collections.abc import Callable
from typing import Any

import click

from traindyno.core.errors import UsageError
from traindyno.core.sweeps import parse_range, parse_sweep
from traindyno.core.units import parse_bytes, parse_price, parse_seconds, parse_share


class Parsed(click.ParamType[Any]):
    """An option value read by one of the core's parsers."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, (str, bool)):
            return value
        try:
            return self._parse(str(value))  # `true` in the project file is no text, but nothing to let through either
        except UsageError as error:
            option = f" (option {param.opts[-1]})" if param is not None else ""
            raise UsageError(error.message + option, error.hint) from None


class Measuring(Parsed):
    """How long something is measured, which is some time; also where the project file has it as a number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
            option = f" (option {param.opts[-1]})" if param is not None else ""
            raise UsageError(f"in {value!r} nothing can be measured{option}", "write a time above 0, such as 5s")
        return seconds


def parse_counts(text: str) -> tuple[int, ...]:
    """`0,1,2,4`: whole numbers, each once and in order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{text!r} is not a list of whole numbers", "write them as 0,1,2,4")
    return tuple(sorted({int(part) for part in parts}))


DURATION = Parsed("duration", parse_seconds)
MEASURING = Measuring("duration", parse_seconds)
MEMORY = Parsed("memory", parse_bytes)
SHARE = Parsed("share", parse_share)
PRICE = Parsed("price", parse_price)
SWEEP = Parsed("sizes", parse_sweep)
BATCH_RANGE = Parsed("range", parse_range)
COUNTS = Parsed("counts", parse_counts)
