"""The checks of a disk: functions that yield the reasons why it is not free.

Those in `CHECKS` are pure functions of a census. Identity, kind and runs are called by `scan.py:_known`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.inventory.blocks import Node
from raidtui.inventory.census import Census
from raidtui.inventory.hardware import hardware_folder
from raidtui.inventory.reasons import reason, unchecked
from raidtui.inventory.stacked import lvm_group
from raidtui.model.disk import Disk, Reason

SYSTEM_POINTS = frozenset({"/", "/boot", "/boot/efi", "/efi", "/usr", "/var", "/var/lib", "/var/log", "/etc"})


def check_system(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk with root, boot, swap, hibernation or raidtui's own state on it, through any stack."""
    uses: dict[str, None] = {}
    for mount in census.mounts:
        if not mount.namespace and mount.point in SYSTEM_POINTS and disk in census.disks_of_mount(mount):
            uses[mount.point] = None
    for label, devno in census.boot.items():
        if disk in census.blocks.disks_below(devno):
            uses[label] = None
    for folder in census.own_folders:
        if disk in census.disks_of_path(folder):
            uses[folder] = None
    if uses:
        text = f"the running system stands on it: {', '.join(uses)}"
        yield reason("system", text, system=True)


def check_mounts(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk below a mounted filesystem, in any mount namespace, or in a mounted btrfs of several devices."""
    seen = set()
    for mount in census.mounts:
        if disk not in census.disks_of_mount(mount) or (mount.point, mount.source) in seen:
            continue
        seen.add((mount.point, mount.source))
        where = f" in the mount namespace of {mount.namespace}" if mount.namespace else ""
        text = f"mounted on {mount.point} ({mount.kind}, {mount.source.removeprefix('/dev/')}){where}"
        remedy = f"umount {quote(mount.point)}"
        if mount.namespace:
            remedy = f"nsenter -t {mount.namespace.split()[1]} -m {remedy}"
        yield reason("mounted", text, remedy)
    if not seen:
        for group in census.btrfs:
            if disk in census.disks_of_names(group.devices):
                text = f"member of the mounted btrfs filesystem {group.name}"
                yield reason("mounted", text, f"umount {quote(group.name)}")


def check_swap(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk below a swap device or swap file in use."""
    for swap in census.swaps:
        if disk in census.disks_of_path(swap.path):
            yield reason("swap", f"swap {swap.kind} {swap.path} is in use", f"swapoff {quote(swap.path)}")


def check_loops(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that has the data of a loop device."""
    for name, loop in census.loops.items():
        # The path is asked only where the numbers lead to no disk: a file on btrfs, of which every subvolume has its own.
        below = frozenset[str]().union(*map(census.disks_of_number, loop.devices))
        if disk in (below or census.disks_of_path(loop.backing)):
            yield reason("loop", f"/dev/{name} has its data in {loop.backing} on this disk", f"losetup -d /dev/{name}")


def check_holders(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk on which, or on a partition of which, a device stands that no other check explains."""
    explained = {array.name for array in census.arrays} | {mapping.node for mapping in census.mappings}
    for node in census.blocks.family(disk):
        for holder in node.holders:
            if holder not in explained and not holder.startswith("bcache"):
                yield reason("holder", f"/dev/{holder} stands on {node.name}", f"lsblk {node.path}")


def check_partitions(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk of which the kernel knows partitions."""
    if names := [node.name for node in census.blocks.partitions(disk)]:
        yield partitions_reason(disk, names)


def partitions_reason(disk: str, names: Sequence[str], *, table: bool = True) -> Reason:
    """Return the reason for partitions that the kernel knows. `table`: they come from a partition table on the disk."""
    count = f"{len(names)} partition" + ("s" if len(names) > 1 else "")
    text = f"has {count}: {', '.join(names[:4])}{' …' if len(names) > 4 else ''}"
    if table:
        return reason("partitions", text, f"if nobody needs them: sfdisk --delete /dev/{disk}")
    remedy = f"if nobody needs them: partx -d /dev/{disk}"
    return reason("partitions", f"{text}, known to the kernel only: no partition table is on the disk", remedy)


def check_md(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that an md array has, by itself or by a partition, running or inactive."""
    for array in census.arrays:
        for node in census.blocks.family(disk):
            if node.name not in array.members:
                continue
            role = "spare" if "spare" in array.members[node.name] else "member"
            if array.running:
                text = f"{role} of md array /dev/{array.name} ({array.level or 'no level'}, {array.state}) by {node.name}"
                yield reason("md-active", text, f"mdadm --stop /dev/{array.name}")
            else:
                text = f"held by inactive md array /dev/{array.name} by {node.name}"
                yield reason("md-inactive", text, f"mdadm --stop /dev/{array.name}")


def check_mappings(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk on which a device-mapper device stands: LVM, dm-crypt, multipath or another one."""
    for mapping in census.mappings:
        node = census.blocks.nodes.get(mapping.node)
        below = [name for name in (node.slaves if node else ()) if name in {n.name for n in census.blocks.family(disk)}]
        if not below:
            continue
        where = f"by {', '.join(below)}"
        if mapping.uuid.startswith("LVM-"):
            vg = lvm_group(mapping.name)
            yield reason("lvm-active", f"LVM volume {mapping.name} is active {where}", f"vgchange -an {quote(vg)}")
        elif mapping.uuid.startswith("CRYPT-"):
            text = f"encrypted volume {mapping.name} is open {where}"
            yield reason("dm-crypt", text, f"cryptsetup close {quote(mapping.name)}")
        elif mapping.uuid.startswith("mpath-"):
            text = f"path of multipath device {mapping.name} {where}"
            yield reason("multipath", text, f"multipath -f {quote(mapping.name)}")
        else:
            text = f"device-mapper device {mapping.name} stands on it {where}"
            yield reason("device-mapper", text, f"dmsetup remove {quote(mapping.name)}")


def check_volumes(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that is a physical volume of LVM, in a volume group or in none."""
    for volume in census.volumes:
        node = census.blocks.by_devno.get(census.resolved.get(volume.path, -1))
        if node is None or node.disk != disk:
            continue
        if volume.group:
            text = f"physical volume of volume group {volume.group} by {node.name}"
            active = any(m.uuid.startswith("LVM-") and lvm_group(m.name) == volume.group for m in census.mappings)
            remedy = f"if nobody needs it: vgremove {quote(volume.group)} && pvremove {node.path}"
            if active:
                remedy = f"its volumes are active on other disks; if nobody uses them: vgchange -an {quote(volume.group)}"
            yield reason("lvm-vg", text, remedy)
        else:
            yield reason("lvm-pv", f"LVM physical volume {volume.uuid} on {node.name}",
                         f"if nobody needs it: pvremove {node.path}")  # fmt: skip


def check_multipath(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that /etc/multipath/wwids lists, whether or not a map stands on it now."""
    wwid = census.wwids.get(disk, "").lower()
    digits = wwid.removeprefix("naa.").removeprefix("eui.")
    for known in census.multipath_wwids:
        if wwid and known.lower() in (wwid, digits, f"3{digits}", f"2{digits}"):
            yield reason("multipath", f"listed in /etc/multipath/wwids as {known}", f"multipath -w {disk}")


def check_pools(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that is a device of an imported ZFS pool."""
    for pool in census.pools:
        for path in pool.devices:
            if disk in census.disks_of_path(path):
                text = f"in imported ZFS pool {pool.name} by {path.removeprefix('/dev/')}"
                yield reason("zfs-imported", text, f"zpool export {pool.name}")


def check_bcache(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that is registered with bcache, as cache or backing device."""
    for node in census.blocks.family(disk):
        if node.name in census.bcache:
            yield reason("bcache", f"{node.name} is registered with bcache", f"echo 1 > {census.bcache[node.name]}")


def check_shares(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that a target offers to other hosts; every disk if an active target's device is unknown."""
    for share in census.shares:
        if disk in census.disks_of_path(share.path).union(*map(census.disks_of_number, share.devices)):
            path = f" ({share.path})" if share.path else ""
            yield reason("shared", f"offered to other hosts: {share.by}{path}")
        elif share.active and share.path not in census.resolved:
            yield unchecked("targets", f"{share.by} exports {share.path}, which does not exist any more")


def check_udev(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that udev has no record of, or that its rules mark as a path, not ready, ignored or ambivalent."""
    if "udev" in census.failures:
        return
    flags = census.udev.get(disk)
    if flags is None:
        text = "udev has no record of this disk (is systemd-udevd running?)"
        yield reason("unchecked", text, "udevadm settle, then look again")
        return
    if flags.get("DM_MULTIPATH_DEVICE_PATH") == "1":
        yield reason("multipath", "udev marks it as a path of a multipath device", f"multipath -w {disk}")
    if flags.get("SYSTEMD_READY") == "0":
        yield reason("reserved", "udev marks it as not ready (SYSTEMD_READY=0)")
    if flags.get("UDISKS_IGNORE") == "1":
        yield reason("reserved", "a udev rule sets it aside (UDISKS_IGNORE=1)")
    if flags.get("ID_FS_AMBIVALENT"):
        yield reason("signature", f"several filesystems at once: {flags['ID_FS_AMBIVALENT']}", f"wipefs /dev/{disk}")


def check_openers(disk: str, census: Census) -> Iterator[Reason]:
    """Refuse a disk that a process has open, by itself or by a partition."""
    for node in census.blocks.family(disk):
        for opener in census.openers.get(node.devno, ()):
            how = f", {opener.how}" if opener.how else ""
            text = f"{node.name} is open in pid {opener.pid} ({opener.command}){how}"
            yield reason("open", text, f"end pid {opener.pid} ({opener.command})")


def check_identity(disk: Disk, disks: Sequence[Disk]) -> Iterator[Reason]:
    """Refuse a disk without serial number and worldwide name, or with those of another disk."""
    if not disk.id.startswith("?"):
        return
    if not disk.serial and not disk.wwid:
        yield reason("no-identity", "reports neither a serial number nor a worldwide name")
        return
    same = [d.name for d in disks if d.name != disk.name and {d.serial, d.wwid} & ({disk.serial, disk.wwid} - {""})]
    text = f"has the same identity ({disk.wwid or disk.serial}) as {', '.join(same[:4])}"
    yield reason("duplicate-identity", text)


def check_kind(disk: Disk, node: Node) -> Iterator[Reason]:
    """Refuse a disk without capacity or diskseq, not in service, write-protected, removable, remote or zoned."""
    folder = Path(node.folder)
    if disk.size_bytes <= 0:
        yield reason("no-medium", "the kernel reports a size of 0 bytes")
    if disk.diskseq is None:
        yield unchecked("the disk's identity", "the kernel gives no diskseq (Linux 5.15 and later do)")
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
    """Refuse a disk that another run holds. `held`: the run that holds a disk, by the disk's id, wwid or serial."""
    for key in (disk.wwid, disk.id):
        holder = held.get(key) if key else None
        if holder is not None and holder != run_id:
            text = f"held by run {holder}"
            yield reason("held", text, f"raidtui attach {holder}, raidtui cancel {holder} or raidtui recover {holder}")
            return


Check = Callable[[str, Census], Iterator[Reason]]
CHECKS: dict[str, Check] = {
    "system": check_system,
    "mounts": check_mounts,
    "swap": check_swap,
    "md": check_md,
    "device-mapper": check_mappings,
    "lvm": check_volumes,
    "multipath": check_multipath,
    "zfs": check_pools,
    "bcache": check_bcache,
    "loop": check_loops,
    "holders": check_holders,
    "targets": check_shares,
    "udev": check_udev,
    "open": check_openers,
    "partitions": check_partitions,
}
