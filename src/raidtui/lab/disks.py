"""Disks of a lab: their specification, their identity, and the sparse files that hold their data."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from raidtui.model.problem import ProblemError, Refusal, fail

LAB_DISKS: Final = Refusal(
    "lab.disks",
    "The disks of the lab are not valid",
    "--disks is a list of COUNTxSIZE[:KIND][@SECTOR]. A lab has room for 28 NVMe (each client takes the "
    "place of one) and 64 SCSI disks of 1 MiB to 16 TiB.",
    "For example: --disks 6x8G,2x16G:hdd,1x4G:ssd@4096.",
)
LAB_LIKE: Final = Refusal(
    "lab.like",
    "The list of disks cannot be used",
    "--like takes the JSON that `raidtui disks --json` prints, from a file or (-) from stdin.",
    "Run `raidtui disks --json > disks.json` on the server, then `raidtui lab up --like disks.json`.",
)

Item = TypeVar("Item")

DEFAULT_SPEC: Final = "6x8G"
MAX_NVME: Final = 28
MAX_SCSI: Final = 64
_UNIT_BYTES: Final = {"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_GROUP: Final = re.compile(r"(\d{1,3})x(\d{1,6})([MGT])(?:i?B)?(?::(nvme|ssd|hdd))?(?:@(512|4096))?")
_MODELS: Final = {"nvme": "QEMU NVMe Ctrl", "ssd": "RTLAB SSD", "hdd": "RTLAB HDD"}


class DiskSpec(msgspec.Struct, frozen=True):
    """Requested properties of a disk."""

    size_bytes: int
    kind: str = "nvme"
    """`nvme`, `ssd` (SCSI, discards) or `hdd` (SCSI, rotational, no discards)."""
    sector_bytes: int = 512


class LabDisk(msgspec.Struct, frozen=True):
    """A disk of a lab. Its identity survives unplugging and rebooting."""

    serial: str
    spec: DiskSpec
    port: int
    """NVMe: the number of its PCIe port. SCSI: its target number."""
    wwn: int = 0
    """SCSI only: the NAA name, as a number."""

    @property
    def node(self) -> str:
        """Name of the block node and of the device in QEMU."""
        return f"disk-{self.serial.rsplit('-', 1)[-1]}"

    @property
    def file_name(self) -> str:
        return f"{self.serial}.raw"

    @property
    def model(self) -> str:
        return _MODELS[self.spec.kind]


def parse_spec(text: str) -> list[DiskSpec]:
    """Parse `6x8G,2x16G:hdd,1x4G:ssd@4096` into one entry per disk. G is GiB. Raises ProblemError naming the bad part."""
    specs: list[DiskSpec] = []
    for part in filter(None, text.split(",")):
        match = _GROUP.fullmatch(part.strip())
        if match is None:
            raise _bad(part, "is not COUNTxSIZE[:KIND][@SECTOR]")
        count, number, unit, kind, sector = match.groups()
        spec = DiskSpec(int(number) * _UNIT_BYTES[unit], kind or "nvme", int(sector or 512))
        if not 1 << 20 <= spec.size_bytes <= 1 << 44:
            raise _bad(part, "is smaller than 1 MiB or larger than 16 TiB")
        specs += [spec] * int(count)
    return checked(specs)


def specs_like(data: bytes, place: str = "--like") -> list[DiskSpec]:
    """Return disks like those in the JSON of `raidtui disks`: count, size, kind and sector size. Raises ProblemError.

    Sizes are kept: the files are sparse.
    """
    try:
        listed = msgspec.json.decode(data)
        found = listed["disks"] if isinstance(listed, dict) else listed
        disks = [msgspec.convert(item, _Listed) for item in found]
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise fail(LAB_LIKE, f"is not what raidtui disks --json prints: {error}", place=place) from error
    return checked([disk.spec() for disk in disks if not any(reason.get("system") for reason in disk.reasons)])


class _Listed(msgspec.Struct):
    """The part of a listed disk that a lab can imitate."""

    size_bytes: int
    transport: str = ""
    rotational: bool | None = None
    logical_sector_bytes: int = 512
    reasons: list[dict[str, Any]] = []

    def spec(self) -> DiskSpec:
        kind = "nvme" if self.transport == "nvme" else "hdd" if self.rotational else "ssd"
        size = max(1 << 20, min(self.size_bytes, 1 << 44))
        return DiskSpec(size - size % 4096, kind, 4096 if self.logical_sector_bytes == 4096 else 512)


def checked(specs: Sequence[DiskSpec], links: int = 0) -> list[DiskSpec]:
    """Return the specifications. Raises ProblemError if a host with so many links has no room for so many disks."""
    nvme, most = sum(spec.kind == "nvme" for spec in specs), MAX_NVME - links
    if nvme > most or len(specs) - nvme > MAX_SCSI:
        raise _bad(f"{nvme} NVMe and {len(specs) - nvme} SCSI disks", f"are more than {most} and {MAX_SCSI}")
    return list(specs)


def make_disk(lab_name: str, number: int, port: int, spec: DiskSpec) -> LabDisk:
    """Return the `number`th disk of a lab, with an identity that no disk of another lab has."""
    digest = hashlib.sha256(lab_name.encode()).hexdigest()[:8].upper()
    wwn = 0 if spec.kind == "nvme" else (0x5 << 60) | (int(digest, 16) << 12) | number
    return LabDisk(f"RTLAB-{digest}-{number:02d}", spec, port, wwn)


def name_disks(lab_name: str, specs: Sequence[DiskSpec]) -> list[LabDisk]:
    """Return the first disks of a lab, with identities and ports.

    Ports are random: the kernel numbers disks by port, and no test may rely on names in the order of serials.
    """
    disks: list[LabDisk] = []
    for kinds in (("nvme",), ("ssd", "hdd")):
        chosen = [(number, spec) for number, spec in enumerate(specs, start=1) if spec.kind in kinds]
        for (number, spec), port in zip(chosen, mixed(range(len(chosen))), strict=True):
            disks.append(make_disk(lab_name, number, port, spec))
    return sorted(disks, key=lambda disk: disk.serial)


def free_port(disks: Sequence[LabDisk], kind: str, links: int = 0) -> int:
    """Return the lowest free port of that bus."""
    checked([*(disk.spec for disk in disks), DiskSpec(1 << 30, kind)], links)
    taken = {disk.port for disk in disks if (disk.spec.kind == "nvme") == (kind == "nvme")}
    return next(port for port in range(MAX_SCSI) if port not in taken)


def mixed(items: Iterable[Item]) -> list[Item]:
    """Return the items in an order that is neither the given one nor its reverse, if there is such an order."""
    given = list(items)
    order = given[:]
    while len(given) > 1 and (order == given or (len(given) > 2 and order == given[::-1])):
        random.SystemRandom().shuffle(order)
    return order


def _bad(part: str, why: str) -> ProblemError:
    return fail(LAB_DISKS, f"{part!r} {why}", place="--disks", remedy="write for example 6x8G,2x16G:hdd,1x4G:ssd@4096")


_BLOCK = 4096
_CHUNK = 4 << 20
_ZEROS = bytes(_CHUNK)


def make_sparse(path: Path, size_bytes: int) -> None:
    """Create a sparse file of zeroes."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(fd, size_bytes)
    finally:
        os.close(fd)


