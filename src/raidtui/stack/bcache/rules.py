"""What bcache and make-bcache refuse, found when a scenario is read: each with its reason and a way out.

Sources: make-bcache(8), bcache-tools' make-bcache.c, drivers/md/bcache/{super,sysfs}.c.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.model.problem import Exit, Problem, Refusal
from raidtui.stack.bcache.spec import DEFAULT_DATA_OFFSET_BYTES, KIB, MIB, SECTOR, BcacheSpec, bucket_bytes
from raidtui.stack.layer import stands_on

SMALLEST_BUCKET: Final = 4 * KIB
LARGEST_BUCKET: Final = 16 * MIB
"""make-bcache keeps it in 16 bits, in sectors."""
LARGEST_BLOCK: Final = 4 * KIB
LEAST_BUCKETS: Final = 513
"""A thousandth of them is kept free, and with fewer than these that would be none (cache_alloc)."""
LARGEST_CUTOFF: Final = (1 << 32) - 1
FLASHCACHE: Final = Refusal(
    "flashcache",
    "flashcache is obsolete",
    "flashcache is a kernel module that was abandoned years ago; none exists for today's kernels. bcache, LVM's cache "
    "(dm-cache) and, for writes alone, LVM's writecache replaced it; all are part of the kernel. A server that has the "
    "module is refused as well, because raidtui could not be tested with it.",
    'Use a "bcache" layer with mode writeback, or an lvm layer with "cache" or "writecache".',
)


def replaces() -> dict[str, tuple[str, str]]:
    """Return flashcache with the reason why it cannot be built, and what to use instead."""
    if has_module("flashcache"):
        why = "this server has a module flashcache, but raidtui does not support it: no supported kernel has one"
    else:
        why = "no module flashcache exists for this kernel"
    return {"flashcache": (why, FLASHCACHE.way_out)}


def has_module(name: str, sys: Path = Path("/sys"), lib: Path = Path("/lib/modules")) -> bool:
    """Return True if the running kernel has a module of this name: loaded, built in, or loadable."""
    listed = read_text(lib / os.uname().release / "modules.dep") or ""
    return (sys / "module" / name).is_dir() or f"/{name}.ko" in listed


def check(spec: BcacheSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Why this cache cannot be, given how many devices go into each input."""
    return [*_devices(counts, place), *_below(spec, place), *_sizes(spec, place), *_writeback(spec, place)]


def refusal(code: str, message: str, place: str, remedy: str) -> Problem:
    return Problem(code, message, place, remedy, int(Exit.USAGE))


def _devices(counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    for name, what in (("on", "backing device"), ("cache", "cache device")):
        if (count := counts.get(name, 0)) != 1:
            yield refusal(
                "bcache-devices",
                f"bcache takes one {what}; there {'is none' if count == 0 else f'are {count}'}",
                f"{place}.{name}",
                "Give its role one disk, or join several in an md or lvm layer below.",
            )


def _below(spec: BcacheSpec, place: str) -> Iterator[Problem]:
    """Another layer between two of bcache takes away neither the lock nor the workers that they share."""
    for name, operand in (("on", spec.on), ("cache", spec.cache)):
        if stands_on(operand.raw, "bcache"):
            text = "bcache cannot stand on another bcache device, however deep that is"
            yield refusal("bcache-on-bcache", text, f"{place}.{name}", "Use one bcache layer.")


def _power_of_two(value: int, least: int, most: int) -> bool:
    return least <= value <= most and value & (value - 1) == 0


def _sizes(spec: BcacheSpec, place: str) -> Iterator[Problem]:
    bucket = bucket_bytes(spec)
    if not _power_of_two(bucket, SMALLEST_BUCKET, LARGEST_BUCKET):
        text = f"a bucket of {bucket} bytes is not a power of two from 4KiB to 16MiB"
        yield refusal("bcache-bucket", text, f"{place}.bucket", "Such as 512KiB or 2MiB.")
    if spec.block is not None and not _power_of_two(spec.block.bytes, SECTOR, LARGEST_BLOCK):
        text = f"a block of {spec.block.text} is not a power of two from 512B to 4KiB"
        yield refusal("bcache-block", text, f"{place}.block", "Such as 4KiB.")
    offset = spec.data_offset
    if offset is not None and (offset.bytes < DEFAULT_DATA_OFFSET_BYTES or offset.bytes % LARGEST_BLOCK):
        text = f"data cannot begin at {offset.text}: the superblock takes 8KiB, and data begins at a multiple of 4KiB"
        yield refusal("bcache-data-offset", text, f"{place}.data_offset", "Such as 8KiB or 1MiB.")
    cutoff = spec.sequential_cutoff
    if cutoff is not None and cutoff.bytes > LARGEST_CUTOFF:
        text = f"a sequential cutoff of {cutoff.text} is more than the kernel can count (4GiB)"
        yield refusal("bcache-sequential-cutoff", text, f"{place}.sequential_cutoff", "0B turns it off.")


def _writeback(spec: BcacheSpec, place: str) -> Iterator[Problem]:
    for name in ("writeback_percent", "writeback_delay"):
        if getattr(spec, name) is not None and spec.mode != "writeback":
            text = f"in mode {spec.mode} nothing has to be written back, and there is no {name}"
            yield refusal("bcache-writeback", text, f"{place}.{name}", f"Remove {name}, or choose mode writeback.")
    delay = spec.writeback_delay
    if delay is not None and (delay.seconds % 1 or delay.seconds > 86400):
        text = f"a writeback delay of {delay.text} is not in whole seconds up to a day"
        yield refusal("bcache-writeback", text, f"{place}.writeback_delay", "Such as 30s.")
