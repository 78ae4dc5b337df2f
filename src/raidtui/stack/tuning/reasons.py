"""What the problem codes of tuning mean: code → (title, meaning, way out)."""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "tuning-value": (
        "Not a value of this setting",
        "The kernel counts read-ahead in KiB, and speeds in KiB per second.",
        "Write a size with its unit, such as 128KiB or 100MB.",
    ),
    "tuning-md": (
        "Not a setting of this level",
        "Only raid4, raid5 and raid6 have a stripe cache and threads that work on it; raid0 is never synced.",
        "Leave the setting out, or choose another level.",
    ),
    "tuning-twice": (
        "Tuned twice",
        "A setting of the whole server, or of one role, is given twice in one layout.",
        "Say it in one place.",
    ),
    "tuning-no-device": (
        "Nothing to tune",
        "`disks` and `roles` are the disks that go into the very layer that has the tuning, `device` is what it makes.",
        "Move the tuning to the layer that stands on these disks, or that makes the device.",
    ),
    "tuning-not-offered": (
        "The kernel does not offer this setting",
        "The file in /sys is not there, or can only be read: another kernel, another kind of device, or a parameter of "
        "another version. Nothing was set.",
        "Leave it out of the tuning.",
    ),
    "tuning-not-taken": (
        "The kernel did not take the value",
        "It refused it, or another value was read back and is no rounding of it. Everything was put back.",
        "The message says what was read back; ask for another value.",
    ),
    "tuning-left": (
        "A setting could not be put back",
        "The value that was found before could not be written, or is not what was read back. The run stays open.",
        "The remedy has the command; `raidtui recover` tries it again, any number of times.",
    ),
    "tuning-shared": (
        "Another pool is imported",
        "Parameters of ZFS hold for every pool of the server. They stay while one is imported that is not of the run.",
        "Export that pool, or leave the parameters out.",
    ),
    "tuning-no-way-back": (
        "It could not be put back",
        "A parameter of the ARC that is 0 lets ZFS choose. Once it was set, a 0 does not bring that choice back.",
        "Leave it out. `arc_max` of the pool limits the ARC, and knows how to put it back.",
    ),
    "tuning-zfs-refused": (
        "A parameter that no scenario may set",
        "It belongs to what keeps data safe, or to something else that raidtui handles by itself.",
        "Leave it out.",
    ),
}
