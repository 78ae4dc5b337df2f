"""Who a disk is, and whether its kind can be used at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.inventory.blocks import Node
from raidtui.inventory.hardware import hardware_folder
from raidtui.inventory.reasons import reason, unchecked
from raidtui.model.disk import Disk, Reason


def with_ids(disks: Sequence[Disk]) -> tuple[Disk, ...]:
    """The disks with their ids: serial where unique, else wwid; `?name` where neither names just one disk."""
    serials = Counter(disk.serial for disk in disks)
    wwids = Counter(disk.wwid for disk in disks)

    def identity(disk: Disk) -> str:
        if disk.wwid and wwids[disk.wwid] > 1:
            return f"?{disk.name}"
        if disk.serial and serials[disk.serial] == 1:
            return disk.serial
        return disk.wwid or f"?{disk.name}"

    named = [msgspec.structs.replace(disk, id=identity(disk)) for disk in disks]
    # One disk's serial may read like another's wwid; an id that two disks share names neither.
    ids = Counter(disk.id for disk in named)
    return tuple(d if ids[d.id] == 1 else msgspec.structs.replace(d, id=f"?{d.name}") for d in named)


def check_identity(disk: Disk, disks: Sequence[Disk]) -> Iterator[Reason]:
    if not disk.id.startswith("?"):
        return
    if not disk.serial and not disk.wwid:
        yield reason("no-identity", "reports neither a serial number nor a worldwide name")
        return
    same = [d.name for d in disks if d.name != disk.name and {d.serial, d.wwid} & ({disk.serial, disk.wwid} - {""})]
    text = f"has the same identity ({disk.wwid or disk.serial}) as {', '.join(same[:4])}"
    yield reason("duplicate-identity", text)


def check_kind(disk: Disk, node: Node) -> Iterator[Reason]:
    """What the disk itself is like: capacity, state, write protection."""
    folder = Path(node.folder)
    if disk.size_bytes <= 0:
        yield reason("no-medium", "the kernel reports a size of 0 bytes")
    if disk.diskseq is None:
        yield unchecked("that it stays the same disk", "the kernel gives no diskseq (Linux 5.15 and later do)")
    state = read_text(hardware_folder(folder) / "state") or ""
    if state not in ("", "running", "live"):
        yield reason("offline", f"its state is {clean(state)}")
    if read_int(folder / "ro"):
        yield reason("read-only", "the kernel treats it as read-only", f"blockdev --setrw /dev/{disk.name}")
    if read_int(folder / "removable"):
        yield reason("removable", "its medium is removable")
    if is_remote(disk.transport):
        yield reason("remote", f"belongs to another host's storage: reached by {disk.transport}; others may use it too")
    zoned = read_text(folder / "queue/zoned") or "none"
    if zoned != "none":
        yield reason("zoned", f"it is a zoned disk ({clean(zoned)})")


def is_remote(transport: str) -> bool:
    """Return True for a transport to other machines: NVMe over fabrics, iSCSI, Fibre Channel, SRP."""
    return transport in ("iscsi", "fc", "srp") or (transport.startswith("nvme-") and transport != "nvme-apple-nvme")


def check_held(disk: Disk, held: Mapping[str, str], run_id: str) -> Iterator[Reason]:
    """`held`: id, wwid or serial → the run that holds the disk. A run is not refused its own disks."""
    for key in (disk.wwid, disk.id):
        holder = held.get(key) if key else None
        if holder is not None and holder != run_id:
            text = f"held by run {holder}"
            yield reason("held", text, f"raidtui attach {holder}, raidtui cancel {holder} or raidtui recover {holder}")
            return
