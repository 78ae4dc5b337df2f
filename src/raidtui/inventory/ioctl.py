"""The few questions that only an ioctl answers. All of them read; none of them changes a disk."""

from __future__ import annotations

import ctypes
import fcntl
import struct

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
    """Capacity of an open block device; 0 once the disk is gone."""
    return int(struct.unpack("<Q", fcntl.ioctl(fd, BLKGETSIZE64, bytes(8)))[0])


def diskseq(fd: int) -> int | None:
    """The number of this appearance of the disk, or None on kernels before 5.15."""
    try:
        return int(struct.unpack("<Q", fcntl.ioctl(fd, BLKGETDISKSEQ, bytes(8)))[0])
    except OSError:
        return None


def loop_backing(fd: int) -> tuple[int, int]:
    """Two device numbers of an open loop device: the filesystem that its file or node is on, and the device of its node.

    0 for what does not apply. Raises OSError: ENXIO where the loop device has no backing file.
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
    """Whether an NVMe namespace promises zeroes from deallocated blocks (DLFEAT of Identify Namespace)."""
    nsid = fcntl.ioctl(fd, NVME_IOCTL_ID)
    return _nvme_admin(fd, 0x06, nsid, 4096, 0)[33] & 0b111 == 0b001


def nvme_health(fd: int) -> tuple[float | None, float | None]:
    """Temperature in °C and used endurance in percent, from the SMART log of an NVMe controller."""
    return parse_smart_log(_smart_log(fd))


def nvme_heat(fd: int) -> tuple[bool, int] | None:
    """Whether an NVMe controller is too hot now, and for how many seconds it was slowed down by heat so far."""
    return parse_heat(_smart_log(fd))


def _smart_log(fd: int) -> bytes:
    length = 512
    return _nvme_admin(fd, 0x02, 0xFFFFFFFF, length, (length // 4 - 1) << 16 | 0x02)


def parse_heat(log: bytes) -> tuple[bool, int] | None:
    """From an NVMe SMART log (NVM Express Base Specification, SMART / Health Information); None where it says nothing.

    Bit 1 of the critical warning is a temperature beyond its limits. The composite temperature's time above its limits is
    in minutes (warning at byte 192, critical at 196), that of thermal management, light and heavy, in seconds (224, 228).
    """
    if len(log) < 232 or not any(log):
        return None
    minutes = sum(int.from_bytes(log[at : at + 4], "little") for at in (192, 196))
    seconds = sum(int.from_bytes(log[at : at + 4], "little") for at in (224, 228))
    return bool(log[0] & 0b10), 60 * minutes + seconds


def parse_smart_log(log: bytes) -> tuple[float | None, float | None]:
    """Composite temperature and percentage used of an NVMe SMART log; an all-zero log says nothing."""
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


def scsi_reservation_keys(fd: int) -> tuple[str, ...]:
    """Keys that hosts have registered on a SCSI disk (PERSISTENT RESERVE IN). Empty where the disk knows no such thing."""
    length = 512
    data = ctypes.create_string_buffer(length)
    sense = ctypes.create_string_buffer(32)
    cdb = ctypes.create_string_buffer(bytes([0x5E, 0, 0, 0, 0, 0, 0, length >> 8, length & 0xFF, 0]), 10)
    header = _SgIoHeader(
        interface_id=ord("S"), direction=-3, cmd_len=10, mx_sb_len=32, dxfer_len=length,
        dxferp=ctypes.addressof(data), cmdp=ctypes.addressof(cdb), sbp=ctypes.addressof(sense), timeout_ms=5000,
    )  # fmt: skip
    fcntl.ioctl(fd, SG_IO, header)
    return () if header.status or header.host_status else parse_reservation_keys(data.raw)


def parse_reservation_keys(page: bytes) -> tuple[str, ...]:
    """The keys of a READ KEYS answer, in hex."""
    count = int.from_bytes(page[4:8], "big") // 8
    keys = (page[8 + 8 * i : 16 + 8 * i] for i in range(min(count, (len(page) - 8) // 8)))
    return tuple(f"0x{key.hex()}" for key in keys)
