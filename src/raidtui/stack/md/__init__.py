"""md arrays: Linux software RAID (md(4)), built by mdadm through blivet."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from raidtui.model.tool import KernelModule, Tool
from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.md import build, describe, keep, plan, rules, teardown, verify
from raidtui.stack.md.spec import MdArray, MdSpec

LAYER: Final = Layer(
    kind="md",
    title="md array",
    spec=MdSpec,
    offers="block",
    inputs=plan.inputs,
    check=rules.check,
    describe=describe.describe,
    defaults=describe.defaults,
    tolerates_failures=describe.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    amplifies=describe.amplifies,
    write_path=describe.write_path,
    tools=(Tool(name="mdadm", needed_for="md arrays", remedy="apt install mdadm"),),
    modules=(
        KernelModule(name="md driver", module="raid456", needed_for="md arrays", sign=Path("/proc/mdstat"),
                     remedy="Install the distribution's full kernel (linux-image-amd64)."),
    ),
    built_by_blivet=True,
    threads=r"md\d|md_|mdX|raid",
    also_called={"mdadm": "md", "mdraid": "md", "raid": "md"}
    | {level: f'md with "level": "{level}"' for level in ("raid0", "raid1", "raid4", "raid5", "raid6", "raid10")},
    actions={
        "md.create": Action(
            args=MdArray,
            do=build.create,
            undo=teardown.teardown,
            health=verify.health,
            members=verify.members,
            expect=verify.expect,
            leaves=lambda array: (("linux_raid_member", array.uuid),),
        ),
        "md.sync": Action(args=MdArray, do=build.wait_for_sync),
        "md.verify": Action(args=MdArray, do=verify.verify),
        "md.verify-syncing": Action(args=MdArray, do=verify.verify_syncing),
        "md.keep": Action(args=MdArray, do=keep.keep, in_the_way=keep.in_the_way),
        "md.stop": Action(args=MdArray, do=teardown.teardown),
    },
)
