"""Find the control groups that bind this process: its own folder, then the parents as far as visible."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from traindyno.core.base import Record
from traindyno.machine.files import read_lines

SYSTEM_ROOT = Path("/")


class Mount(Record, frozen=True):
    """Where a hierarchy is mounted. `top` is the group shown there (in some containers not `/`)."""

    controllers: tuple[str, ...]
    point: str
    top: str


def cgroup_folders(controller: str, root: Path = SYSTEM_ROOT) -> tuple[Path, ...]:
    """Every folder whose limits for `controller` apply here: version 1 first, then the unified hierarchy.

    Which version a folder is of shows in the files it holds, so that hybrid set-ups need no special care.
    """
    groups = dict(_own_groups(root))
    folders: list[Path] = []
    for mount in _mounts(root):
        name = controller if controller in mount.controllers else ""
        if name in groups and (name or not mount.controllers):
            folders.extend(_upwards(mount, groups[name], root))
    return tuple(folders)


def _own_groups(root: Path) -> Iterator[tuple[str, str]]:
    """Controller name and group path by /proc/self/cgroup; the unified hierarchy has the empty name."""
    for line in read_lines(root / "proc/self/cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            yield controller, path


def _mounts(root: Path) -> list[Mount]:
    """Hierarchies by /proc/self/mountinfo, version 1 before version 2."""
    found = [_mount(line) for line in read_lines(root / "proc/self/mountinfo")]
    mounts = [mount for mount in found if mount is not None]
    return sorted(mounts, key=lambda mount: not mount.controllers)


def _mount(line: str) -> Mount | None:
    left, _, right = line.partition(" - ")
    before, after = left.split(), right.split()
    if len(before) < 5 or len(after) < 3 or after[0] not in ("cgroup", "cgroup2"):
        return None
    controllers = tuple(after[2].split(",")) if after[0] == "cgroup" else ()
    return Mount(controllers=controllers, point=before[4], top=before[3])


def _upwards(mount: Mount, group: str, root: Path) -> list[Path]:
    """The group's folder and its parents; for a group out of sight, the mount point alone."""
    point = root / mount.point.lstrip("/")
    below = _below(group, mount.top)
    folders = [point / below, *(point / parent for parent in below.parents)]
    return list(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def _below(group: str, top: str) -> PurePosixPath:
    path = PurePosixPath(group)
    if ".." in path.parts or not path.is_relative_to(top):
        return PurePosixPath()
    return path.relative_to(top)
