"""md arrays: Linux software RAID (md(4)), built by mdadm through libblockdev."""

from __future__ import annotations

from typing import Any, Final

from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.md import amplification, build, describe, health, plan, rules, sync, teardown, verify
from raidtui.stack.md.spec import MdSpec

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
    amplifies=amplification.amplifies,
    write_path=plan.write_path,
    actions={
        "md.create": Action(
            args=dict[str, Any],
            do=build.create,
            undo=teardown.teardown,
            health=health.health,
            members=health.members,
            leaves=lambda args: (("linux_raid_member", args["uuid"]),),
        ),
        "md.sync": Action(args=dict[str, Any], do=sync.wait),
        "md.verify": Action(args=dict[str, Any], do=verify.verify),
        "md.stop": Action(args=dict[str, Any], do=teardown.teardown),
    },
)
