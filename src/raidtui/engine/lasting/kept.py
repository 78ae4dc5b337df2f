"""One layout that is built for good by a run: the steps of its plan, and those that make it the operator's. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from raidtui.engine.compose.layout import plan_layout
from raidtui.engine.lasting.names import PLAIN, ChosenNames, refuse_unkept
from raidtui.engine.lasting.steps import left_out
from raidtui.model.plan import GIVE, Keep, Kept
from raidtui.model.scenario import Node, Policy
from raidtui.stack.fs import keep as fs_keep
from raidtui.stack.fs.spec import Filesystem
from raidtui.stack.layer import Draft, Part
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.keep import autoactivation_argv
from raidtui.stack.md.keep import array_line
from raidtui.stack.md.spec import MdArray
from raidtui.stack.zfs import keep as zfs_keep
from raidtui.stack.zfs.commands import ZfsPool

FSTAB: Final = "/etc/fstab"
MDADM_CONF: Final = "/etc/mdadm/mdadm.conf"
_OF_RUNS: Final = ("zpool.arc", "tuning.")
"""Beginnings of the names of actions whose effect ends with a run."""


class KeptLayout(NamedTuple):
    """The steps of a layout that is kept."""

    build: tuple[Draft, ...]
    teardown: tuple[Draft, ...]
    """Steps that take it away if the build fails."""
    keep: tuple[Draft, ...]
    """Steps that are done to it once it is kept."""
    kept: Kept


def kept_layout(
    node: Node, roles: Mapping[str, tuple[Part, ...]], policy: Policy, keep: Keep, *, token: str
) -> KeptLayout:  # fmt: skip
    """Return the steps. Raises ProblemError (`script-layer`, `script-name`, `script-mount`, and those of planning)."""
    refuse_unkept(node, keep.name, keep.mount)
    planned = plan_layout(node, roles, ChosenNames(token, keep.name), msgspec.structs.replace(policy, **PLAIN))
    build = tuple(_without_waiting(planned.build))
    teardown = tuple(draft for draft in planned.teardown if not draft.action.startswith(_OF_RUNS))
    paths = {part.ref: part.path for parts in roles.values() for part in parts}
    keeping = tuple(_keeping(build, keep.mount, paths))
    target = planned.targets[0]
    path = keep.mount if target.kind == "directory" else target.paths[0]
    return KeptLayout(build, teardown, keeping, Kept(path, _lines(build, keep.mount), tuple(left_out(node, planned.build))))


def _without_waiting(drafts: Sequence[Draft]) -> Iterator[Draft]:
    """Yield the steps without what ends with a run. A layout can be used while its initial sync goes on."""
    for draft in drafts:
        if draft.action.startswith(_OF_RUNS) or _is_needless_wait(draft):
            continue
        yield draft._replace(action="md.verify-syncing") if draft.action == "md.verify" else draft


def _is_needless_wait(draft: Draft) -> bool:
    """True for the wait for a sync; LVM converts a volume to a cached or pooled one only when it is in sync."""
    args = draft.args
    return draft.action == "md.sync" or (
        draft.action == "lvm.sync" and isinstance(args, LvmGroup) and args.cache is None and not args.has_pool
    )


def _keeping(drafts: Sequence[Draft], mount: str, paths: Mapping[str, str]) -> Iterator[Draft]:
    for draft in drafts:
        args = draft.args
        if isinstance(args, MdArray) and draft.action == "md.create":
            yield Draft("md.keep", f"Look at the array {args.name}", args, seconds=0.5)
        elif isinstance(args, LvmGroup) and draft.action == "lvm.group":
            argv = autoactivation_argv(args, [args.paths.get(pv.ref) or paths[pv.ref] for pv in args.pvs])
            yield Draft("lvm.keep", f"Activate {args.name} whenever the server starts", args, (argv,))
        elif isinstance(args, ZfsPool) and draft.action == "zpool.create":
            kept_pool = zfs_keep.KeptPool(args, "" if args.has_volume else mount)
            title = f"Import {args.name} whenever the server starts"
            title += f", and mount {args.dataset} on {mount}" if kept_pool.mount else ""
            yield Draft("zpool.keep", title, kept_pool, zfs_keep.argvs(kept_pool), seconds=2.0)
            yield Draft(GIVE, "Let go of the disks, so that udev names what is on them", seconds=1.0)
            title = f"Import {args.name} by names of its disks that last"
            yield Draft("zpool.by-id", title, kept_pool, zfs_keep.by_id_argvs(kept_pool), seconds=5.0)
        elif isinstance(args, Filesystem) and draft.action == "fs.make":
            kept = fs_keep.KeptFilesystem(args, mount)
            argvs = fs_keep.argvs(kept, args.paths[args.devices[0]])
            yield Draft("fs.keep", f"Mount it on {mount} for everybody", kept, argvs, seconds=1.0)


def _lines(drafts: Sequence[Draft], mount: str) -> dict[str, tuple[str, ...]]:
    arrays = tuple(array_line(one.args) for one in drafts if isinstance(one.args, MdArray) and one.action == "md.create")
    mounted = tuple(
        fs_keep.fstab_line(one.args, mount)
        for one in drafts if isinstance(one.args, Filesystem) and one.action == "fs.make"
    )  # fmt: skip
    return {file: lines for file, lines in ((MDADM_CONF, arrays), (FSTAB, mounted)) if lines}
