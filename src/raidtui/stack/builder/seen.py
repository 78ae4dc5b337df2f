"""Devices as the second pair of eyes sees them (`tree.py`)."""

from __future__ import annotations

import msgspec

from raidtui.stack.builder.process import Builder


class Seen(msgspec.Struct, frozen=True, omit_defaults=True):
    """A device that blivet recognized."""

    kind: str
    """blivet's type: `disk`, `mdarray`, `partition`, `luks/dm-crypt`, `lvmvg`, …"""
    name: str
    """Kernel name."""
    format: str = ""
    """blivet's type of its content: `mdmember`, `lvmpv`, `luks`, `xfs`, …"""
    parents: tuple[str, ...] = ()
    """Kernel names of the devices that it stands on, sorted."""
    level: str = ""
    """Level of an array."""
    uuid: str = ""
    """UUID of an array."""


def second_look(builder: Builder, paths: list[str]) -> dict[str, Seen]:
    """Return what blivet recognizes on these nodes, by kernel name. udev must have processed their events."""
    found = msgspec.convert(builder.call("tree.look", paths=paths).value, list[Seen])
    return {one.name: one for one in found}
