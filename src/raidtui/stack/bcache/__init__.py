"""bcache: a fast device that caches a slow one, made by make-bcache and the kernel's sysfs files."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule
from raidtui.stack.action import Action
from raidtui.stack.bcache import build, describe, kernel, plan, rules, teardown, verify
from raidtui.stack.bcache.spec import BcacheDevice, BcacheSpec
from raidtui.stack.layer import Layer


def _leaves(cached: BcacheDevice) -> tuple[tuple[str, str], ...]:
    # Between make-bcache and the planned UUID the superblock has another UUID, which only the superblock itself tells.
    return tuple(("bcache", found) for found in dict.fromkeys(kernel.signatures(cached)))


LAYER: Final = Layer(
    kind="bcache",
    title="bcache",
    spec=BcacheSpec,
    offers="block",
    modules=(
        KernelModule(
            name="bcache",
            module="bcache",
            needed_for="bcache layers: a fast device as cache of a slow one",
            tool="make-bcache",
            remedy="Install the distribution's full kernel (linux-image-amd64).",
            tool_remedy="apt install bcache-tools",
        ),
    ),
    threads="bcache",
    inputs=plan.inputs,
    check=rules.check,
    describe=describe.describe,
    defaults=describe.defaults,
    tolerates_failures=describe.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    amplifies=describe.amplifies,
    write_path=describe.write_path,
    replaces=rules.replaces,
    actions={
        "bcache.create": Action(
            args=BcacheDevice,
            do=build.create,
            undo=teardown.teardown,
            health=verify.health,
            members=verify.members,
            leaves=_leaves,
        ),
        "bcache.tune": Action(args=BcacheDevice, do=build.tune),
        "bcache.verify": Action(args=BcacheDevice, do=verify.verify),
        "bcache.detach": Action(args=BcacheDevice, do=teardown.detach),
        "bcache.remove": Action(args=BcacheDevice, do=teardown.teardown),
    },
)
