"""Types of option values: durations, memory, shares, sweeps. Mistakes are answered in the product's own words."""

from collections.abc import Callable
from typing import Any

import click

from traindyno.core.errors import UsageError
from traindyno.core.sweeps import parse_sweep
from traindyno.core.units import parse_bytes, parse_seconds, parse_share


class Parsed(click.ParamType[Any]):
    """An option value read by one of the core's parsers."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            option = f" (option {param.opts[-1]})" if param is not None else ""
            raise UsageError(error.message + option, error.hint) from None


def parse_counts(text: str) -> tuple[int, ...]:
    """`0,1,2,4`: whole numbers, each once and in order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{text!r} is not a list of whole numbers", "write them as 0,1,2,4")
    return tuple(sorted({int(part) for part in parts}))


DURATION = Parsed("duration", parse_seconds)
MEMORY = Parsed("memory", parse_bytes)
SHARE = Parsed("share", parse_share)
SWEEP = Parsed("sizes", parse_sweep)
COUNTS = Parsed("counts", parse_counts)
