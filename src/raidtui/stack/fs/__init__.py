"""Filesystems: xfs, ext4, btrfs and f2fs, mounted as a directory in which workloads create files."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import Tool
from raidtui.stack.action import Action
from raidtui.stack.fs import build, describe, keep, plan, rules, verify
from raidtui.stack.fs.spec import Filesystem, FilesystemSpec
from raidtui.stack.layer import Layer


def _leaves(fs: Filesystem) -> tuple[tuple[str, ...], ...]:
    """Return its signature; of XFS also that of its log: md's partial parity log (PPL) has copies of the log's records
    where libblkid looks for an external log.
    """
    return ((fs.type, fs.uuid), *([("xfs_external_log", fs.uuid)] if fs.type == "xfs" else []))


LAYER: Final = Layer(
    kind="filesystem",
    title="filesystem",
    spec=FilesystemSpec,
    offers="directory",
    built_by_blivet=True,
    tools=tuple(
        Tool(
            name=f"mkfs.{kind}",
            known_as=package,
            needed_for=f"files on {kind}",
            remedy=f"apt install {package}",
            version=(version,),
            without="files can be measured on other filesystems",
        )
        for kind, package, version in (
            ("xfs", "xfsprogs", "-V"),
            ("ext4", "e2fsprogs", "-V"),
            ("btrfs", "btrfs-progs", "--version"),
            ("f2fs", "f2fs-tools", "-V"),
        )
    ),
    threads="xfs|jbd2|ext4|btrfs|f2fs",
    inputs=plan.inputs,
    check=rules.check,
    describe=describe.describe,
    defaults=describe.defaults,
    tolerates_failures=describe.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    reduces=plan.reduces,
    amplifies=describe.amplifies,
    also_called={"fs": "filesystem"}
    | {kind: f'filesystem with "type": "{kind}"' for kind in ("btrfs", "ext4", "f2fs", "xfs")},
    actions={
        "fs.make": Action(args=Filesystem, do=build.make, undo=build.teardown, leaves=_leaves),
        "fs.subvolume": Action(args=Filesystem, do=build.make_subvolume, undo=build.teardown),
        "fs.mount": Action(
            args=Filesystem, do=build.mount, undo=build.teardown, health=verify.health, members=verify.members
        ),
        "fs.verify": Action(args=Filesystem, do=verify.verify),
        "fs.keep": Action(args=keep.KeptFilesystem, do=keep.keep, in_the_way=keep.in_the_way),
        "fs.unmount": Action(args=Filesystem, do=build.teardown),
    },
)
