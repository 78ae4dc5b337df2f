"""What the problem codes of the LVM layer mean: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "lvm-too-few": (
        "Too few devices",
        "Stripes, copies and parity of one row each need a device of their own. LVM takes at least 2 devices for striped, "
        "raid0, raid1 and mirror, 3 for raid4 and raid5, 5 for raid6, 4 for raid10.",
        "Raise the count of the role, ask for fewer stripes or mirrors, or choose another type.",
    ),
    "lvm-too-many": (
        "Too many devices",
        "A volume with redundancy has at most 64 images, an old mirror at most 8.",
        "Lower the count of the role, or say fewer stripes or mirrors.",
    ),
    "lvm-too-small": (
        "No room for the volume",
        "The devices have fewer extents than the volume would take, at the allocation that was asked for.",
        "Bind larger disks, or ask for a smaller size. Allocation contiguous and cling use one device per stripe only.",
    ),
    "lvm-stripes": (
        "Not a number of stripes",
        "linear, raid1 and mirror do not stripe; raid6 needs at least 3 stripes beside its parity, the others 2.",
        "Leave stripes out: then there are as many as the devices allow.",
    ),
    "lvm-stripe-size": (
        "Not a stripe size",
        "A stripe size is a power of two from 4KiB up to the size of an extent.",
        'Write something like "64KiB", or leave stripe_size out.',
    ),
    "lvm-mirrors": (
        "Not a number of mirrors",
        "Only raid1, raid10 and mirror keep copies, and raid10 exactly one beside the original.",
        "Leave mirrors out, or choose one of these types.",
    ),
    "lvm-extent-size": (
        "Not an extent size",
        "An extent is a power of two from 1MiB to 1GiB, or else a multiple of 128KiB that holds whole stripes; and LVM "
        "counts 2^32 of them at most.",
        'Write something like "4MiB", or leave extent_size out.',
    ),
    "lvm-region-size": (
        "Not a region size",
        "A region is what one bit of the write-intent bitmap stands for: a power of two, not smaller than a stripe, and "
        "large enough that there are at most 2^21 of them; types without redundancy have none.",
        'Write something like "2MiB", or leave region_size out.',
    ),
    "lvm-sectors": (
        "Sectors of different sizes",
        "LVM makes no volume group of devices whose logical sectors differ in size.",
        "Bind disks with equal sectors; `raidtui disks` shows them.",
    ),
    "lvm-together": (
        "Not on one volume",
        "LVM puts one cache on a volume, makes no VDO pool of one with a writecache and no pool of one with checksums; "
        "an old mirror takes none of them; VDO is supported over no other VDO, thin volume or snapshot.",
        "Remove one of them, or put it into an lvm layer above.",
    ),
    "lvm-integrity": (
        "Checksums do not fit",
        "dm-integrity finds wrong blocks; only raid1, raid4, raid5, raid6 and raid10 have something to mend them from. A "
        "checksum is of 512B, 1KiB, 2KiB or 4KiB.",
        "Choose one of these types, or remove integrity.",
    ),
    "lvm-cache": (
        "Not an option of a cache",
        "A chunk is a multiple of 32KiB up to 1GiB, the migration threshold at least 8 chunks, and the policy cleaner "
        "goes with a pool, and not with writeback.",
        "Leave them out: LVM's own choice is a good start.",
    ),
    "lvm-writecache": (
        "Not an option of a writecache",
        "Blocks are of 512B or 4KiB, and the low watermark is below the high one.",
        "Leave them out: the kernel's own choice is a good start.",
    ),
    "lvm-vdo": (
        "Not an option of VDO",
        "A slab is a power of two from 128MiB to 32GiB; index memory is 256MiB, 512MiB, 768MiB, or whole GiB up to 1TiB; a "
        "volume is at most 4PiB.",
        "Leave them out, or choose one of these values.",
    ),
    "lvm-thin": (
        "Not a chunk of a thin pool",
        "A chunk is a multiple of 64KiB up to 1GiB.",
        'Write something like "64KiB", or leave chunk out.',
    ),
    "lvm-name-taken": (
        "The group's name is taken",
        "A volume group of the name that the plan chose is there already. It is not this run's and was not touched.",
        "Run it again: every plan has names of its own.",
    ),
    "lvm-not-there": (
        "The volume is not there",
        "No active volume of the planned name came up.",
        "Look at the kernel's messages (dmesg) for the devices that are named, then run it again.",
    ),
    "lvm-busy": (
        "The volume is in use",
        "Something still uses a volume of the group, so that it cannot be deactivated. The message says what.",
        "End that use, then `raidtui recover`. It may be run any number of times.",
    ),
    "lvm-foreign": (
        "The group is somebody else's by now",
        "The group has a physical volume that this run did not make, or another name than the run gave it: somebody uses "
        "it. Nothing was removed, and no disk of the run was made blank.",
        "Take that physical volume out of the group (vgreduce), or remove the group where nobody needs what is in it "
        "(vgremove), then `raidtui recover`.",
    ),
}
