"""How long each reason has held a GPU's clocks since the driver was loaded: the driver's own counters."""

from collections.abc import Callable, Iterator
from typing import Any

from traindyno.machine.throttling import clock_reasons

# Policies of all drivers; thermal slowdown of every kind is one of them.
_POLICIES = {
    "NVML_PERF_POLICY_POWER": "power cap",
    "NVML_PERF_POLICY_THERMAL": "thermal slowdown",
    "NVML_PERF_POLICY_SYNC_BOOST": "sync boost",
    "NVML_PERF_POLICY_BOARD_LIMIT": "board limit",
    "NVML_PERF_POLICY_RELIABILITY": "reliability limit",
}
# Fields of drivers since 550 that tell software's slowdown from the hardware's; the numbers are the reasons' bits.
_FIELDS = {
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN": 0x020,
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN": 0x040,
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN": 0x080,
}
_VALUES = {1: "uiVal", 2: "ulVal", 3: "ullVal"}
"""Where NVML keeps whole numbers of each type."""


def read_counters(nvml: Any, ask: Callable[..., Any], card: Any) -> dict[str, int] | None:
    """Nanoseconds by reason in words; null where the driver counts none. `ask` answers null for what it refuses."""
    return dict([*_policies(nvml, ask, card), *_fields(nvml, ask, card)]) or None


def _policies(nvml: Any, ask: Callable[..., Any], card: Any) -> Iterator[tuple[str, int]]:
    for constant, reason in _POLICIES.items():
        policy = getattr(nvml, constant, None)
        status = None if policy is None else ask("nvmlDeviceGetViolationStatus", card, policy)
        if status is not None:
            yield reason, int(status.violationTime)


def _fields(nvml: Any, ask: Callable[..., Any], card: Any) -> Iterator[tuple[str, int]]:
    known = {getattr(nvml, constant): bit for constant, bit in _FIELDS.items() if hasattr(nvml, constant)}
    for field in (ask("nvmlDeviceGetFieldValues", card, list(known)) if known else None) or ():
        member = _VALUES.get(field.valueType)
        if field.nvmlReturn == 0 and member is not None and field.fieldId in known:
            yield clock_reasons(known[field.fieldId])[0], int(getattr(field.value, member))
