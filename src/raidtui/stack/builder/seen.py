"""The second pair of eyes: devices as blivet sees them (`tree.py`), compared with those that should be there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from raidtui.inventory.udev import wait_for_udev
from raidtui.stack.builder.process import Builder
from raidtui.stack.read_back import Difference

UDEV_S: Final = 20.0


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
    """UUID of an array or partition."""
    table_uuid: str = ""
    """UUID of the partition table on the device."""
    start_bytes: int | None = None
    size_bytes: int | None = None
    """First byte and length of a partition, as parted read them from the disk."""


class Expected(NamedTuple):
    """A device that should be there. Empty fields are not compared, and no sizes are but those of partitions."""

    seen: Seen
    may_have: frozenset[str] = frozenset()
    """Kernel names of devices that blivet may or may not see below it, such as spares."""

    def differences(self, found: Seen | None) -> list[Difference]:
        if found is None:
            return [Difference(f"{self.seen.name} as blivet sees it", "there", "missing")]
        fields = ("kind", "format", "level", "uuid", "table_uuid", "start_bytes", "size_bytes")
        pairs = [(what, getattr(self.seen, what), getattr(found, what)) for what in fields]
        wrong = [Difference(f"{what} of {self.seen.name} as blivet sees it", *pair) for what, *pair in pairs
                 if pair[0] and pair[0] != pair[1]]  # fmt: skip
        below, must = set(found.parents), set(self.seen.parents)
        if not must <= below <= must | self.may_have:
            wrong.append(Difference(f"devices below {self.seen.name} as blivet sees them", sorted(must), found.parents))
        return wrong


def second_look(builder: Builder, disks: Sequence[str], expected: Iterable[Expected]) -> list[Difference]:
    """Compare what blivet recognizes on the disks (kernel names) with what should be there.

    `expected` is in the order of the build. Devices on others that blivet does not know, as bcache, or LVM's volumes, which
    it may not list here, are left out.
    """
    known, wanted = set(disks), list[Expected]()
    for one in expected:
        if known.issuperset(one.seen.parents):
            known.add(one.seen.name)
            wanted.append(one)
    if not wanted:
        return []
    if wrong := _compare(builder, disks, wanted):
        # blivet reads udev's records, which may have been old.
        wait_for_udev([*(one.seen.name for one in wanted), *disks], UDEV_S)
        wrong = _compare(builder, disks, wanted)
    return wrong


def _compare(builder: Builder, disks: Sequence[str], wanted: Sequence[Expected]) -> list[Difference]:
    paths, names = [f"/dev/{disk}" for disk in disks], [one.seen.name for one in wanted]
    found = msgspec.convert(builder.call("tree.look", paths=paths, names=names).value, list[Seen])
    # The lowest of each name: blivet gives a btrfs volume the node of its first device.
    by_name = {one.name: one for one in reversed(found)}
    return [wrong for one in wanted for wrong in one.differences(by_name.get(one.seen.name))]
