"""Partitions: parts of the disks of a role, for over-provisioning, and for several layers on the same disks."""

from __future__ import annotations

from typing import Final

from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.partition import build, plan, teardown
from raidtui.stack.partition.spec import Partitions, PartitionSpec


def _leaves(made: Partitions) -> tuple[tuple[str, ...], ...]:
    return tuple(("gpt", table.guid) for table in made.tables)


LAYER: Final = Layer(
    kind="partition",
    title="partition",
    spec=PartitionSpec,
    offers="block",
    inputs=plan.inputs,
    check=plan.check,
    describe=plan.describe,
    defaults=plan.defaults,
    tolerates_failures=plan.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    devices=plan.devices,
    together=plan.plan_together,
    refuse_together=plan.refuse_together,
    amplifies=plan.amplifies,
    built_by_blivet=True,
    also_called={"part": "partition", "gpt": "partition", "partitions": "partition"},
    actions={
        "partition.create": Action(
            args=Partitions,
            do=build.create,
            undo=teardown.teardown,
            health=build.health,
            members=build.members,
            expect=build.expect,
            leaves=_leaves,
        ),
        "partition.verify": Action(args=Partitions, do=build.verify),
        "partition.remove": Action(args=Partitions, do=teardown.teardown),
    },
)
