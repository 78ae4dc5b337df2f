"""NVMe over Fabrics: devices that the kernel's target exports, connected to by this server itself or by other hosts."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule
from raidtui.stack import exports
from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.nvmeof import plan
from raidtui.stack.nvmeof.build import EXPORTS, in_the_way
from raidtui.stack.nvmeof.spec import Export, NvmeofSpec

_FULL_KERNEL: Final = "Install the distribution's full kernel (linux-image-amd64)."

LAYER: Final = Layer(
    kind="nvmeof",
    title="export over NVMe-oF",
    spec=NvmeofSpec,
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
    modules=(
        KernelModule(name="nvmet-tcp", module="nvmet-tcp", needed_for="exports over NVMe/TCP", remedy=_FULL_KERNEL,
                     only_for="exports over NVMe/TCP"),
        KernelModule(name="nvmet-rdma", module="nvmet-rdma", needed_for="exports over NVMe/RDMA", remedy=_FULL_KERNEL,
                     only_for="exports over NVMe/RDMA"),
        KernelModule(name="nvme-rdma", module="nvme-rdma", needed_for="connections over NVMe/RDMA", remedy=_FULL_KERNEL,
                     only_for="connections over NVMe/RDMA"),
        KernelModule(name="nvme-loop", module="nvme-loop", needed_for="exports over NVMe loop", remedy=_FULL_KERNEL,
                     only_for="exports over NVMe loop"),
    ),
    built_by_blivet=True,
    threads="nvmet|nvme[-_](tcp|rdma|loop)|ib-comp|rxe_wq",
    also_called=dict.fromkeys(("nvme-of", "nvmet", "nvme-tcp", "nvme-rdma", "nvme-over-fabrics"), "nvmeof"),
    actions={
        "nvmeof.export": Action(
            args=Export,
            do=EXPORTS.create,
            in_the_way=in_the_way,
            undo=EXPORTS.teardown,
            health=EXPORTS.health,
            members=EXPORTS.members,
        ),
        "nvmeof.verify": Action(args=Export, do=EXPORTS.verify),
        "nvmeof.remove": Action(args=Export, do=EXPORTS.teardown),
        "nvmeof.offer": Action(
            args=Export,
            do=EXPORTS.target.offer,
            in_the_way=in_the_way,
            undo=EXPORTS.target.withdraw,
            health=EXPORTS.target.health,
            members=EXPORTS.target.members,
        ),
        "nvmeof.withdraw": Action(args=Export, do=EXPORTS.target.withdraw),
        "nvmeof.connect": Action(
            args=Export,
            do=EXPORTS.initiator.join,
            undo=EXPORTS.initiator.leave,
            health=EXPORTS.initiator.health,
        ),
        "nvmeof.disconnect": Action(args=Export, do=EXPORTS.initiator.leave),
    },
)  # fmt: skip
