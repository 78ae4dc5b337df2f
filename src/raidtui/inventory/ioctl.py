"""Properties of disks that only an ioctl reports. Every ioctl here reads; none changes a disk."""

from __future__ import annotations

import ctypes
import fcntl
import struct
from typing import NamedTuple

BLKGETSIZE64 = 0x80081272
BLKGETDISKSEQ = 0x80081280
NVME_IOCTL_ID = 0x4E40
NVME_IOCTL_ADMIN_CMD = 0xC0484E41
SG_IO = 0x2285
LOOP_GET_STATUS64 = 0x4C05

_NVME_COMMAND = struct.Struct("<BBHIIIQQIIIIIIIIII")
_KELVIN = 273
_LOOP_INFO_BYTES = 232


def size_bytes(fd: int) -> int:
    """Return the capacity of an open block device; 0 once the disk is gone."""
    return int(struct.unpack("<Q", fcntl.ioctl(fd, BLKGETSIZE64, bytes(8)))[0])


def diskseq(fd: int) -> int | None:
    """Return the sequence number that the kernel gave the disk when it appeared; None on kernels before 5.15."""
    try:
        return int(struct.unpack("<Q", fcntl.ioctl(fd, BLKGETDISKSEQ, bytes(8)))[0])
    except OSError:
        return None


def loop_backing(fd: int) -> tuple[int, int]:
    """Return two device numbers of an open loop device: of its file's filesystem, and of the block device behind it.

    0 for what does not apply. Raises OSError: ENXIO if the loop device has no backing file.
    """
    status = fcntl.ioctl(fd, LOOP_GET_STATUS64, bytes(_LOOP_INFO_BYTES))
    device, _, behind = struct.unpack_from("<QQQ", status)
    return device, behind


def _nvme_admin(fd: int, opcode: int, nsid: int, length: int, cdw10: int) -> bytes:
    data = ctypes.create_string_buffer(length)
    command = _NVME_COMMAND.pack(opcode, 0, 0, nsid, 0, 0, 0, ctypes.addressof(data), 0, length, cdw10, 0, 0, 0, 0, 0, 0, 0)
    if status := fcntl.ioctl(fd, NVME_IOCTL_ADMIN_CMD, bytearray(command)):
        raise OSError(f"the NVMe controller answered with status {status:#x}")
    return data.raw


def nvme_reads_zero_after_discard(fd: int) -> bool:
    """Return True if an NVMe namespace promises zeroes from deallocated blocks (DLFEAT of Identify Namespace)."""
    nsid = fcntl.ioctl(fd, NVME_IOCTL_ID)
    return _nvme_admin(fd, 0x06, nsid, 4096, 0)[33] & 0b111 == 0b001


def nvme_health(fd: int) -> tuple[float | None, float | None]:
    """Return temperature in °C and used endurance in percent, from the SMART log of an NVMe controller."""
    return parse_smart_log(_smart_log(fd))


class Overheating(NamedTuple):
    """Heat of an NVMe controller now and in its life. The two times may overlap, and are not added."""

    too_hot: bool
    """True if a temperature is beyond its limits now."""
    slowed_s: int
    """Seconds in which it slowed itself down to cool (thermal management, light and heavy)."""
    over_minutes: int
    """Minutes in which its composite temperature was at or above the warning threshold."""


def nvme_heat(fd: int) -> Overheating | None:
    """Return the heat of an NVMe controller; None if its SMART log is empty."""
    return parse_heat(_smart_log(fd))


