"""Images of an existing Ceph cluster (RBD), in a pool that is made for the run and removed after it."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule, Tool
from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.rbd import existing, health, images, plan, pool, scrub
from raidtui.stack.rbd.cluster import PACKAGE
from raidtui.stack.rbd.spec import RbdImages, RbdPool, RbdScrubs, RbdSpec

LAYER: Final = Layer(
    kind="rbd",
    title="images of a Ceph cluster (RBD)",
    spec=RbdSpec,
    offers="block",
    inputs=plan.inputs,
    check=plan.check,
    describe=plan.describe,
    defaults=plan.defaults,
    tolerates_failures=plan.tolerates_failures,
    plan=plan.plan,
    shape=plan.shape,
    devices=plan.devices,
    amplifies=plan.amplifies,
    measured_as=plan.measured_as,
    cautions=plan.cautions,
    tools=(
        Tool(name="ceph", needed_for="images of Ceph clusters", remedy=PACKAGE, without="no rbd layers"),
        Tool(name="rbd", needed_for="images of Ceph clusters", remedy=PACKAGE, without="no rbd layers"),
    ),
    modules=(
        KernelModule(name="krbd", module="rbd", needed_for="images of Ceph clusters as block devices",
                     only_for="images through krbd",
                     remedy="Install the distribution's full kernel (linux-image-amd64)."),
    ),
    daemons={"ceph-osd": "osd", "ceph-mon": "mon", "ceph-mgr": "mgr"},
    threads="rbd|ceph|kworker.*(rbd|ceph)",
    also_called=dict.fromkeys(("ceph", "krbd", "rados"), "rbd"),
    actions={
        "rbd.hold": Action(args=RbdScrubs, do=scrub.hold, undo=scrub.release, claims=scrub.claims),
        "rbd.release": Action(args=RbdScrubs, do=scrub.release),
        "rbd.pool": Action(
            args=RbdPool, do=pool.create, undo=pool.remove, in_the_way=pool.in_the_way, watch=health.watch,
            daemons=health.daemons,
        ),
        "rbd.images": Action(args=RbdImages, do=images.create, in_the_way=images.in_the_way),
        "rbd.put": Action(
            args=RbdImages, do=existing.put, undo=existing.take, watch=health.watch, daemons=health.daemons,
            claims=existing.claims,
            in_the_way=lambda args: (*existing.in_the_way(args), *images.in_the_way(args)),
        ),
        "rbd.take": Action(args=RbdImages, do=existing.take),
        "rbd.map": Action(
            args=RbdImages,
            do=images.connect,
            undo=images.disconnect,
            health=images.health,
            members=images.members,
        ),
        "rbd.verify": Action(args=RbdImages, do=images.verify),
        "rbd.unmap": Action(args=RbdImages, do=images.disconnect),
        "rbd.remove": Action(args=RbdPool, do=pool.remove),
    },
)  # fmt: skip
