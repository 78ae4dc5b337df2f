"""What the problem codes of ZFS pools mean: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

_RECOVER: Final = "When the cause is gone, `raidtui recover` takes away what is left. It may be run any number of times."

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "zpool-vdev": (
        "Not a vdev",
        "A vdev is of one kind, and has the options of that kind only. `per` splits a role's disks into vdevs of so many "
        "disks each, with none left over; `data` and `spares` belong to draid.",
        'Write something like {"raidz1": "@data"} or {"mirror": "@data", "per": 2}.',
    ),
    "zpool-too-few": (
        "Too few disks for a vdev",
        "A mirror takes two disks or more, raidz one more than its parity, draid its data, parity and spares together.",
        "Raise the count of the role, or choose another kind.",
    ),
    "zpool-too-many": (
        "Too many disks in one vdev",
        "A vdev takes at most 255 disks.",
        "Split them with per.",
    ),
    "zpool-mixed": (
        "Vdevs that do not match",
        "zpool wants every vdev to survive as many failures as the others, and vdevs of one kind to be as wide as the "
        "others; special and dedup devices too, because losing one loses the pool. It mixes them only when forced, and "
        "raidtui never forces.",
        "Make the vdevs alike; mirror special and dedup devices.",
    ),
    "zpool-mirrored": (
        "Nothing to mirror",
        "`mirrored` names devices that are not given, are less than two, or do not make whole mirrors of `mirrored_per`.",
        "Give two devices or more, or leave the name out of `mirrored`.",
    ),
    "zpool-spares": (
        "Spares without redundancy",
        "A spare takes the place of a failed disk; a stripe has nothing to rebuild it from.",
        "Leave spares out, or choose vdevs with redundancy.",
    ),
    "zpool-property": (
        "Not such a property or value",
        "The ZFS of the server lists the properties that it has and what each of them takes; this one is not among them.",
        "The message says what it takes.",
    ),
    "zpool-property-refused": (
        "A property that no scenario sets",
        "Some properties name paths, mount or share something, need keys, or take disks that raidtui was not told to use.",
        "Leave it out.",
    ),
    "zpool-measured": (
        "Nothing to measure, or two things",
        "A pool is measured as a volume, which is a block device, or as a dataset, which is a directory with files.",
        'Add "volume": {"size": "80%"}, or "dataset": {}, and not both.',
    ),
    "zpool-volume": (
        "Not a size of a volume or dataset",
        "It has whole blocks of its volblocksize, or of its recordsize.",
        "Write a multiple of it, or a share such as 80%.",
    ),
    "zpool-too-small": (
        "No room in the pool",
        "Labels, metaslabs, slop space, parity and padding leave less than is asked for. Small blocks on raidz take much "
        "more than their length.",
        "Ask for less, bind larger disks, or choose a larger volblocksize.",
    ),
    "zpool-on-zpool": (
        "A pool on a pool",
        "ZFS can wait for itself for good when a pool stands on a volume of another one.",
        "Put it on disks, or on another kind of layer.",
    ),
    "zpool-name-taken": (
        "The pool's name is taken",
        "A disk carries the label of a pool with the name that the plan chose. It is not this run's and was not touched.",
        "Run it again: every plan has names of its own.",
    ),
    "zpool-partition": (
        "A disk could not be partitioned",
        "The partition that the pool should get was not there after its table was written.",
        "Look at the kernel's messages (dmesg) for the disk that is named.",
    ),
    "zpool-not-there": (
        "The pool is not there",
        "No pool of the name that this plan gave is imported.",
        "Look at the kernel's messages (dmesg), then run it again.",
    ),
    "zpool-no-node": (
        "The volume has no device",
        "The volume was created, but the kernel shows no block device for it.",
        "Leave the property volmode out; look at dmesg.",
    ),
    "zpool-busy": (
        "The pool is in use",
        "Something still uses the volume, or a command still works on the pool. The message says what.",
        f"End that use. {_RECOVER}",
    ),
    "zpool-suspended": (
        "ZFS suspended the pool",
        "So many of its devices are gone that ZFS cannot write any more. Such a pool cannot be destroyed: the command "
        "would hang for good, and every later ZFS command with it. Nothing is imported again after a restart.",
        "Restart the machine, then `raidtui recover`.",
    ),
    "zpool-foreign": (
        "A pool of that name is not this run's",
        "It stands on a device that this run did not write to. It was not touched.",
        "Look at `zpool status`.",
    ),
    "zfs-arc": (
        "The ARC cannot be limited so",
        "ZFS takes a limit that is more than the ARC's minimum (a 32nd of the memory, 32 MiB at least) and less than the "
        "memory.",
        "Ask for another `arc_max`, or leave it out.",
    ),
    "zfs-too-old": (
        "ZFS is too old",
        "raidtui reads pools as JSON, which OpenZFS gives from 2.3 on. Older ones also take no notice of O_DIRECT on the "
        "files of a dataset, so that numbers would be those of memory. Debian 13 and Ubuntu 25.04 have 2.3; Debian 12 has "
        "2.1, and 2.3 in its backports; Ubuntu 24.04 has 2.2.",
        "Install a newer OpenZFS. On Debian 12: apt install -t bookworm-backports zfsutils-linux zfs-dkms",
    ),
    "zpool-cold": (
        "The pool did not come back as it was",
        "To empty its ARC the pool is exported and imported again before each cell; afterwards it was not there, or on "
        "other devices.",
        "Look at the kernel's messages (dmesg); the disks are given back in any case.",
    ),
    "cold-below": (
        "Caches of a layer below cannot be emptied",
        "The policy asks for cold caches. A ZFS pool is exported and imported for that, which cannot be while another "
        "layer stands on its volume.",
        'Measure the pool by itself, or set "caches": "warm" in the policy.',
    ),
}  # fmt: skip
