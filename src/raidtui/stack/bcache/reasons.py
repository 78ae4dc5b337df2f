"""What the problem codes of the bcache layer mean: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "bcache-devices": (
        "Not one device for each part",
        "bcache puts one cache device before one backing device; kernels from 5.10 on take no more.",
        "Give each role one disk, or join several in an md or lvm layer below.",
    ),
    "bcache-bucket": (
        "Not a size of a bucket",
        "A bucket is a power of two from 4KiB to 16MiB, and not smaller than a block.",
        'Write something like "512KiB", or leave bucket out.',
    ),
    "bcache-block": (
        "Not a size of a block",
        "A block is a power of two from 512B to 4KiB, and not smaller than the logical sectors of the devices.",
        "Leave block out: then it is the larger logical sector of both devices.",
    ),
    "bcache-data-offset": (
        "Not a place for the data",
        "The superblock takes the first 8KiB of the backing device, and data begins at a multiple of 4KiB after it.",
        'Write something like "1MiB", or leave data_offset out.',
    ),
    "bcache-sequential-cutoff": (
        "Not a sequential cutoff",
        "The kernel counts it in 32 bits.",
        '"0B" turns it off, so that everything goes through the cache.',
    ),
    "bcache-writeback": (
        "Nothing to write back",
        "Only in mode writeback the cache has data that is not on the backing device yet; the delay is in whole seconds.",
        "Remove the option, or choose mode writeback.",
    ),
    "bcache-too-small": (
        "A device is too small",
        "A cache needs at least 513 buckets, and the backing device room behind its superblock.",
        "Bind larger disks, or choose a smaller bucket.",
    ),
    "bcache-on-bcache": (
        "A cache of a cache",
        "Devices of bcache on top of each other share the kernel's one lock and worker for bcache, and can wait for each "
        "other for good.",
        "Use one bcache layer; a cache of LVM may stand below or above it.",
    ),
    "bcache-missing": (
        "bcache is not there",
        "The kernel's module bcache or the tool make-bcache is missing on this server.",
        "apt install bcache-tools, and the distribution's full kernel (linux-image-amd64).",
    ),
    "bcache-not-there": (
        "The device is not there",
        "The kernel did not bring the device up, or it is gone.",
        "Look at the kernel's messages (dmesg), then run it again.",
    ),
    "bcache-busy": (
        "The device is in use",
        "Something still uses the device, so that it cannot be stopped. The message says what.",
        "End that use, then `raidtui recover`. It may be run any number of times.",
    ),
    "bcache-foreign": (
        "Somebody else's device behind the cache",
        "A device that this run did not make was attached to its cache, which may hold that device's only copy of what was "
        "written. Nothing was stopped or erased.",
        "Detach that device (`echo 1 > /sys/block/…/bcache/detach`) and wait until it is, then `raidtui recover`.",
    ),
}
