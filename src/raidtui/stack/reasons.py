"""What the problem codes of `stack` mean: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

from raidtui.stack import gone
from raidtui.stack.bcache import reasons as bcache
from raidtui.stack.fs import reasons as fs
from raidtui.stack.lvm import reasons as lvm
from raidtui.stack.tuning import reasons as tuning
from raidtui.stack.zfs import reasons as zfs

_ASK_KERNEL: Final = "Look at the kernel's messages (dmesg) for the devices that are named, then run it again."
_RECOVER: Final = "When the cause is gone, `raidtui recover` takes away what is left. It may be run any number of times."

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    **bcache.REASONS,
    **fs.REASONS,
    **gone.REASONS,
    **zfs.REASONS,
    **lvm.REASONS,
    **tuning.REASONS,
    "md-too-few": (
        "Too few members",
        "The level needs more devices than its role has: two, or four for raid6. raidtui never forces mdadm to build less.",
        "Raise the count of the role, or choose another level.",
    ),
    "md-too-many": (
        "Too many members",
        "A superblock has room for 1920 devices, and raid6 works with at most 256.",
        "Lower the count of the role, or stack several arrays.",
    ),
    "md-too-small": (
        "A device is too small",
        "Superblock, bitmap or log, and at least one chunk of data have to fit on every member.",
        "Bind larger disks, or choose a smaller chunk.",
    ),
    "md-chunk": (
        "Not a chunk size",
        "A chunk is a power of two from 4KiB to 1GiB, for raid0 any multiple of 4KiB; raid1 does not stripe and has none.",
        'Write something like "64KiB" or "512KiB", or leave chunk out.',
    ),
    "md-layout": (
        "Not a layout of this level",
        "raid10 has near, far and offset layouts with at least two copies and no more copies than members; raid5 and raid6 "
        "have symmetric, asymmetric and parity-first or -last ones; the other levels have none.",
        'Write "near2", "far2" or "offset2" for raid10, or leave layout out.',
    ),
    "md-spares": (
        "Spares without redundancy",
        "A spare takes the place of a failed member; raid0 has nothing to rebuild it from.",
        "Leave spares out, or choose a level with redundancy.",
    ),
    "md-journal": (
        "The write journal does not fit",
        "Only raid4, raid5 and raid6 take a write journal, on exactly one device, for at most 203 members.",
        "Give the journal a role with a count of 1, or leave it out.",
    ),
    "md-ppl": (
        "No partial parity log here",
        "A partial parity log exists for raid5 only, with at most 64 members.",
        "Use raid5, or another consistency policy.",
    ),
    "md-consistency": (
        "Contradicting consistency policy",
        "The policy follows from the journal and the bitmap; raid0 has none.",
        "Leave consistency out, or make journal, bitmap and consistency agree.",
    ),
    "md-bitmap": (
        "The bitmap does not fit",
        "A write-intent bitmap goes with the policy bitmap only; its chunk is a power of two, and large enough that the "
        "bitmap fits into the room beside the superblock.",
        "Leave bitmap and bitmap_chunk out, or make consistency bitmap.",
    ),
    "md-name-taken": (
        "The array's name is taken",
        "A device of the name that the plan chose is there already. It is not this run's and was not touched.",
        "Run it again: every plan has names of its own.",
    ),
    "md-not-there": (
        "The array is not there",
        "No array, or more than one, carries the UUID that this plan gave.",
        _ASK_KERNEL,
    ),
    "md-busy": (
        "The array is in use",
        "Something still uses the array, so that it cannot be stopped. The message says what.",
        f"End that use. {_RECOVER}",
    ),
    "wrong-members": (
        "The array stands on other devices",
        "The devices below the new array are not exactly those that were meant. It was taken down at once.",
        "Disks may have been re-plugged at that moment: plan again.",
    ),
    "not-proven-zero": (
        "Not proven to be zero",
        "The initial sync may be left out only when every member was proven to hold nothing but zeroes.",
        'Set "initial_sync" of the policy to "wait".',
    ),
    "member-lost": (
        "A member was lost",
        "The array lost a member while it was built.",
        "Look at dmesg and the disk's SMART log; replace the disk or choose another one.",
    ),
    "sync-stalled": (
        "The initial sync stands still",
        "The kernel has made no progress with the initial sync for minutes.",
        _ASK_KERNEL,
    ),
    "read-back": (
        "Not built as asked",
        "What the kernel and mdadm say of the finished layout is not what the scenario asks for. Numbers measured on it "
        "would carry the wrong name, so it was taken down.",
        "The message lists what was asked and what was found. Another kernel or mdadm may behave otherwise.",
    ),
    "left-behind": (
        "Something could not be taken away",
        "A superblock or an array of this run is still there.",
        _RECOVER,
    ),
    "no-permit": (
        "Not a disk of this run",
        "A step named a disk that the gate has not admitted for this run. It was not touched.",
        "This is a bug, or a journal of another run: please report it.",
    ),
    "not-built": (
        "A layer below is missing",
        "A step needs a layer that was not built, or is gone.",
        "The step before says why; run it again.",
    ),
    "tool-failed": (
        "A tool failed",
        "A storage tool ended with an error; its own words are in the message.",
        "The command is in the journal: run it by hand to see more.",
    ),
    "stuck": (
        "A device does not answer",
        "A command or a call into the kernel was given up because nothing moved for five minutes: it did nothing itself, "
        "and no disk of the run completed a request. The kernel needs less to handle errors of a disk. How long a command "
        "takes while something moves does not matter. A disk that has requests in flight and completes none hangs.",
        "Look at dmesg; check cabling, enclosure and firmware. The disks stay locked until they answer or are gone.",
    ),
    "missing-library": (
        "A library is missing",
        "raidtui builds md arrays and LVM volumes by libblockdev, from the system's own Python.",
        "Install the packages that the message names; `raidtui doctor` shows everything that is missing.",
    ),
    "disk-none": (
        "No disk to measure",
        "The layout of plain disks has no disk in it.",
        "Name a role.",
    ),
}
