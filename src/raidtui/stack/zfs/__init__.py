"""ZFS pools with one volume or one filesystem in them (zpoolconcepts(7)), built by `zpool` and by pyzfs."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import Tool
from raidtui.stack.action import Action
from raidtui.stack.layer import Layer, ModuleParameters
from raidtui.stack.zfs import (
    arc,
    build,
    describe,
    free_space,
    keep,
    plan,
    rewind,
    rollback,
    rules,
    spec,
    teardown,
    verify,
)
from raidtui.stack.zfs.commands import ArcLimit, ZfsPool
from raidtui.stack.zfs.tuning import CLAIM, PARAMETERS, make_ready, refuse_no_way_back


def _leaves(zpool: ZfsPool) -> tuple[tuple[str, ...], ...]:
    tables = tuple(("gpt", entry.disk_guid) for entry in zpool.devices if entry.disk_guid)
    return (*tables, ("zfs_member", "", zpool.name))


LAYER: Final = Layer(
    kind="zpool",
    title="ZFS pool",
    spec=spec.ZpoolSpec,
    offers="block",
    # The first that gives its state as JSON.
    tools=(
        Tool(
            name="zpool",
            known_as="zfs",
            needed_for="ZFS pools",
            remedy="apt install zfsutils-linux zfs-dkms",
            version=("version",),
            at_least=(2, 3),
        ),
    ),
    builder_modules={"libzfs_core": "apt install python3-pyzfs"},
    memory_cache="arc",
    threads="z_|zvol|zfs|txg_|spa_|dbu_|dp_|arc_|l2arc",
    inputs=spec.ZpoolSpec.operands,
    check=rules.check,
    describe=describe.describe,
    defaults=describe.defaults,
    tolerates_failures=describe.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    devices=lambda spec, _: spec.volumes,
    measured_as=plan.measured_as,
    resets=("rollback", "rewind"),
    reduces=plan.reduces,
    cautions=plan.cautions,
    amplifies=describe.amplifies,
    write_path=describe.write_path,
    memory_bytes=plan.memory_bytes,
    also_called={"zfs": "zpool", "pool": "zpool"},
    parameters=ModuleParameters(PARAMETERS, CLAIM, make_ready, refuse_no_way_back),
    actions={
        "zpool.arc": Action(args=ArcLimit, do=arc.limit, undo=arc.put_back, claims=lambda _: (CLAIM,)),
        "zpool.create": Action(
            args=ZfsPool,
            do=build.create,
            undo=teardown.teardown,
            health=verify.health,
            settle=build.settle,
            members=verify.members,
            relies_on=lambda _: (CLAIM,),  # the parameters hold for every pool of the server
            leaves=_leaves,
        ),
        "zpool.trim": Action(args=ZfsPool, do=free_space.trim),
        "zpool.initialize": Action(args=ZfsPool, do=free_space.initialize),
        "zpool.volume": Action(args=ZfsPool, do=build.create_volume),
        "zpool.dataset": Action(args=ZfsPool, do=build.create_filesystem),
        "zpool.mount": Action(args=ZfsPool, do=build.mount),
        "zpool.verify": Action(args=ZfsPool, do=verify.verify),
        "zpool.snapshot": Action(args=ZfsPool, do=rollback.take_snapshot),
        "zpool.rollback": Action(args=ZfsPool, do=rollback.roll_back),
        "zpool.checkpoint": Action(args=ZfsPool, do=rewind.take_checkpoint),
        "zpool.rewind": Action(args=ZfsPool, do=rewind.rewind),
        "zpool.cold": Action(args=ZfsPool, do=build.make_cold),
        "zpool.by-id": Action(args=keep.KeptPool, do=keep.import_by_id),
        "zpool.keep": Action(args=keep.KeptPool, do=keep.keep, in_the_way=keep.in_the_way),
        "zpool.destroy": Action(args=ZfsPool, do=teardown.teardown),
        "zpool.arc-back": Action(args=ArcLimit, do=arc.put_back),
    },
)
