"""Images of an existing Vitastor cluster, in a pool that is made for the run and removed after it."""

from __future__ import annotations

from typing import Final

from raidtui.model.tool import KernelModule, Tool
from raidtui.stack.action import Action
from raidtui.stack.layer import Layer
from raidtui.stack.vitastor import health, images, plan, pool
from raidtui.stack.vitastor.cluster import CLI, PACKAGE
from raidtui.stack.vitastor.spec import VitastorImages, VitastorPool, VitastorSpec

LAYER: Final = Layer(
    kind="vitastor",
    title="images of a Vitastor cluster",
    spec=VitastorSpec,
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
    tools=(
        Tool(name=CLI, needed_for="images of Vitastor clusters", remedy=PACKAGE, version=("--help",),
             without="no vitastor layers"),
    ),
    modules=(
        KernelModule(name="nbd", module="nbd", needed_for="images of Vitastor clusters as block devices",
                     only_for="images through nbd",
                     remedy="Install the distribution's full kernel (linux-image-amd64)."),
    ),
    daemons={"vitastor-osd": "osd", "etcd": "etcd", "vitastor-nbd": "nbd"},
    threads="nbd|kworker.*nbd",
    actions={
        "vitastor.pool": Action(
            args=VitastorPool, do=pool.create, undo=pool.remove, in_the_way=pool.in_the_way, watch=health.watch,
            daemons=health.daemons,
        ),
        "vitastor.images": Action(args=VitastorImages, do=images.create, in_the_way=images.in_the_way),
        "vitastor.map": Action(
            args=VitastorImages,
            do=images.connect,
            undo=images.disconnect,
            health=images.health,
            members=images.members,
            daemons=images.daemons,
        ),
        "vitastor.verify": Action(args=VitastorImages, do=images.verify),
        "vitastor.unmap": Action(args=VitastorImages, do=images.disconnect),
        "vitastor.remove": Action(args=VitastorPool, do=pool.remove),
    },
)  # fmt: skip
