"""Types of option values: durations, memory, shares, prices, sweeps. Mistakes are told in the product's own words."""

import math
from collections.abc import Callable
from typing import Any

import click

from traindyno.core.errors import UsageError
from traindyno.core.records import LARGEST_SEED
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
            raise UsageError(f"{error.message}{_of(param)}", error.hint) from None


class Measuring(Parsed):
    """What something is measured in, a time or memory: not nothing, whether it is typed or a command's own default."""

    def __init__(self, name: str, parse: Callable[[str], Any], hint: str) -> None:
        super().__init__(name, parse)
        self._hint = hint

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        amount = super().convert(value, param, ctx)
        if not isinstance(amount, int | float) or not 0 < amount < math.inf:
            raise UsageError(f"in {value!r} nothing can be measured{_of(param)}", self._hint)
        return amount


class Finite(click.FloatRange):
    """A number in a range; neither `nan` nor `inf`, which click would take for one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            raise UsageError(f"{value!r} is not a number to count with{_of(param)}", "write one such as 0.5 or 90")
        return number


def _of(param: click.Parameter | None) -> str:
    return f" (option {param.opts[-1]})" if param is not None else ""


def parse_counts(text: str) -> tuple[int, ...]:
    """`0,1,2,4`: whole numbers, each once and in order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{text!r} is not a list of whole numbers", "write them as 0,1,2,4")
    return tuple(sorted({int(part) for part in parts}))


DURATION = Parsed("duration", parse_seconds)
MEASURING = Measuring("duration", parse_seconds, "write a time above 0, such as 5s")
BUDGET = Measuring("duration", parse_seconds, "write a time above 0, such as 10m")
MEMORY = Measuring("memory", parse_bytes, "write some memory, such as 8GiB")
ABOVE_ZERO = Finite(0, min_open=True)
SEED = click.IntRange(0, LARGEST_SEED)
SHARE = Parsed("share", parse_share)
PRICE = Parsed("price", parse_price)
SWEEP = Parsed("sizes", parse_sweep)
BATCH_RANGE = Parsed("range", parse_range)
COUNTS = Parsed("counts", parse_counts)
