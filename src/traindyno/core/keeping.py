"""What a search must not change, as people write it: `precision=fp32,determinism,data`."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings
from traindyno.core.settings_text import WHERE_DEVICES, WITH_OPTIONS, parse_value

DATA, AUGMENTATION = "data", "augmentation"
PRECISION, TF32 = "precision", "tf32"
KEEPABLE = (*(name for name in Settings.__struct_fields__ if name not in ("device", "devices")), DATA, AUGMENTATION)
_OF_OPTIONS = {option.lstrip("-").replace("-", "_"): name for name, option in WITH_OPTIONS.items()}


def parse_keep(texts: str | Iterable[str]) -> dict[str, Any]:
    """Name → the value that was given for it, or null: as the baseline has it. Names may be those of options."""
    parts = [part for text in ([texts] if isinstance(texts, str) else texts) for part in str(text).split(",")]
    kept: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in parts)):
        name, value = _kept(part)
        if name in kept and kept[name] != value:
            raise UsageError(f"{name} is kept twice, and not in the same way", "name it once")
        kept[name] = value
    return kept


def all_kept(kept: Mapping[str, Any]) -> dict[str, Any]:
    """With what they stand for beside themselves: TF32 is a lower precision for products of fp32."""
    return {**kept, TF32: kept.get(TF32)} if PRECISION in kept else {**kept}


def kept_settings(kept: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the baseline gets from what is kept; another value `given` by an option is refused."""
    values = {name: value for name, value in kept.items() if value is not None}
    for name, value in values.items():
        if given.get(name, value) != value:
            raise UsageError(
                f"{name} is to be kept at {value}, and yet {given[name]} is asked for", f"write --keep {name} alone"
            )
    return values


def _kept(text: str) -> tuple[str, Any]:
    written, equals, value = (part.strip() for part in text.partition("="))
    name = _name(written)
    if not equals:
        return name, None
    if name in (DATA, AUGMENTATION):
        raise UsageError(f"{name} is kept as it is, and has no value here", f"write --keep {name}")
    return name, parse_value(name, value)


def _name(written: str) -> str:
    name = written.lower().replace("-", "_")
    name = _OF_OPTIONS.get(name, name)
    if name == "device":
        raise UsageError("the device never changes", "name it with --device")
    if name == "devices":
        raise UsageError("the number of devices never changes here", WHERE_DEVICES)
    if name not in KEEPABLE:
        near = get_close_matches(name, KEEPABLE, n=1)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(KEEPABLE)}"
        raise UsageError(f"there is nothing to keep by the name {written!r}", known)
    return name