def _smart_log(fd: int) -> bytes:
    length = 512
    return _nvme_admin(fd, 0x02, 0xFFFFFFFF, length, (length // 4 - 1) << 16 | 0x02)


def parse_heat(log: bytes) -> Overheating | None:
    """Parse the heat of an NVMe SMART log; None if the log is empty.

    NVM Express Base Specification, SMART / Health Information (log page 02h): bit 1 of Critical Warning; Warning and
    Critical Composite Temperature Time in minutes (bytes 192 and 196; the first ends where the second begins); Total Time
    For Thermal Management Temperature 1 and 2 in seconds (224 and 228).
    """
    if len(log) < 232 or not any(log):
        return None
    minutes = sum(int.from_bytes(log[at : at + 4], "little") for at in (192, 196))
    seconds = sum(int.from_bytes(log[at : at + 4], "little") for at in (224, 228))
    return Overheating(bool(log[0] & 0b10), seconds, minutes)


def parse_smart_log(log: bytes) -> tuple[float | None, float | None]:
    """Parse composite temperature and percentage used of an NVMe SMART log; None and None for a log of zeroes."""
    if len(log) < 6 or not any(log):
        return None, None
    kelvin = int.from_bytes(log[1:3], "little")
    return (float(kelvin - _KELVIN) if kelvin else None), float(log[5])


class _SgIoHeader(ctypes.Structure):
    _fields_ = (
        ("interface_id", ctypes.c_int), ("direction", ctypes.c_int), ("cmd_len", ctypes.c_ubyte),
        ("mx_sb_len", ctypes.c_ubyte), ("iovec_count", ctypes.c_ushort), ("dxfer_len", ctypes.c_uint),
        ("dxferp", ctypes.c_void_p), ("cmdp", ctypes.c_void_p), ("sbp", ctypes.c_void_p),
        ("timeout_ms", ctypes.c_uint), ("flags", ctypes.c_uint), ("pack_id", ctypes.c_int),
        ("usr_ptr", ctypes.c_void_p), ("status", ctypes.c_ubyte), ("masked_status", ctypes.c_ubyte),
        ("msg_status", ctypes.c_ubyte), ("sb_len_wr", ctypes.c_ubyte), ("host_status", ctypes.c_ushort),
        ("driver_status", ctypes.c_ushort), ("resid", ctypes.c_int), ("duration", ctypes.c_uint), ("info", ctypes.c_uint),
    )  # fmt: skip


def _scsi_read(fd: int, command: bytes, length: int) -> bytes | None:
    """Return the disk's answer of up to `length` bytes to a SCSI command that reads; None if the disk refuses it."""
    data = ctypes.create_string_buffer(length)
    sense = ctypes.create_string_buffer(32)
    cdb = ctypes.create_string_buffer(command, len(command))
    header = _SgIoHeader(
        interface_id=ord("S"), direction=-3, cmd_len=len(command), mx_sb_len=32, dxfer_len=length,
        dxferp=ctypes.addressof(data), cmdp=ctypes.addressof(cdb), sbp=ctypes.addressof(sense), timeout_ms=5000,
    )  # fmt: skip
    fcntl.ioctl(fd, SG_IO, header)
    return None if header.status or header.host_status else data.raw


def scsi_reservation_keys(fd: int) -> tuple[str, ...]:
    """Return the keys that hosts have registered on a SCSI disk (PERSISTENT RESERVE IN); empty if it has none."""
    length = 512
    page = _scsi_read(fd, bytes([0x5E, 0, 0, 0, 0, 0, 0, length >> 8, length & 0xFF, 0]), length)
    return () if page is None else parse_reservation_keys(page)


def parse_reservation_keys(page: bytes) -> tuple[str, ...]:
    """Parse the keys of a READ KEYS answer, in hex."""
    count = int.from_bytes(page[4:8], "big") // 8
    keys = (page[8 + 8 * i : 16 + 8 * i] for i in range(min(count, (len(page) - 8) // 8)))
    return tuple(f"0x{key.hex()}" for key in keys)


_MOST_LBA_STATUS_CALLS = 256


def scsi_allocated(fd: int) -> tuple[tuple[int, int], ...] | None:
    """Return the extents (offset, length in bytes) in which a SCSI disk keeps data; None if it does not report them.

    A disk tells it by GET LBA STATUS (SBC-3) if it is thinly provisioned and reads zeroes where nothing is allocated. A
    disk that needs more than 256 answers counts as one that does not report them.
    """
    try:
        capacity = _scsi_read(fd, bytes([0x9E, 0x10, *bytes(8), *(32).to_bytes(4, "big"), 0, 0]), 32)
        if capacity is None or not (blocks := parse_thin_capacity(capacity)):
            return None
        count, block_bytes = blocks
        extents: list[tuple[int, int]] = []
        at, length = 0, 8 + 16 * 512
        for _ in range(_MOST_LBA_STATUS_CALLS):
            page = _scsi_read(fd, bytes([0x9E, 0x12, *at.to_bytes(8, "big"), *length.to_bytes(4, "big"), 0, 0]), length)
            if page is None:
                return None
            statuses = parse_lba_status(page)
            if not statuses or statuses[0][0] > at:
                return None
            extents += [(lba * block_bytes, blocks * block_bytes) for lba, blocks, holds in statuses if holds]
            after = statuses[-1][0] + statuses[-1][1]
            if after >= count:
                return tuple(extents)
            if after <= at:
                return None
            at = after
    except OSError:  # not a SCSI disk, or one that does not take the command
        return None
    return None


def parse_thin_capacity(page: bytes) -> tuple[int, int] | None:
    """Parse number and length of the blocks, from READ CAPACITY (16), of a thinly provisioned disk (LBPME) that reads
    zeroes from blocks that are not allocated (LBPRZ); None for any other.
    """
    if len(page) < 15 or page[14] & 0b1100_0000 != 0b1100_0000:
        return None
    return int.from_bytes(page[:8], "big") + 1, int.from_bytes(page[8:12], "big")


def parse_lba_status(page: bytes) -> list[tuple[int, int, bool]]:
    """Parse GET LBA STATUS: first block and number of blocks of each descriptor; False if they are deallocated."""
    end = min(len(page), 4 + int.from_bytes(page[:4], "big"))
    found = []
    for at in range(8, end - 15, 16):
        lba, blocks = int.from_bytes(page[at : at + 8], "big"), int.from_bytes(page[at + 8 : at + 12], "big")
        found.append((lba, blocks, page[at + 12] & 0x0F != 1))
    return found
