"""The size of the ARC, ZFS's cache in memory: limited while a layout stands, and put back afterwards, whatever happened.

The found limit is stored in the run's folder, because it is lost otherwise when the runner dies. A restart resets both.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from raidtui.base.files import read_int, read_text, sync_folder, write_atomic
from raidtui.inventory import boot_id
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.model.units import size_text
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.layer import Reading
from raidtui.stack.zfs import pool
from raidtui.stack.zfs.commands import ArcLimit
from raidtui.stack.zfs.spec import ZpoolSpec

PARAMETER: Final = Path("/sys/module/zfs/parameters/zfs_arc_max")
ARCSTATS: Final = Path("/proc/spl/kstat/zfs/arcstats")
MEMINFO: Final = Path("/proc/meminfo")
DIRECT: Final = Path("/sys/module/zfs/parameters/zfs_dio_enabled")
MEMORY: Final = "zfs_arc_max.json"
PAGE_BYTES: Final = 4096

ARC: Final = Refusal(
    "zfs-arc",
    "The ARC cannot be limited this way",
    "ZFS accepts a limit above the ARC's minimum (a 32nd of the memory, at least 32 MiB) and below the memory.",
    "Ask for another `arc_max`, or leave it out.",
)


def _stat(name: str, stats: Path) -> int | None:
    match = re.search(rf"^{name}\s+\d+\s+(\d+)$", read_text(stats) or "", re.MULTILINE)
    return int(match.group(1)) if match else None


def limit_bytes(stats: Path = ARCSTATS) -> int | None:
    """Return the present limit of the ARC in bytes."""
    return _stat("c_max", stats)


def size_bytes(stats: Path = ARCSTATS) -> int | None:
    """Return the present size of the ARC in bytes."""
    return _stat("size", stats)


def keeps(spec: ZpoolSpec, reading: Reading) -> bool:
    """Return True if the ARC keeps the data that such a workload reads (zfsprops(7): primarycache, direct).

    O_DIRECT goes past it in a dataset, where blocks are whole pages, and those that are written whole records. It does
    not on a volume, and not with zfs_dio_enabled=0.
    """
    if spec.in_force("primarycache", "all") != "all":
        return False
    tuned = spec.tuning.parameters.get(DIRECT.name) if spec.tuning is not None else None
    on = (tuned if tuned is not None else read_text(DIRECT)) not in (0, "0")
    if spec.dataset is None or not reading.direct or not on or spec.in_force("direct", "standard") == "disabled":
        return True
    whole = spec.block_bytes if reading.writes else PAGE_BYTES
    return not reading.block_bytes or any(size % PAGE_BYTES or size % whole for size in reading.block_bytes)


def most_bytes(spec: ZpoolSpec, stats: Path = ARCSTATS, meminfo: Path = MEMINFO) -> int | None:
    """Return the limit of the ARC while the pool exists: as requested, else the present one, else ZFS's own."""
    if spec.arc_max is not None:
        return spec.arc_max.bytes
    if (now := limit_bytes(stats)) is not None:
        return now
    memory = memory_bytes(meminfo)
    if memory is None:
        return None
    return max(memory - (1 << 30), memory * 5 // 8)  # zfs(4), zfs_arc_max


def memory_bytes(meminfo: Path = MEMINFO) -> int | None:
    """Return the memory of the server in bytes."""
    match = re.search(r"^MemTotal:\s+(\d+) kB$", read_text(meminfo) or "", re.MULTILINE)
    return int(match.group(1)) << 10 if match else None


def refuse_more_than_memory(spec: ZpoolSpec) -> None:
    """ZFS takes no limit that is all the memory or more (arc.c, param_set_arc_max). Raises ProblemError (`zfs-arc`)."""
    memory = memory_bytes()
    if spec.arc_max is None or memory is None or spec.arc_max.bytes < memory:
        return
    text = f"an ARC of {spec.arc_max.text} is not less than this server's memory of {size_text(memory)}"
    raise fail(ARC, text, place="zpool.arc_max", remedy="Ask for less.")


def limit(context: Context, asked: ArcLimit) -> Outcome:
    """Remember what was, set what is asked, and read back that it holds. Raises ProblemError (`zfs-arc`)."""
    if not PARAMETER.exists():
        pool.call(("zpool", "list", "-H"))  # which loads the module
    memory = context.folder / MEMORY
    found = {"boot_id": boot_id(), "parameter": read_int(PARAMETER), "limit": limit_bytes()}
    if not memory.exists():
        write_atomic(memory, json.dumps(found).encode())
    _write(asked.arc_max)
    if (now := limit_bytes()) != asked.arc_max:
        raise _refused(f"asked for an ARC of at most {asked.arc_max} bytes, found {now}")
    return Outcome("done", {"asked": asked.arc_max, "found": found["limit"], "set": now})


def put_back(context: Context, asked: ArcLimit) -> Outcome:
    """Restore the limit as it was before `limit`; it may be repeated. Raises ProblemError (`zfs-arc`)."""
    memory = context.folder / MEMORY
    text = read_text(memory)
    if text is None:
        return Outcome("nothing to do")
    before = json.loads(text)
    if before["boot_id"] == boot_id() and PARAMETER.exists():
        # The parameter alone would leave the limit where it is: zero means that ZFS decides, but it has decided already.
        if before["limit"] is not None and limit_bytes() != before["limit"]:
            _write(before["limit"])
        _write(before["parameter"] or 0)
    memory.unlink()
    sync_folder(context.folder)
    return Outcome("undone", {"restored": limit_bytes()})


def _write(value: int) -> None:
    try:
        PARAMETER.write_text(str(value))
    except OSError as error:
        raise _refused(f"the ARC cannot be limited to {value} bytes: {error.strerror}") from error


def _refused(text: str) -> ProblemError:
    remedy = "It has to be more than the ARC's minimum and less than the memory."
    return fail(ARC, text, place="zpool.arc_max", remedy=remedy, exit=Exit.BUILD_FAILED)
