"""The commands of the LVM layer: what libblockdev is asked for, and the very argv that comes of it.

Every command sees the devices of its own group and no others (`--devices`), keeps no copies of metadata in /etc, and starts
no daemon. Where LVM asks a question, the answer is given to that question alone: no command of ours says yes to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from raidtui.model.plan import Argv
from raidtui.stack.lvm.group import LvmGroup, PhysicalVolume

CONFIG: Final = (
    'activation{monitoring=0}backup{backup=0}backup{archive=0}devices{scan_lvs=1}devices{hints="none"}'
    "global{use_lvmpolld=0}log{silent=0}"
)
"""Without spaces: libblockdev writes commands down as one line."""
VOLUME: Final = "volume"
POOL: Final = "pool"
"""What the volume with the data is named where another one is served from it."""
THIN: Final = "thin"
"""What VDO's volume is named where it is the pool of a thin one."""


def volume_path(group: str, volume: str = VOLUME) -> str:
    """Where udev shows a volume."""
    return f"/dev/{group}/{volume}"


def lvm_uuid(uuid: str) -> str:
    """As LVM writes UUIDs: 32 characters in groups of 6-4-4-4-4-4-6."""
    digits = uuid.replace("-", "")
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(digits[a:b] for a, b in pairwise(cuts))


def limits(paths: Sequence[str]) -> dict[str, str]:
    """The options that keep a command to these devices."""
    return {"--devices": ",".join(paths), "--config": CONFIG}


def flat(options: dict[str, str]) -> tuple[str, ...]:
    return tuple(word for name, value in options.items() for word in ((name, value) if value else (name,)))


def pv_extra(pv: PhysicalVolume, paths: Sequence[str]) -> dict[str, str]:
    return {"--uuid": pv.uuid, "--norestorefile": "", **limits(paths)}


def pvcreate_argv(pv: PhysicalVolume, path: str, paths: Sequence[str]) -> Argv:
    """What libblockdev executes for `lvm_pvcreate` (src/plugins/lvm.c)."""
    return ("lvm", "pvcreate", path, f"--dataalignment={pv.align_bytes >> 10}K", *flat(pv_extra(pv, paths)))


def vg_extra(paths: Sequence[str]) -> dict[str, str]:
    return {"--setautoactivation": "n", **limits(paths)}


def vgcreate_argv(vg: LvmGroup, paths: Sequence[str]) -> Argv:
    """What libblockdev executes for `lvm_vgcreate`."""
    return ("lvm", "vgcreate", "-s", f"{vg.extent_bytes >> 10}K", vg.name, *paths, *flat(vg_extra(paths)))


def volume_extra(vg: LvmGroup, paths: Sequence[str]) -> dict[str, str]:
    """Options of the volume itself."""
    volume = vg.volume
    extra = {"--type": volume.type, "--alloc": volume.allocation}
    if volume.stripe_bytes is not None:
        extra |= {"--stripes": str(volume.stripes), "--stripesize": f"{volume.stripe_bytes >> 10}K"}
    if volume.copies > 1:
        extra["--mirrors"] = str(volume.copies - 1)
    if volume.region_bytes is not None:
        extra["--regionsize"] = f"{volume.region_bytes >> 10}K"
    if volume.nosync:
        extra["--nosync"] = ""
    if volume.mirror_log is not None:
        extra["--mirrorlog"] = volume.mirror_log
    if (integrity := vg.integrity) is not None:
        extra |= {"--raidintegrity": "y", "--raidintegritymode": integrity.mode,
                  "--raidintegrityblocksize": str(integrity.block_bytes)}  # fmt: skip
    return {**extra, **limits(paths)}


def lvcreate_argv(name: str, size_bytes: int, group: str, on: Sequence[str], extra: dict[str, str]) -> Argv:
    """Not by libblockdev, which always says yes to whatever LVM asks: here a signature that is found stays."""
    return ("lvm", "lvcreate", "--name", name, "--size", f"{size_bytes >> 10}K", group, *on, *flat(extra))


def volume_argv(vg: LvmGroup, on: Sequence[str], paths: Sequence[str]) -> Argv:
    """The volume that holds the data."""
    return lvcreate_argv(vg.volume.name, vg.volume.size_bytes, vg.name, on, volume_extra(vg, paths))


def activate_argv(group: str, state: str, paths: Sequence[str]) -> Argv:
    """Activate (`y`) or deactivate (`n`) everything in the group."""
    return ("lvm", "vgchange", "--activate", state, group, *flat(limits(paths)))


def teardown_argvs(group: str, paths: Sequence[str]) -> tuple[Argv, ...]:
    """Deactivate, remove volumes, group and labels."""
    common = flat(limits(paths))
    return (
        activate_argv(group, "n", paths),
        ("lvm", "lvremove", group, *common),
        ("lvm", "vgremove", group, *common),
        ("lvm", "pvremove", *paths, *common),
    )
