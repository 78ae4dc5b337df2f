"""bcache as reported by the kernel (Documentation/admin-guide/bcache.rst): registered devices, sets, statistics.

A device is known by the UUIDs in the superblocks: kernel names change hands. Everything here reads; most of these files
wait for the kernel's one lock of bcache, so that they are read by `bounded`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base.files import read_int, read_text
from raidtui.model.problem import ProblemError
from raidtui.stack.bcache import superblock
from raidtui.stack.bcache.command import FOLDER
from raidtui.stack.bcache.spec import BcacheDevice
from raidtui.stack.calls import bounded
from raidtui.stack.nodes import is_suspended, running

SYS_BLOCK: Final = Path("/sys/class/block")
SETS: Final = Path(FOLDER)
OTHERS_SILENCE_S: Final = 15.0
"""For a look at every device there is: one that hangs must not keep the others waiting."""
_UNITS: Final = "kMGTPEZY"


class Registered(NamedTuple):
    """One device that the kernel's bcache has taken."""

    name: str
    """Kernel name of the device."""
    folder: Path
    is_cache: bool
    set_uuid: str
    """UUID of its running set; empty without a set."""
    uuid: str
    """UUID of a backing device; empty for a cache device."""
    device: str
    """`bcache0`; empty for a cache device, and while a backing device waits for its cache."""


def registered(sys_block: Path = SYS_BLOCK) -> list[Registered]:
    """Return all devices, backing devices first: they are stopped first."""
    found = []
    for folder in sorted(sys_block.glob("*/bcache")):
        # The folder of the new device itself is a link to its backing device's.
        if folder.is_symlink() or not folder.is_dir():
            continue
        is_cache = not (folder / "cache_mode").exists()
        uuid = "" if is_cache else read_text(folder / "backing_dev_uuid") or ""
        device = "" if is_cache else _link(folder / "dev")
        of_set = _link(folder / ("set" if is_cache else "cache"))
        found.append(Registered(folder.parent.name, folder, is_cache, of_set, uuid, device))
    return sorted(found, key=lambda one: one.is_cache)


def uuids(cached: BcacheDevice) -> set[str]:
    """Return the superblock UUIDs of the devices of this step."""
    return {entry.uuid for entry in cached.devices}


def is_ours(found: superblock.Superblock | None, cached: BcacheDevice) -> bool:
    """Return True if this step created the superblock: it has the UUID of the set, or a planned one."""
    return found is not None and (found.set_uuid == cached.uuid or found.uuid in uuids(cached))


def ours(cached: BcacheDevice) -> list[Registered]:
    """The registered devices that this step made. Raises ProblemError (`stuck`)."""
    return bounded(lambda: [one for one in registered() if _belongs(one, cached)], "asking bcache")


def _belongs(one: Registered, cached: BcacheDevice) -> bool:
    if one.set_uuid == cached.uuid or one.uuid in uuids(cached):
        return True
    if one.set_uuid or one.is_cache:
        return False
    # A backing device without its set, and from before it had its own UUID: only its superblock knows.
    try:
        return is_ours(superblock.read(f"/dev/{one.name.replace('!', '/')}"), cached)
    except (OSError, ProblemError):
        return False


def strangers(cached: BcacheDevice, sets: Path = SETS, sys_block: Path = SYS_BLOCK) -> list[str]:
    """Return the foreign users of this step's cache: backing devices, and volumes that exist in the cache alone.

    A single device is this step's own even before it has the UUID that was planned, unless that is somewhere else.
    """
    folder = sets / str(cached.uuid)
    backing, own = sorted(folder.glob("bdev*")), cached.backing.uuid
    others = [one for one in backing if read_text(one / "backing_dev_uuid") != own]
    if len(backing) == 1 and others and all(found.uuid != own for found in _superblocks(sys_block)):
        others = []
    return [_owner(one) or one.name for one in (*others, *sorted(folder.glob("volume*")))]


def signatures(cached: BcacheDevice) -> Iterator[str]:
    """UUIDs of all superblocks of this step, as far as they can be read: those planned, and those not yet given."""
    yield from uuids(cached)
    yield from (found.uuid for found in _superblocks(SYS_BLOCK) if is_ours(found, cached))


