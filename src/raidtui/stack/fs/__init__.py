"""Filesystems: xfs, ext4, btrfs and f2fs, mounted as a directory in which workloads create files."""

from __future__ import annotations

from typing import Any, Final

from raidtui.stack.action import Action
from raidtui.stack.fs import amplification, build, describe, health, plan, rules, teardown, verify
from raidtui.stack.fs.spec import FilesystemSpec
from raidtui.stack.layer import Layer

LAYER: Final = Layer(
    kind="filesystem",
    title="filesystem",
    spec=FilesystemSpec,
    offers="directory",
    inputs=plan.inputs,
    check=rules.check,
    describe=describe.describe,
    defaults=describe.defaults,
    tolerates_failures=describe.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    reduces=plan.reduces,
    amplifies=amplification.amplifies,
    also_called={"fs": "filesystem"}
    | {kind: f'filesystem with "type": "{kind}"' for kind in ("btrfs", "ext4", "f2fs", "xfs")},
    actions={
        "fs.make": Action(
            args=dict[str, Any],
            do=build.make,
            undo=teardown.teardown,
            leaves=lambda args: ((args["type"], args["uuid"]),),
        ),
        "fs.mount": Action(
            args=dict[str, Any],
            do=build.mount,
            undo=teardown.teardown,
            health=health.health,
            members=health.members,
        ),
        "fs.verify": Action(args=dict[str, Any], do=verify.verify),
        "fs.unmount": Action(args=dict[str, Any], do=teardown.teardown),
    },
)
