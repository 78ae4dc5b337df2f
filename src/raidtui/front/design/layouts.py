"""Layouts that make sense on some disks, each with its reason, and those that were left out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from raidtui.model.disk_text import DiskGroup

Given = dict[str, Any]
"""A layout, role or workload as a scenario writes it."""
DATA: Final = "data"
FAST: Final = "fast"
_FASTER: Final = {"hdd": 0, "ssd": 1, "nvme": 2}
_LONG_REBUILD_BYTES: Final = 4 * 10**12
"""Size of a rotating disk from which a rebuild takes long: 4 TB at 250 MB/s are more than four hours at the very least."""
_WIDE: Final = 10
"""Largest raidz of which one is recommended; wider ones are split or become draid."""


class Choice(NamedTuple):
    """A layout with the reason why it is among the choices."""

    name: str
    given: Given
    why: str


class LeftOut(NamedTuple):
    """A layout that is not among the choices."""

    name: str
    why: str


class Roles(NamedTuple):
    """Groups by the roles that they play."""

    data: DiskGroup
    fast: DiskGroup | None
    others: tuple[DiskGroup, ...]


def roles_of(groups: Sequence[DiskGroup]) -> Roles:
    """Return the group with the most room as the data, and the fastest of the faster ones as caches and logs."""
    data = max(groups, key=lambda group: group.quantity * group.size.bytes)
    faster = [group for group in groups if _FASTER[group.kind] > _FASTER[data.kind]]
    fast = max(faster, key=lambda group: _FASTER[group.kind], default=None)
    return Roles(data, fast, tuple(group for group in groups if group is not data and group is not fast))


def layouts_for(roles: Roles) -> tuple[list[Choice], list[LeftOut]]:
    """Return the choices, the plainest first, and what was left out. The engine's rules have the last word on each."""
    data = roles.data
    choices = list(_of_data(data))
    if roles.fast is not None and data.quantity > 1:
        choices += _with_fast(data, roles.fast)
    return choices, list(_left_out(data))


def _risky(data: DiskGroup) -> bool:
    return data.kind == "hdd" and data.size.bytes >= _LONG_REBUILD_BYTES


def _of_data(data: DiskGroup) -> Iterator[Choice]:
    count, chunk = data.quantity, "512KiB" if data.kind == "hdd" else "64KiB"
    if count == 1:
        yield Choice("xfs", _xfs(f"@{DATA}"), "one disk survives nothing: what is on it must exist elsewhere too")
        return
    if count in (2, 3):
        yield Choice("raid1-xfs", _xfs(_md("raid1")), "all disks hold the same data")
        yield Choice("zfs-mirror", _pool({"mirror": f"@{DATA}"}), "the same, with checksums that repair garbled data")
    if count >= 4 and count % 2 == 0:
        yield Choice("raid10-xfs", _xfs(_md("raid10", chunk)), "small writes cost least: two writes and no read")
        yield Choice("zfs-mirrors", _pool({"mirror": f"@{DATA}", "per": 2}), "pairs with checksums; grows by two disks")
    if 3 <= count <= 8 and not _risky(data):
        yield Choice("raid5-xfs", _xfs(_md("raid5", chunk)), "one disk of parity, the most room that survives a failure")
        yield Choice("raidz1", _pool({"raidz1": f"@{DATA}"}), "the same room with checksums and without a write hole")
    if count >= 4:
        yield Choice("raid6-xfs", _xfs(_md("raid6", chunk)), "any two disks may fail; the array rebuilds as one")
        if count <= _WIDE + 2:
            yield Choice("raidz2", _pool({"raidz2": f"@{DATA}"}), "any two disks may fail, with checksums")
    if (per := _per(count)) is not None:
        text = f"{count // per} groups of {per}: more small operations than one wide group"
        yield Choice(f"raidz2-{count // per}x{per}", _pool({"raidz2": f"@{DATA}", "per": per}), text)
    if count > _WIDE:
        spread = {"draid2": f"@{DATA}", "data": min(8, count - 3), "spares": 1}
        yield Choice("draid2", _pool(spread), "spare space on all disks: a failed disk is rebuilt by all of them at once")


