"""bcache: a fast device that caches a slow one, made by make-bcache and the kernel's sysfs files."""

from __future__ import annotations

from typing import Any, Final

from raidtui.stack.action import Action
from raidtui.stack.bcache import (
    amplification,
    build,
    describe,
    health,
    kernel,
    plan,
    rules,
    teardown,
    verify,
    writeback,
)
from raidtui.stack.bcache.spec import BcacheSpec
from raidtui.stack.layer import Layer


def _leaves(args: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    # Between make-bcache and the planned UUID the superblock has another UUID, which only the superblock itself tells.
    return tuple(("bcache", found) for found in dict.fromkeys(kernel.signatures(args)))


LAYER: Final = Layer(
    kind="bcache",
    title="bcache",
    spec=BcacheSpec,
    offers="block",
    inputs=plan.inputs,
    check=rules.check,
    describe=describe.describe,
    defaults=describe.defaults,
    tolerates_failures=describe.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    amplifies=amplification.amplifies,
    write_path=describe.write_path,
    replaces=rules.replaces,
    actions={
        "bcache.create": Action(
            args=dict[str, Any],
            do=build.create,
            undo=teardown.teardown,
            health=health.health,
            members=health.members,
            leaves=_leaves,
        ),
        "bcache.tune": Action(args=dict[str, Any], do=build.tune),
        "bcache.verify": Action(args=dict[str, Any], do=verify.verify),
        "bcache.detach": Action(args=dict[str, Any], do=writeback.detach),
        "bcache.remove": Action(args=dict[str, Any], do=teardown.teardown),
    },
)
