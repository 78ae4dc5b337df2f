"""A disk: a whole physical block device, known by its identity and never by a kernel name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reason why a disk is not free. `code` is stable and known to `raidtui explain`."""

    code: str
    message: str
    """One sentence naming what was found and where: `mounted on /srv (ext4, nvme0n1p1)`."""
    remedy: str = ""
    system: bool = False
    """True if the running system itself uses the disk: such a disk can never be freed."""


class Look(msgspec.Struct, frozen=True, omit_defaults=True):
    """Extent of the search for data on a blank disk. Data between the samples was not seen."""

    places: int
    """Number of samples, at random positions in equal parts of the disk."""
    read_bytes: int
    gap_bytes: int
    """The longest piece of which nothing was read: data in one piece longer than this would have been found."""
    allocated_bytes: int | None = None
    """Bytes that the disk itself reports as allocated, where it can tell: only these were searched further."""


class Link(msgspec.Struct, frozen=True):
    """A PCIe link. Speeds in GT/s."""

    speed_gts: float | None
    width: int | None
    max_speed_gts: float | None
    max_width: int | None

    @property
    def below_maximum(self) -> bool:
        """True if the link runs slower or narrower than both ends support."""
        slower = None not in (self.speed_gts, self.max_speed_gts) and self.speed_gts < self.max_speed_gts  # type: ignore[operator]
        narrower = None not in (self.width, self.max_width) and self.width < self.max_width  # type: ignore[operator]
        return slower or narrower


class Disk(msgspec.Struct, frozen=True):
    """One disk as it was found at one moment. Unknown values are None, never 0."""

    id: str
    """Name of the disk everywhere in raidtui: its serial number if that is unique on the server, else its WWN."""
    name: str
    """The kernel's name at this moment (`nvme3n1`); never an identity."""
    size_bytes: int
    serial: str
    wwid: str
    """The kernel's worldwide identifier (`eui.…`, `naa.…`, `nvme.…`), as sysfs gives it."""
    model: str
    firmware: str = ""
    transport: str = ""
    """`nvme`, `sata`, `sas`, `scsi`, `virtio`, `usb`, … or empty."""
    rotational: bool | None = None
    logical_sector_bytes: int = 512
    physical_sector_bytes: int = 512
    diskseq: int | None = None
    """The kernel's number for this appearance of the disk: changes with every re-plug, even under the same name."""
    major: int = 0
    minor: int = 0
    numa_node: int | None = None
    link: Link | None = None
    temperature_c: float | None = None
    wear_percent: float | None = None
    """Share of the rated endurance that is used up."""
    discard: bool = False
    """The disk accepts discards (TRIM, UNMAP, deallocate)."""
    scheduler: str | None = None
    write_cache: str | None = None
    """`write back` or `write through`, as the kernel drives it."""
    reasons: tuple[Reason, ...] = ()
    """Reasons why this disk is not free; empty means free."""
    look: Look | None = None
    """Extent of the search that found the disk blank; None if it is not blank or was not searched."""

    @property
    def free(self) -> bool:
        return not self.reasons

    @property
    def path(self) -> str:
        return f"/dev/{self.name}"

    @property
    def kind(self) -> str:
        """`nvme`, `ssd` or `hdd`."""
        if self.transport == "nvme":
            return "nvme"
        return "hdd" if self.rotational else "ssd"


def lasting(disks: Iterable[Disk]) -> tuple[Disk, ...]:
    """The disks without what drifts while nothing happens to them: temperature and wear."""
    return tuple(msgspec.structs.replace(disk, temperature_c=None, wear_percent=None) for disk in disks)


class Fingerprint(msgspec.Struct, frozen=True, omit_defaults=True):
    """Properties to which a plan is bound: they, not the kernel name, identify a disk."""

    id: str
    """A disk of another host has its host before it: `clients-1:S4EV…`."""
    serial: str
    wwid: str
    model: str
    size_bytes: int
    logical_sector_bytes: int
    diskseq: int | None
    boot_id: str
    host: str = ""
    """Host that has the disk (`plan.Host.ref`); empty for the storage server."""


def names_of(disk: Disk | Fingerprint) -> set[str]:
    """Return the words that an operator may use for a disk: id, serial, WWN, and the WWN without `eui.` or `naa.`.

    A disk of another host has its host before each of them.
    """
    words = {disk.serial, disk.wwid, disk.wwid.partition(".")[2]} - {""}
    host = disk.host if isinstance(disk, Fingerprint) else ""
    return {disk.id, *(on_host(host, word) for word in words)}


def on_host(host: str, name: str) -> str:
    """Return the name of a disk or role of a host, as plans have it: `clients-1:S4EV…`; the storage server's as it is."""
    return f"{host}:{name}" if host else name


def host_of(name: str) -> str:
    """Return the host in a name that `on_host` made of a role; empty for the storage server."""
    return name.rpartition(":")[0]


def plain_role(name: str) -> str:
    """Return the role in a name that `on_host` made."""
    return name.rpartition(":")[2]


def fingerprint(disk: Disk, boot_id: str, host: str = "") -> Fingerprint:
    """The fingerprint of `disk` in the boot `boot_id` (`/proc/sys/kernel/random/boot_id`) of a host."""
    return Fingerprint(
        disk.id, disk.serial, disk.wwid, disk.model, disk.size_bytes, disk.logical_sector_bytes, disk.diskseq, boot_id, host
    )


def link_bytes_per_s(disks: Sequence[Disk]) -> float | None:
    """Return the sum of the PCIe links of these disks in one direction; None if one of them is unknown.

    Lanes × GT/s × encoding: 8b/10b up to 5 GT/s, 128b/130b from 8. Only NVMe disks have a link of their own: others share
    their controller's. Namespaces of one controller (the same serial) share its link.
    """
    links = {}
    for disk in disks:
        link = disk.link
        if disk.transport != "nvme" or link is None or link.speed_gts is None or link.width is None:
            return None
        encoding = 0.8 if link.speed_gts <= 5 else 128 / 130
        links[disk.serial or disk.id] = link.speed_gts * 1e9 * link.width * encoding / 8
    return sum(links.values()) if links else None
