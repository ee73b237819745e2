"""Which GPUs CUDA shows this process, in CUDA's order, by the rules of CUDA_VISIBLE_DEVICES."""

from collections.abc import Sequence

from traindyno.machine.files import whole_number


def visible_devices(value: str | None, uuids: Sequence[str]) -> tuple[int | str, ...]:
    """NVML indices (or names of MIG slices) in the order of `cuda:0`, `cuda:1` …, out of all GPUs by `uuids`.

    As in CUDA: unset shows all, an entry without a meaning ends the list, a device named twice shows none.
    """
    if value is None:
        return tuple(range(len(uuids)))
    chosen: list[int | str] = []
    for entry in value.split(","):
        device = _device(entry.strip(), uuids)
        if device is None:
            break
        if device in chosen:
            return ()
        chosen.append(device)
    return tuple(chosen)


def _device(entry: str, uuids: Sequence[str]) -> int | str | None:
    """An index, a UUID or its unambiguous beginning, or a MIG slice's UUID."""
    index = whole_number(entry)
    if index is not None:
        return index if index < len(uuids) else None
    if entry.startswith("MIG-"):
        return entry
    if not entry.startswith("GPU-"):
        return None
    matches = [position for position, uuid in enumerate(uuids) if uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None
