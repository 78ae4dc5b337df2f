"""iSCSI: devices that the kernel's target (LIO) exports, with a session of this server itself."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule, Tool
from raidtui.stack import exports
from raidtui.stack.action import Action
from raidtui.stack.iscsi import plan
from raidtui.stack.iscsi.build import EXPORTS
from raidtui.stack.iscsi.spec import IscsiExport, IscsiSpec
from raidtui.stack.layer import Layer

LAYER: Final = Layer(
    kind="iscsi",
    title="export over iSCSI",
    spec=IscsiSpec,
    offers="block",
    inputs=plan.inputs,
    check=plan.check,
    describe=plan.describe,
    defaults=plan.defaults,
    tolerates_failures=exports.tolerates_failures,
    plan=plan.plan,
    exported_to=plan.exported_to,
    plan_on=plan.plan_on,
    shape=exports.shape,
    devices=exports.devices,
    amplifies=exports.amplifies,
    tools=(
        Tool(name="iscsiadm", needed_for="exports over iSCSI", remedy="apt install open-iscsi", without="no iscsi layers"),
    ),
    modules=(
        KernelModule(name="iscsi-target", module="iscsi_target_mod", needed_for="exports over iSCSI",
                     remedy="Install the distribution's full kernel (linux-image-amd64)."),
    ),
    builder_modules={"rtslib_fb": "apt install python3-rtslib-fb"},
    without_builder=("iscsi.login", "iscsi.logout"),
    threads="iscsi_|kworker.*iscsi|target_|iblock",
    also_called={"lio": "iscsi"},
    actions={
        "iscsi.export": Action(
            args=IscsiExport,
            do=EXPORTS.create,
            undo=EXPORTS.teardown,
            health=EXPORTS.health,
            members=EXPORTS.members,
        ),
        "iscsi.verify": Action(args=IscsiExport, do=EXPORTS.verify),
        "iscsi.remove": Action(args=IscsiExport, do=EXPORTS.teardown),
        "iscsi.offer": Action(
            args=IscsiExport,
            do=EXPORTS.target.offer,
            undo=EXPORTS.target.withdraw,
            health=EXPORTS.target.health,
            members=EXPORTS.target.members,
        ),
        "iscsi.withdraw": Action(args=IscsiExport, do=EXPORTS.target.withdraw),
        "iscsi.login": Action(
            args=IscsiExport,
            do=EXPORTS.initiator.join,
            undo=EXPORTS.initiator.leave,
            health=EXPORTS.initiator.health,
        ),
        "iscsi.logout": Action(args=IscsiExport, do=EXPORTS.initiator.leave),
    },
)  # fmt: skip