def _with_fast(data: DiskGroup, fast: DiskGroup) -> Iterator[Choice]:
    kind, at_fast = fast.kind, f"@{FAST}"
    if data.quantity >= 4 and data.quantity <= _WIDE + 2:
        vdev: Given = {"raidz2": f"@{DATA}"}
    elif (per := _per(data.quantity)) is not None:
        vdev = {"raidz2": f"@{DATA}", "per": per}
    elif data.quantity > _WIDE:
        vdev = {"draid2": f"@{DATA}", "data": 8, "spares": 1}
    else:
        vdev = {"mirror": f"@{DATA}"}
    base = next(iter(vdev))
    if fast.quantity >= 2:
        even: Given = {"mirrored_per": 2} if fast.quantity > 3 and fast.quantity % 2 == 0 else {}
        special = {"mirror": f"@{DATA}", "per": 2} if fast.quantity == 2 and data.quantity % 2 == 0 else vdev
        yield Choice(
            f"{next(iter(special))}-special", _pool(special, {"special": at_fast, "mirrored": ["special"], **even}),
            f"metadata on mirrored {kind} disks: directories and small records stop waiting for seeks",
        )  # fmt: skip
        yield Choice(
            f"{base}-log", _pool(vdev, {"log": at_fast, "mirrored": ["log"], **even}),
            f"synchronous writes end on mirrored {kind} disks; nothing else becomes faster",
        )  # fmt: skip
        if data.quantity >= 4:
            cached = {"lvm": {"type": "linear", "size": "100%", "on": _md("raid6", "512KiB"),
                              "writecache": {"on": {"md": {"level": "raid1", "on": at_fast}}, "size": "90%"}}}  # fmt: skip
            yield Choice("raid6-writecache-xfs", _xfs(cached), f"writes end on mirrored {kind} disks and are sorted later")
    else:
        yield Choice(
            f"{base}-cache", _pool(vdev, {"cache": at_fast}),
            f"one {kind} disk may hold copies alone: a read cache, which may fail without loss",
        )  # fmt: skip


def _left_out(data: DiskGroup) -> Iterator[LeftOut]:
    if data.quantity > 1:
        yield LeftOut("raid0", "survives no failure")
    if data.quantity >= 3 and (_risky(data) or data.quantity > 8):
        hours = data.size.bytes / 250e6 / 3600
        why = f"a rebuild reads {data.quantity - 1} whole disks"
        why += f", for {hours:.0f} hours at the least," if data.kind == "hdd" else ""
        yield LeftOut("raid5-xfs, raidz1", f"{why} and survives no second failure meanwhile")
    if data.quantity > _WIDE + 2:
        why = f"one group of {data.quantity} has the small operations of one disk: it is split instead"
        yield LeftOut("raidz2", why)


def _per(count: int) -> int | None:
    """Return the disks of each raidz2 group where several equal groups of 5 to 10 can be made."""
    return next((per for per in (8, 7, 9, 6, 10, 5) if count % per == 0 and count > per), None)


def _md(level: str, chunk: str = "") -> Given:
    return {"md": {"level": level, "on": f"@{DATA}", **({"chunk": chunk} if chunk else {})}}


def _xfs(on: Given | str) -> Given:
    return {"filesystem": {"type": "xfs", "on": on}}


def _pool(vdev: Given, more: Given | None = None) -> Given:
    own = {"size": "100%", "properties": {"compression": "lz4", "atime": "off"}}
    return {"zpool": {"vdevs": [vdev], **(more or {}), "properties": {"ashift": 12}, "dataset": own}}


def role_given(group: DiskGroup) -> Given:
    """Return the role that disks of a group fit, as a scenario writes it."""
    where: Given = {"kind": group.kind, "min_size": group.size.text}
    if group.native:
        where["logical_sector"] = "4096B"
    return {"count": group.quantity, "where": where}


def scenario_for(name: str, title: str, roles: Roles, choices: Sequence[Choice]) -> Given:
    """Return a scenario with the choices, and workloads that fit any of them."""
    found: Given = {DATA: role_given(roles.data)}
    if roles.fast is not None:
        found[FAST] = role_given(roles.fast)
    return {
        "schema": "raidtui.scenario/1", "name": name, "title": title, "roles": found,
        "layouts": {one.name: one.given for one in choices}, "workloads": dict(_WORKLOADS),
        "policy": {"rounds": 4, "initial_sync": "skip-if-zeroed", "cooldown": "10s"},
    }  # fmt: skip


def _fio(rw: str, bs: str, **more: Any) -> Given:
    data: Given = {"buffer_compress_percentage": 0, "dedupe_percentage": 0} if "write" in rw else {}
    return {"fio": {"rw": rw, "bs": bs, "ioengine": "libaio", "direct": True, "filesize": "8GiB", "runtime": "60s",
                    **more, **data}}  # fmt: skip


_WORKLOADS: Final[Given] = {
    "write-1m": _fio("write", "1MiB", iodepth=8, numjobs=4),
    "read-1m": _fio("read", "1MiB", iodepth=8, numjobs=4),
    "rand-write-4k": _fio("randwrite", "4KiB", iodepth=16, numjobs=4, overwrite=True),
    "rand-read-4k": _fio("randread", "4KiB", iodepth=16, numjobs=4),
    "commit-4k": _fio("randwrite", "4KiB", iodepth=1, fsync=1, overwrite=True),
}
