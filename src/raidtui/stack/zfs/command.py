"""The commands of the zpool layer. None of them has `-f`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.stack.zfs.spec import Group

VOLUME: Final = "vol"
"""Its name in the pool."""


def part_path(path: str) -> str:
    """The node of the first partition of a device, as the kernel names it."""
    return f"{path}p1" if path[-1:].isdigit() else f"{path}1"


def link_path(dataset: str) -> str:
    """Where udev shows a volume."""
    return f"/dev/zvol/{dataset}"


def vdev_words(groups: Sequence[Group]) -> list[str | int]:
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
    return words


def create_argv(args: dict[str, Any], paths: Sequence[str]) -> Argv:
    """`zpool create`, with these paths in the places of the devices."""
    argv = ["zpool", "create"]
    for name, value in args["properties"].items():
        argv += ["-o", f"{name}={value}"]
    for name, value in args["inherited"].items():
        argv += ["-O", f"{name}={value}"]
    argv.append(args["name"])
    argv += [paths[word] if isinstance(word, int) else word for word in args["words"]]
    return tuple(argv)


def volume_argv(args: dict[str, Any]) -> Argv:
    argv = ["zfs", "create"]
    if args["sparse"]:
        argv.append("-s")
    argv += ["-V", str(args["size_bytes"])]
    for name, value in args["volume"].items():
        argv += ["-o", f"{name}={value}"]
    return (*argv, dataset(args))


def destroy_argv(name: str) -> Argv:
    return ("zpool", "destroy", name)


def destroy_volume_argv(dataset: str) -> Argv:
    return ("zfs", "destroy", dataset)


def dataset(args: dict[str, Any]) -> str:
    """The volume's full name."""
    return f"{args['name']}/{VOLUME}"
