"""Options that bcache and make-bcache refuse, found when a scenario is read.

Sources: make-bcache(8), bcache-tools' make-bcache.c, drivers/md/bcache/{super,sysfs}.c.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.model.problem import Problem, Refusal
from raidtui.stack.bcache.spec import DEFAULT_DATA_OFFSET_BYTES, KIB, MIB, SECTOR, BcacheSpec
from raidtui.stack.layer import stands_on

DEVICES: Final = Refusal(
    "bcache-devices",
    "Not one device for each part",
    "bcache puts one cache device before one backing device; kernels from 5.10 on take no more.",
    "Give each role one disk, or join several in an md or lvm layer below.",
)
BUCKET: Final = Refusal(
    "bcache-bucket",
    "Not a size of a bucket",
    "A bucket is a power of two from 4KiB to 16MiB, and not smaller than a block.",
    'Write something like "512KiB", or leave bucket out.',
)
BLOCK: Final = Refusal(
    "bcache-block",
    "Not a size of a block",
    "A block is a power of two from 512B to 4KiB, and not smaller than the logical sectors of the devices.",
    "Leave block out: then it is the larger logical sector of both devices.",
)
DATA_OFFSET: Final = Refusal(
    "bcache-data-offset",
    "Not a place for the data",
    "The superblock takes the first 8KiB of the backing device, and data begins at a multiple of 4KiB after it.",
    'Write something like "1MiB", or leave data_offset out.',
)
SEQUENTIAL_CUTOFF: Final = Refusal(
    "bcache-sequential-cutoff",
    "Not a sequential cutoff",
    "The kernel counts it in 32 bits.",
    '"0B" turns it off, so that everything goes through the cache.',
)
WRITEBACK: Final = Refusal(
    "bcache-writeback",
    "Nothing to write back",
    "Only in mode writeback the cache has data that is not on the backing device yet.",
    "Remove the option, or choose mode writeback.",
)
WRITEBACK_DELAY: Final = Refusal(
    "bcache-writeback-delay",
    "Not a delay of writing back",
    "The kernel counts the delay in whole seconds, and raidtui takes at most one day.",
    'Write something like "30s", or leave writeback_delay out.',
)
TOO_SMALL: Final = Refusal(
    "bcache-too-small",
    "A device is too small",
    "A cache needs at least 513 buckets, and the backing device room behind its superblock.",
    "Bind larger disks, or choose a smaller bucket.",
)
ON_BCACHE: Final = Refusal(
    "bcache-on-bcache",
    "A cache of a cache",
    "Devices of bcache on top of each other share the kernel's one lock and worker for bcache, and can wait for each "
    "other for good.",
    "Use one bcache layer; a cache of LVM may stand below or above it.",
)
MISSING: Final = Refusal(
    "bcache-missing",
    "bcache is not there",
    "The kernel's module bcache or the tool make-bcache is missing on this server.",
    "apt install bcache-tools, and the distribution's full kernel (linux-image-amd64).",
)
NOT_THERE: Final = Refusal(
    "bcache-not-there",
    "The device is not there",
    "The kernel did not bring the device up, or it is gone.",
    "Look at the kernel's messages (dmesg), then run it again.",
)
BUSY: Final = Refusal(
    "bcache-busy",
    "The device is in use",
    "Something still uses the device, so that it cannot be stopped. The message says what.",
    "End that use, then `raidtui recover`. It may be run any number of times.",
)
FOREIGN: Final = Refusal(
    "bcache-foreign",
    "Somebody else's device behind the cache",
    "A device that this run did not make was attached to its cache, which may hold that device's only copy of what was "
    "written. Nothing was stopped or erased.",
    "Detach that device (`echo 1 > /sys/block/…/bcache/detach`) and wait until it is, then `raidtui recover`.",
)

SMALLEST_BUCKET: Final = 4 * KIB
LARGEST_BUCKET: Final = 16 * MIB
"""make-bcache keeps it in 16 bits, in sectors."""
LARGEST_BLOCK: Final = 4 * KIB
LEAST_BUCKETS: Final = 513
"""A thousandth of them is kept free, and with fewer than these that would be none (cache_alloc)."""
LARGEST_CUTOFF: Final = (1 << 32) - 1
LONGEST_DELAY_S: Final = 86400
FLASHCACHE: Final = Refusal(
    "flashcache",
    "flashcache is obsolete",
    "flashcache is a kernel module that was abandoned years ago; none exists for today's kernels. bcache, LVM's cache "
    "(dm-cache) and, for writes alone, LVM's writecache replaced it; all are part of the kernel. A server that has the "
    "module is refused as well, because raidtui could not be tested with it.",
    'Use a "bcache" layer with mode writeback, or an lvm layer with "cache" or "writecache".',
)


def replaces() -> dict[str, tuple[Refusal, str]]:
    """Return flashcache with the reason why it cannot be built."""
    if has_module("flashcache"):
        why = "this server has a module flashcache, but raidtui does not support it: no supported kernel has one"
    else:
        why = "no module flashcache exists for this kernel"
    return {"flashcache": (FLASHCACHE, why)}


def has_module(name: str, sys: Path = Path("/sys"), lib: Path = Path("/lib/modules")) -> bool:
    """Return True if the running kernel has a module of this name: loaded, built in, or loadable."""
    listed = read_text(lib / os.uname().release / "modules.dep") or ""
    return (sys / "module" / name).is_dir() or f"/{name}.ko" in listed


Found = Iterator[tuple[Refusal, str, str, str]]
"""Refusal, option, message and remedy."""


def check(spec: BcacheSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Return the reasons why this cache cannot be built; `counts`: number of devices by input."""
    found = (*_devices(spec, counts), *_sizes(spec), *_writeback(spec))
    return [refusal.problem(text, place=f"{place}.{option}", remedy=remedy) for refusal, option, text, remedy in found]


