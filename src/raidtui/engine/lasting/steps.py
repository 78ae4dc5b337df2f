"""Commands that build one layout for good: those of the plan, without what only a run needs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from raidtui.engine.compose.layout import disk_part, plan_layout
from raidtui.engine.lasting.names import PLAIN, ChosenNames, refuse_unkept
from raidtui.model.disk import Disk
from raidtui.model.plan import Argv
from raidtui.model.scenario import Node, Policy
from raidtui.stack import mounts
from raidtui.stack.fs.keep import fstab_line
from raidtui.stack.fs.spec import Filesystem
from raidtui.stack.layer import Draft
from raidtui.stack.lvm.commands import volume_path
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.md.plan import node_path
from raidtui.stack.md.spec import MdArray
from raidtui.stack.partition.spec import Partitions, part_path
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.commands import part_path as pool_part_path
from raidtui.stack.zfs.spec import DEFAULT_FAILMODE

_WITH_VALUE: Final = ("--devices", "--config", "--setautoactivation")
"""Options of LVM that keep a run to its own devices, and their values."""
_ASKING: Final = ("lvconvert", "lvcreate")


class LastingStep(NamedTuple):
    """One step of a script."""

    title: str
    commands: tuple[Argv, ...]
    disks: tuple[str, ...] = ()
    """Ids of the disks that it writes to."""
    awaited: tuple[str, ...] = ()
    """Paths that exist afterwards."""


class Lasting(NamedTuple):
    """A layout to be built for good."""

    steps: tuple[LastingStep, ...]
    path: str
    """Device or mount point that is there in the end."""
    arrays: tuple[str, ...]
    """Paths of md arrays, to be written into mdadm.conf."""
    mounted: tuple[str, ...]
    """Lines of fstab."""
    notes: tuple[str, ...]
    """Parts of the scenario that the script leaves out, as sentences."""


def lasting(
    node: Node, roles: Mapping[str, Sequence[Disk]], by_id: Mapping[str, str], policy: Policy, *, token: str, name: str,
    mount: str,
) -> Lasting:  # fmt: skip
    """Return the steps. `by_id`: lasting path by id. Raises ProblemError (`script-layer`, `script-name`, of planning)."""
    refuse_unkept(node, name, mount)
    plain = msgspec.structs.replace(policy, **PLAIN)
    parts = {role: tuple(disk_part(disk)._replace(path=by_id[disk.id]) for disk in disks) for role, disks in roles.items()}
    planned = plan_layout(node, parts, ChosenNames(token, name), plain)
    steps = tuple(step for draft in planned.build for step in _steps(draft, mount))
    args = [draft.args for draft in planned.build]
    target = planned.targets[0]
    return Lasting(
        steps,
        mount if target.kind == "directory" else target.paths[0],
        tuple(dict.fromkeys(node_path(one.name) for one in args if isinstance(one, MdArray))),
        tuple(dict.fromkeys(fstab_line(one, mount) for one in args if isinstance(one, Filesystem))),
        tuple(left_out(node, planned.build)),
    )  # fmt: skip


def left_out(node: Node, drafts: Sequence[Draft]) -> Iterator[str]:
    """Yield the parts of the scenario that nothing keeps for good, as sentences."""
    if any(getattr(one.spec, "tuning", None) is not None for one in node.walk()):
        yield "Kernel settings (`tuning`) are not set: they do not survive a reboot by themselves."
    if any(draft.action == "zpool.arc" for draft in drafts):
        yield "The limit of the ARC is not set: write it into /etc/modprobe.d/zfs.conf (zfs_arc_max)."
    if any(draft.action.endswith(".sync") for draft in drafts):
        yield "The initial sync goes on in the background when the layout is there."


def _steps(draft: Draft, mount: str) -> Iterator[LastingStep]:
    args = draft.args
    disks: tuple[str, ...] = getattr(args, "disks", ())
    if draft.action in ("fs.mount", "zpool.mount") or not draft.commands or draft.action.partition(".")[0] not in _PACKAGES:
        return
    commands = tuple(_lasting(argv, args, mount) for argv in draft.commands)
    if draft.action == "fs.subvolume":
        commands = (("mkdir", "-p", mount), *commands)
    yield LastingStep(draft.title, commands, disks, tuple(_awaited(draft, args)))


_PACKAGES: Final = ("partition", "md", "lvm", "zpool", "fs")


def _awaited(draft: Draft, args: msgspec.Struct) -> Iterator[str]:
    if isinstance(args, Partitions):
        yield from (part_path(part.guid) for table in args.tables for part in table.parts)
    elif isinstance(args, MdArray):
        yield node_path(args.name)
    elif isinstance(args, LvmGroup) and draft.action in ("lvm.volume", "lvm.pool"):
        yield volume_path(args.name) if draft.action == "lvm.pool" or not args.has_pool else volume_path(args.name, "pool")
    elif isinstance(args, ZfsPool) and draft.action == "zpool.volume":
        yield f"/dev/zvol/{args.dataset}"


def partitions_awaited(argv: Argv) -> str | None:
    """Return the partition that a command of a pool makes and the next one needs."""
    return pool_part_path(argv[-1]) if argv[0] == "sgdisk" else None


def _lasting(argv: Argv, args: msgspec.Struct, mount: str) -> Argv:
    """Return the command without what only a run needs."""
    if argv[0] == "lvm":
        return tuple(_lvm(argv))
    if isinstance(args, ZfsPool) and argv[:2] == ("zpool", "create"):
        return tuple(_without_pairs(argv, "-o", ("cachefile=none", f"failmode={DEFAULT_FAILMODE}")))
    if isinstance(args, ZfsPool):
        return tuple(f"mountpoint={mount}" if word == "mountpoint=legacy" else word for word in argv)
    if isinstance(args, Filesystem):
        point = mounts.point_of(args.name)
        return tuple(word.replace(point, mount, 1) if word.startswith(point) else word for word in argv)
    return argv


def _lvm(argv: Argv) -> Iterator[str]:
    words = iter(argv)
    for word in words:
        if word in _WITH_VALUE or (word == "--uuid" and argv[1] == "pvcreate"):
            next(words)
        elif word != "--norestorefile":
            yield word


def _without_pairs(argv: Argv, option: str, values: Sequence[str]) -> Iterator[str]:
    words = iter(argv)
    for word in words:
        if word != option:
            yield word
        elif (value := next(words)) not in values:
            yield from (word, value)


def asks(argv: Argv) -> bool:
    """Return True for a command of LVM that asks before it erases the new volume that it converts."""
    return argv[0] == "lvm" and argv[1] in _ASKING
