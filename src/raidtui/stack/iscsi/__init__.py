"""iSCSI: devices that the kernel's target (LIO) exports, with sessions of this server itself or of other hosts."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule, Tool
from raidtui.stack import exports
from raidtui.stack.action import Action
from raidtui.stack.iscsi import plan
from raidtui.stack.iscsi.build import EXPORTS, in_the_way
from raidtui.stack.iscsi.spec import IscsiExport, IscsiSpec
from raidtui.stack.layer import Layer

_FULL_KERNEL: Final = "Install the distribution's full kernel (linux-image-amd64)."

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
    lacking_here=plan.lacking_here,
    shape=exports.shape,
    devices=exports.devices,
    exports=True,
    amplifies=exports.amplifies,
    tools=(
        Tool(name="iscsiadm", needed_for="exports over iSCSI", remedy="apt install open-iscsi", without="no iscsi layers"),
    ),
    modules=(
        KernelModule(name="iscsi-target", module="iscsi_target_mod", needed_for="exports over iSCSI",
                     remedy=_FULL_KERNEL),
        KernelModule(name="ib_isert", module="ib_isert", needed_for="iSCSI targets over RDMA", remedy=_FULL_KERNEL,
                     only_for="targets over RDMA"),
        KernelModule(name="ib_iser", module="ib_iser", needed_for="iSCSI sessions over RDMA", remedy=_FULL_KERNEL,
                     only_for="sessions over RDMA"),
    ),
    builder_modules={"rtslib_fb": "apt install python3-rtslib-fb"},
    without_builder=("iscsi.login", "iscsi.logout"),
    threads="iscsi_|iser|isert|ib-comp|rxe_wq|kworker.*iscsi|target_|iblock",
    also_called={"lio": "iscsi", "iser": "iscsi"},
    actions={
        "iscsi.export": Action(
            args=IscsiExport,
            do=EXPORTS.create,
            in_the_way=in_the_way,
            undo=EXPORTS.teardown,
            health=EXPORTS.health,
            members=EXPORTS.members,
        ),
        "iscsi.verify": Action(args=IscsiExport, do=EXPORTS.verify),
        "iscsi.remove": Action(args=IscsiExport, do=EXPORTS.teardown),
        "iscsi.offer": Action(
            args=IscsiExport,
            do=EXPORTS.target.offer,
            in_the_way=in_the_way,
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