def content_hash(path: Path) -> str:
    """Return the SHA-256 of the size and of every 4 KiB block that is not zero, with its offset.

    A hole and written zeroes have the same hash, as they are the same to a guest.
    """
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        digest.update(b"%d\n" % os.fstat(file.fileno()).st_size)
        for offset, data in _written(file.fileno()):
            if data == _ZEROS[: len(data)]:
                continue
            for at in range(0, len(data), _BLOCK):
                block = data[at : at + _BLOCK]
                if block != _ZEROS[: len(block)]:
                    digest.update(b"%d\n" % (offset + at))
                    digest.update(block)
    return digest.hexdigest()


def is_zero(path: Path) -> bool:
    """Return True if a guest would read only zeroes."""
    with path.open("rb", buffering=0) as file:
        return all(data == _ZEROS[: len(data)] for _, data in _written(file.fileno()))


def _written(fd: int) -> Iterator[tuple[int, bytes]]:
    """Yield the file's data extents, cut at multiples of the block size, so that equal content gives equal blocks."""
    size = os.fstat(fd).st_size
    offset = 0
    while offset < size:
        try:
            start = os.lseek(fd, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        end = os.lseek(fd, start, os.SEEK_HOLE)
        start -= start % _BLOCK
        end = min(size, end + -end % _BLOCK)
        for at in range(max(start, offset), end, _CHUNK):
            yield at, os.pread(fd, min(_CHUNK, end - at), at)
        offset = end
