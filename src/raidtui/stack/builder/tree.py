"""A second pair of eyes: blivet's own reading of what stands on the given devices. Runs in the builder's process alone.

Nothing else on the server is looked at: blivet handles the given nodes, their partitions, and the devices that hold them.
It is no gate and tells no sizes but those of partitions: there it is weaker than raidtui's own reading.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from blivet import udev
from blivet.devicetree import DeviceTree
from blivet.errors import MDRaidError

from raidtui.stack.builder.libraries import BlockDev
from raidtui.stack.builder.seen import Seen

_SYS: Path = Path("/sys/class/block")


class _Tree(DeviceTree):
    def _handle_degraded_md(self, info: Any, device: Any) -> Any:
        """Leave a degraded array as it is: blivet would start it."""
        return device


def look(paths: list[str], names: list[str]) -> list[Seen]:
    """Return the devices that blivet recognizes on these nodes, lowest first. Nothing is started, stopped or written.

    `names`: kernel names of the devices above them to look at; others are none of blivet's business.
    """
    with _only_reading():
        tree = _Tree()
        for name in _standing_on(paths, frozenset(names)):
            if info := udev.get_device(os.path.realpath(_SYS / name)):
                tree.handle_device(info)
        return [_seen(device) for device in tree.devices]


@contextmanager
def _only_reading() -> Iterator[None]:
    """Refuse what blivet's scan would do to an array that it does not understand: stop it, start it, or run it degraded."""

    def refuse(*_: Any, **__: Any) -> None:
        raise MDRaidError("a look changes nothing")

    names = ("activate", "deactivate", "run", "nominate", "denominate", "add", "remove")
    for name in names:
        setattr(BlockDev.md, name, refuse)
    try:
        yield
    finally:
        for name in names:
            delattr(BlockDev.md, name)


def _standing_on(paths: list[str], names: frozenset[str]) -> Iterator[str]:
    """Yield kernel names of the nodes, and of those named devices that stand on them, lowest first."""
    found: dict[str, None] = {}

    def add(name: str) -> None:
        if name in found:
            return
        found[name] = None
        folder = _SYS / name
        for entry in sorted(folder.iterdir()):
            if entry.name in names and (entry / "partition").exists():
                add(entry.name)
        for holder in sorted((folder / "holders").iterdir()):
            if holder.name in names:
                add(holder.name)

    for path in paths:
        add(Path(os.path.realpath(path)).name)
    return iter(found)


def _seen(device: Any) -> Seen:
    level = getattr(device, "level", None)
    uuid = device.uuid if device.type in ("mdarray", "partition") else ""
    table_uuid = device.format.uuid if device.format.type == "disklabel" else ""
    start_bytes, size_bytes = _extent(device)
    return Seen(
        kind=device.type,
        name=Path(os.path.realpath(device.path)).name,
        format=device.format.type or "",
        parents=tuple(sorted(Path(os.path.realpath(parent.path)).name for parent in device.parents)),
        level=str(level) if level is not None else "",
        uuid=str(uuid or ""),
        table_uuid=str(table_uuid or ""),
        start_bytes=start_bytes,
        size_bytes=size_bytes,
    )


def _extent(device: Any) -> tuple[int | None, int | None]:
    """Return first byte and length of a partition."""
    if (found := getattr(device, "parted_partition", None)) is None:
        return None, None
    sector = int(device.disk.format.sector_size)
    return found.geometry.start * sector, found.geometry.length * sector
