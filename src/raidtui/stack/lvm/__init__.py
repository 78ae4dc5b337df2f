"""LVM volumes: linear, striped, with redundancy (lvm(8), lvmraid(7)), with cache, writecache, VDO or thin.

Each is in a volume group of its own.
"""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule, Tool
from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.lvm import build, describe, health, keep, plan, rules, teardown, verify
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.spec import LvmSpec, inputs

LAYER: Final = Layer(
    kind="lvm",
    title="LVM volume",
    spec=LvmSpec,
    offers="block",
    # The first version with --devices.
    tools=(
        Tool(name="lvm", needed_for="LVM volumes", remedy="apt install lvm2", version=("version",), at_least=(2, 3, 12)),
    ),
    modules=(
        KernelModule(name="VDO", module="dm-vdo", needed_for="compression and deduplication in LVM", tool="vdoformat",
                     remedy="Use a kernel from 6.9 on, which has it.", tool_remedy="apt install vdo",
                     only_for="compression and deduplication"),
    ),
    built_by_blivet=True,
    threads="dm[-_]|kdm|kcryptd",
    inputs=inputs,
    check=rules.check,
    describe=describe.describe,
    defaults=describe.defaults,
    tolerates_failures=describe.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    devices=lambda spec, _: spec.volumes,
    reduces=plan.reduces,
    cautions=describe.cautions,
    amplifies=describe.amplifies,
    write_path=describe.write_path,
    also_called={
        "lv": "lvm",
        "dm-cache": 'lvm with "cache"',
        "lvmcache": 'lvm with "cache"',
        "dm-writecache": 'lvm with "writecache"',
        "vdo": 'lvm with "vdo"',
        "thin": 'lvm with "thin"',
    },
    actions={
        "lvm.group": Action(
            args=LvmGroup,
            do=build.create_group,
            undo=teardown.teardown,
            members=health.members,
            leaves=lambda vg: tuple(("LVM2_member", pv.uuid) for pv in vg.pvs),
        ),
        "lvm.volume": Action(args=LvmGroup, do=build.create_volume, health=health.health, members=health.members),
        "lvm.sync": Action(args=LvmGroup, do=health.wait_for_sync),
        "lvm.cache": Action(args=LvmGroup, do=build.attach_cache),
        "lvm.pool": Action(args=LvmGroup, do=build.make_pool),
        "lvm.verify": Action(args=LvmGroup, do=verify.verify),
        "lvm.keep": Action(args=LvmGroup, do=keep.keep, in_the_way=keep.in_the_way),
        "lvm.remove": Action(args=LvmGroup, do=teardown.teardown),
    },
)
