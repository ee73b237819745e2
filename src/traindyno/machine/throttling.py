"""What holds a GPU's clocks, from the driver's bits to words."""

from traindyno.core.machine import APPLICATIONS_CLOCKS, GPU_IDLE, POWER_CAP

_WORDS = {
    0x001: GPU_IDLE,
    0x002: APPLICATIONS_CLOCKS,
    0x004: POWER_CAP,
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "thermal software slowdown",
    0x040: "thermal hardware slowdown",
    0x080: "hardware power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability limit",
}


def clock_reasons(bits: int) -> tuple[str, ...]:
    """Every reason in words; a bit newer than this list is named by its number."""
    masks = (1 << position for position in range(bits.bit_length()))
    return tuple(_WORDS.get(mask, f"reason {mask:#x}") for mask in masks if bits & mask)
