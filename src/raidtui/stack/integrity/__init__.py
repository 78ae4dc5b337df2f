"""dm-integrity: devices with a checksum for each sector, made and opened by libcryptsetup through blivet."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule
from raidtui.stack import mapping
from raidtui.stack.action import Action
from raidtui.stack.integrity import plan, superblock
from raidtui.stack.integrity.build import DEVICES
from raidtui.stack.integrity.spec import DmIntegritySpec, IntegrityDevice
from raidtui.stack.layer import Layer


def _leaves(device: IntegrityDevice) -> tuple[tuple[str, ...], ...]:
    return (("DM_integrity", "", superblock.label(device)),)


LAYER: Final = Layer(
    kind="integrity",
    title="integrity device",
    spec=DmIntegritySpec,
    offers="block",
    inputs=plan.inputs,
    check=plan.check,
    describe=plan.describe,
    defaults=plan.defaults,
    tolerates_failures=plan.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    amplifies=plan.amplifies,
    modules=(
        KernelModule(name="dm-integrity", module="dm-integrity", needed_for="integrity devices", tool="dmsetup",
                     remedy="Install the distribution's full kernel (linux-image-amd64).",
                     tool_remedy="apt install dmsetup"),
    ),
    built_by_blivet=True,
    threads="dm-integrity",
    also_called={"dm-integrity": "integrity"},
    actions={
        "integrity.create": Action(
            args=IntegrityDevice,
            do=DEVICES.create,
            undo=DEVICES.teardown,
            health=DEVICES.health,
            members=mapping.members,
            expect=DEVICES.expect,
            leaves=_leaves,
        ),
        "integrity.verify": Action(args=IntegrityDevice, do=DEVICES.verify),
        "integrity.close": Action(args=IntegrityDevice, do=DEVICES.teardown),
    },
)