def _devices(spec: BcacheSpec, counts: Mapping[str, int]) -> Found:
    for name, what in (("on", "backing device"), ("cache", "cache device")):
        if (count := counts.get(name, 0)) != 1:
            text = f"bcache takes one {what}; there {'is none' if count == 0 else f'are {count}'}"
            yield DEVICES, name, text, "Give its role one disk, or join several in an md or lvm layer below."
    for name, operand in (("on", spec.on), ("cache", spec.cache)):
        # Another layer between two of bcache takes away neither the lock nor the workers that they share.
        if stands_on(operand.raw, "bcache"):
            text = "bcache cannot stand on another bcache device, however deep that is"
            yield ON_BCACHE, name, text, "Use one bcache layer."


def _power_of_two(value: int, least: int, most: int) -> bool:
    return least <= value <= most and value & (value - 1) == 0


def _sizes(spec: BcacheSpec) -> Found:
    bucket, offset, cutoff = spec.bucket_bytes, spec.data_offset, spec.sequential_cutoff
    if not _power_of_two(bucket, SMALLEST_BUCKET, LARGEST_BUCKET):
        text = f"a bucket of {bucket} bytes is not a power of two from 4KiB to 16MiB"
        yield BUCKET, "bucket", text, "Such as 512KiB or 2MiB."
    if spec.block is not None and not _power_of_two(spec.block.bytes, SECTOR, LARGEST_BLOCK):
        yield BLOCK, "block", f"a block of {spec.block.text} is not a power of two from 512B to 4KiB", "Such as 4KiB."
    if offset is not None and (offset.bytes < DEFAULT_DATA_OFFSET_BYTES or offset.bytes % LARGEST_BLOCK):
        text = f"data cannot begin at {offset.text}: the superblock takes 8KiB, and data begins at a multiple of 4KiB"
        yield DATA_OFFSET, "data_offset", text, "Such as 8KiB or 1MiB."
    if cutoff is not None and cutoff.bytes > LARGEST_CUTOFF:
        text = f"a sequential cutoff of {cutoff.text} is more than the kernel can count (4GiB)"
        yield SEQUENTIAL_CUTOFF, "sequential_cutoff", text, "0B turns it off."


def _writeback(spec: BcacheSpec) -> Found:
    for name in ("writeback_percent", "writeback_delay"):
        if getattr(spec, name) is not None and spec.mode != "writeback":
            text = f"in mode {spec.mode} nothing has to be written back, and there is no {name}"
            yield WRITEBACK, name, text, f"Remove {name}, or choose mode writeback."
    delay = spec.writeback_delay
    if delay is not None and delay.seconds % 1:
        text = f"a writeback delay of {delay.text} is not in whole seconds"
        yield WRITEBACK_DELAY, "writeback_delay", text, "Such as 30s."
    elif delay is not None and delay.seconds > LONGEST_DELAY_S:
        text = f"a writeback delay of {delay.text} is longer than one day"
        yield WRITEBACK_DELAY, "writeback_delay", text, "At most 1d."
