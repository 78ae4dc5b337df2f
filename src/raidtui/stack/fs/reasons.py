"""What the problem codes of filesystems and mounts mean: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

_RECOVER: Final = "When the cause is gone, `raidtui recover` takes away what is left. It may be run any number of times."

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "fs-option": (
        "Not an option of this filesystem",
        "Each type has options of its own; what another one has would be ignored, and the result would carry a word that "
        "means nothing.",
        "Remove the option, or choose the type that has it.",
    ),
    "fs-devices": (
        "Devices that the filesystem does not take",
        "xfs, ext4 and f2fs are made on one device; btrfs on several, as many as its profiles need.",
        "Put an md array, a volume or a pool under it, or give btrfs enough disks.",
    ),
    "fs-profile": (
        "Data outlives its metadata",
        "When a device fails, metadata without a copy is lost, and with it everything that the copies of data kept.",
        "Use a metadata profile that survives as much as the one of data.",
    ),
    "fs-block": (
        "Not a block size of this filesystem",
        "Blocks are powers of two, at most a page of the processor: larger ones cannot be mounted everywhere, and those of "
        "xfs only from Linux 6.12 on. They are not smaller than the logical sectors of the device.",
        'Write "4KiB", or leave it out.',
    ),
    "fs-log": (
        "The log or journal does not fit",
        "xfs has logs of 64 MiB to 2047 MiB, each within one allocation group; ext4 journals of 4 MiB and more, at most "
        "about half of the device, unless it has none.",
        "Leave log_size out.",
    ),
    "fs-groups": (
        "Not a number of allocation groups",
        "A group of xfs is at most 1 TiB, and one of them has to hold the log, of 64 MiB at least.",
        "Leave allocation_groups out.",
    ),
    "fs-stripe": (
        "Stripes that contradict each other",
        "stripe_unit is a multiple of the block size, stripe_width a multiple of stripe_unit, and neither goes with "
        "geometry none.",
        "Leave both out: then they follow from what is below.",
    ),
    "fs-compress": (
        "Compression that does not come about",
        "Levels and force belong to compress; lzo has no levels; what is overwritten in place is never compressed.",
        "Give compress, or remove the option.",
    ),
    "fs-too-small": (
        "The device is too small",
        "Log, tables and reserves of the filesystem leave no room for files.",
        "Bind larger disks.",
    ),
    "fs-too-large": (
        "The device is too large",
        "The filesystem's own tables cannot address so much.",
        "Give it a smaller volume, or choose another filesystem.",
    ),
    "fs-device": ("The device is gone", "What the filesystem was to stand on cannot be looked at.", "Look at dmesg."),
    "fs-not-blank": (
        "Something is on the device",
        "A filesystem is only made where nothing is known to be: nothing is overwritten by force.",
        "The message names the device and what it carries.",
    ),
    "mount": (
        "Not the filesystem that was mounted",
        "What is behind raidtui's mount point is not, or not any more, what was mounted there. Numbers would be another's.",
        "See who mounts and unmounts on this server, then replay again.",
    ),
    "mount-busy": (
        "A filesystem cannot be unmounted",
        "Somebody uses it. raidtui never unmounts by force or behind a user's back.",
        f"End the use that the message names. {_RECOVER}",
    ),
    "missing-tool": (
        "A tool is not installed",
        "A program that builds or reads back was not found in the system's own directories.",
        "apt install xfsprogs e2fsprogs btrfs-progs f2fs-tools",
    ),
}