def _superblocks(sys_block: Path) -> Iterator[superblock.Superblock]:
    """Yield the superblocks of all block devices."""
    for node in sorted(sys_block.iterdir()):
        if (read_int(node / "size") or 0) * 512 < 2 * superblock.OFFSET or is_suspended(node.name):
            continue
        try:
            found = superblock.read(f"/dev/{node.name.replace('!', '/')}", OTHERS_SILENCE_S)
        except (OSError, ProblemError):
            continue
        if found is not None:
            yield found


def set_folder(cached: BcacheDevice) -> Path:
    return SETS / str(cached.uuid)


def makers(set_uuid: str) -> list[int]:
    """Processes of make-bcache that work for this set."""
    return [pid for pid, argv in running("make-bcache") if set_uuid in argv]


def read_back(cached: BcacheDevice, sets: Path = SETS) -> dict[str, Any]:
    """Everything that can be asked for, and how it is doing; None where a file is not there (any more)."""
    folder = sets / cached.uuid
    backing, cache = folder / "bdev0", folder / "cache0"
    device = _link(backing / "dev")
    sectors = read_int(SYS_BLOCK / device / "size") if device else None
    return {
        "device": device or None,
        "backing": _owner(backing),
        "cache": _owner(cache),
        "backing_uuid": read_text(backing / "backing_dev_uuid"),
        "size_bytes": None if sectors is None else sectors * 512,
        "mode": chosen(read_text(backing / "cache_mode")),
        "state": read_text(backing / "state"),
        "running": read_int(backing / "running"),
        "dirty_bytes": from_hprint(read_text(backing / "dirty_data")),
        "io_errors": read_int(backing / "io_errors"),
        "cache_io_errors": read_int(cache / "io_errors"),
        "sequential_cutoff": read_text(backing / "sequential_cutoff"),
        "readahead_cache_policy": chosen(read_text(backing / "readahead_cache_policy")),
        "writeback_percent": read_int(backing / "writeback_percent"),
        "writeback_delay": read_int(backing / "writeback_delay"),
        "bucket_size": read_text(cache / "bucket_size"),
        "block_size": read_text(cache / "block_size"),
        "nbuckets": read_int(cache / "nbuckets"),
        "replacement": chosen(read_text(cache / "cache_replacement_policy")),
        "discard": read_int(cache / "discard"),
        "congested_read_threshold_us": read_int(folder / "congested_read_threshold_us"),
        "congested_write_threshold_us": read_int(folder / "congested_write_threshold_us"),
        "available_percent": read_int(folder / "cache_available_percent"),
        "stats": stats(backing),
    }


def stats(folder: Path) -> dict[str, int | None]:
    """Since it was registered: requests that were hits, misses or went past it, and the share of hits in percent.

    The kernel adds them up every 14 seconds (drivers/md/bcache/stats.c), so that the last of them may be missing.
    """
    names = ("cache_hits", "cache_misses", "cache_bypass_hits", "cache_bypass_misses", "cache_hit_ratio")
    found = {name: read_int(folder / "stats_total" / name) for name in names}
    return {**found, "bypassed_bytes": from_hprint(read_text(folder / "stats_total/bypassed"))}


def chosen(text: str | None) -> str | None:
    """`writeback` of `writethrough [writeback] writearound none`."""
    match = re.search(r"\[([^\]]+)\]", text or "")
    return match.group(1) if match else None


def hprint(value: int) -> str:
    """A number as bcache writes it: `512.0k`, `4.0M` (bch_hprint in drivers/md/bcache/util.c)."""
    unit, rest = -1, 0
    while unit < 0 or value >= 1000:
        unit, rest, value = unit + 1, value & 1023, value >> 10
    return f"{value}.{rest * 10 // 1024}{_UNITS[unit]}"


def from_hprint(text: str | None) -> int | None:
    """About how many bytes that is: bcache says no more than one digit behind the point."""
    match = re.fullmatch(r"(-?\d+)\.(\d)([kMGTPEZY])", text or "")
    if match is None:
        return None
    tenths = int(match.group(1)) * 10 + int(match.group(2))
    return max(0, tenths * (1 << 10 * (1 + _UNITS.index(match.group(3)))) // 10)


def _link(path: Path) -> str:
    try:
        return Path(os.readlink(path)).name  # noqa: PTH115 - what it points to may be gone
    except OSError:
        return ""


def _owner(folder: Path) -> str | None:
    """The device whose folder this is a link to."""
    return folder.resolve().parent.name if folder.is_dir() else None
