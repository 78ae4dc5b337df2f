"""The commands of the zpool layer. None of them has `-f`.

Commands and not pyzfs (libzfs_core), even for datasets and volumes, where it could: it takes values of properties as the
numbers of an enumeration, so that names and values as ZFS documents them would need a copy of its tables; its properties
cannot be read at all; and a call that hangs in the kernel would take the runner with it, where a command is given up on.
What a plan shows is what runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.model.plan import Argv
from raidtui.stack import mounts
from raidtui.stack.zfs.spec import Group, ZfsPool


def part_path(path: str) -> str:
    """The node of the first partition of a device, as the kernel names it."""
    return f"{path}p1" if path[-1:].isdigit() else f"{path}1"


def vdev_words(groups: Sequence[Group]) -> tuple[str | int, ...]:
    """What `zpool create` is told of the devices: words, and devices by their place."""
    words: list[str | int] = []
    section = "member"
    for group in groups:
        if group.role != section:
            section = group.role
            words.append(section)
        if group.word:
            words.append(group.word)
        words += group.devices
    return tuple(words)


def create_argv(zpool: ZfsPool, paths: Sequence[str]) -> Argv:
    """`zpool create`, with these paths in the places of the devices."""
    argv = ["zpool", "create"]
    for name, value in zpool.properties.items():
        argv += ["-o", f"{name}={value}"]
    for name, value in zpool.inherited.items():
        argv += ["-O", f"{name}={value}"]
    argv.append(zpool.name)
    argv += [paths[word] if isinstance(word, int) else word for word in zpool.words]
    return tuple(argv)


def volume_argv(zpool: ZfsPool) -> Argv:
    argv = ["zfs", "create"]
    if zpool.sparse:
        argv.append("-s")
    argv += ["-V", str(zpool.size_bytes)]
    return (*argv, *_own(zpool), zpool.dataset)


def filesystem_argv(zpool: ZfsPool) -> Argv:
    return ("zfs", "create", *_own(zpool), zpool.dataset)


def _own(zpool: ZfsPool) -> list[str]:
    return [word for name, value in zpool.own.items() for word in ("-o", f"{name}={value}")]


def mount_argv(zpool: ZfsPool) -> Argv:
    return mounts.mount_argv("zfs", zpool.dataset, zpool.name, ())


def destroy_argv(name: str) -> Argv:
    return ("zpool", "destroy", name)


def destroy_dataset_argv(dataset: str) -> Argv:
    return ("zfs", "destroy", dataset)


def undo_argvs(zpool: ZfsPool) -> tuple[Argv, ...]:
    """Everything that takes a whole pool away, in order."""
    unmount = () if zpool.has_volume else (mounts.unmount_argv(zpool.name),)
    return (*unmount, destroy_dataset_argv(zpool.dataset), destroy_argv(zpool.name))


def export_argv(name: str) -> Argv:
    return ("zpool", "export", name)


def import_argv(name: str, paths: Sequence[str]) -> Argv:
    """Only these devices are looked at; nothing is mounted, and no cache of pools is written."""
    return ("zpool", "import", "-N", "-o", "cachefile=none", *(word for path in paths for word in ("-d", path)), name)


def cold_argvs(zpool: ZfsPool, paths: Sequence[str]) -> tuple[Argv, ...]:
    """Everything that exports a pool and imports it again as it was, in order."""
    name, volume = zpool.name, zpool.has_volume
    again = (export_argv(name), import_argv(name, paths))
    return again if volume else (mounts.unmount_argv(name), *again, mount_argv(zpool))
