"""Images in the run's pool; for the kernel's client (krbd), mapped as block devices, and the way back.

Source: Documentation/ABI/testing/sysfs-bus-rbd, drivers/block/rbd.c, rbd(8).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.inventory.udev import wait_for_udev
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.clusters import DEADLINE_S, await_mapped, left_behind, mapped_devices
from raidtui.stack.context import Context
from raidtui.stack.exports import NODE_TIMEOUT_S, await_unused, load_modules, problems_of
from raidtui.stack.rbd import plan
from raidtui.stack.rbd.cluster import argv_of, ask, run
from raidtui.stack.rbd.pool import await_rest
from raidtui.stack.rbd.spec import Image, RbdImages
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import until_gone

DEVICES: Final = Path("/sys/bus/rbd/devices")
SUPPORTED: Final = Path("/sys/bus/rbd/supported_features")
BITS: Final[Mapping[str, int]] = {
    "layering": 1 << 0, "striping": 1 << 1, "exclusive-lock": 1 << 2, "object-map": 1 << 3, "fast-diff": 1 << 4,
    "deep-flatten": 1 << 5, "journaling": 1 << 6, "data-pool": 1 << 7,
}  # fmt: skip
"""Bits of the features (include/rbd/features.h)."""

CANNOT_MAP: Final = Refusal(
    "rbd-feature-kernel",
    "This kernel cannot map the image",
    "The kernel's client (rbd.ko) lacks a feature of the image. The message names it.",
    'Name the features: "features": ["layering", "exclusive-lock"]; or use a newer kernel.',
)
NO_CLIENT: Final = Refusal(
    "rbd-no-client",
    "There is no client for the images",
    "krbd needs the kernel's module rbd, which cannot be loaded; librbd needs a fio with the engine rbd.",
    "Install the distribution's full kernel (linux-image-amd64), and restart if another one runs (`modprobe rbd`); `fio "
    "--enghelp` lists the engines of fio.",
)
NOT_MAPPED: Final = Refusal(
    "rbd-not-mapped",
    "The image is not mapped",
    "The kernel shows no block device for an image of the layout.",
    "Look at the kernel's messages (dmesg), then run it again.",
)


def node_of(images: RbdImages, image: Image) -> str | None:
    """Return the kernel name of the mapped image; None if it is not mapped. The cluster is not asked."""
    wanted = (images.pool, image.name)
    for folder in DEVICES.glob("*"):
        if (read_text(folder / "pool"), read_text(folder / "name")) == wanted:
            return f"rbd{folder.name}"
    return None


def nodes(images: RbdImages) -> list[str | None]:
    return [node_of(images, image) for image in images.images]


def in_the_way(images: RbdImages) -> Iterator[Problem]:
    """Yield a problem (`rbd-no-client`) if the client is not there: the kernel's module, or fio's engine."""
    tool, words = ("modprobe", ("--dry-run", "--quiet", *plan.MODULE.split()))
    if images.through == "librbd":
        tool, words = "fio", ("--enghelp=rbd",)
    elif DEVICES.is_dir():
        return
    path = proc.find_tool(tool)
    if path is None or proc.run([path, *words], timeout_s=DEADLINE_S, check=False).code:
        text = "the module rbd is neither loaded nor can it be" if tool == "modprobe" else "this fio has no engine rbd"
        yield NO_CLIENT.problem(text, place=images.name, remedy=NO_CLIENT.way_out, exit=Exit.REFUSED)


def create(context: Context, images: RbdImages) -> Outcome:
    """Make the images. They go with their pool."""
    context.stop_if_cancelled()
    there = ask("rbd", images.cluster, "ls", images.pool)
    commands: list[Argv] = []
    for argv in plan.images_argvs(images):
        if not any(argv == plan.image_argv(images, image) and image.name in there for image in images.images):
            context.stop_if_cancelled()
            run(argv)
            commands.append(argv)
    built_by_address(context, images)
    await_rest(context, images.cluster, images.pools)
    return Outcome("created", infos(images), tuple(commands))


def built_by_address(context: Context, images: RbdImages) -> None:
    """Images that fio opens by their address are built once they are there."""
    if images.through == "librbd":
        context.built |= {image.ref: plan.path_of(images, image) for image in images.images}


def infos(images: RbdImages) -> dict[str, Any]:
    """Return the images as the cluster has them, by name."""
    kept = ("id", "size", "object_size", "features", "data_pool", "stripe_unit", "stripe_count")
    found = {one.name: ask("rbd", images.cluster, "info", images.spec_of(one)) for one in images.images}
    return {name: {what: info[what] for what in kept if what in info} for name, info in found.items()}


def connect(context: Context, images: RbdImages) -> Outcome:
    """Map the images. Raises ProblemError (`rbd-feature-kernel`, …); those mapped until then are unmapped by the undo."""
    context.stop_if_cancelled()
    commands = load_modules([plan.MODULE])
    _refuse_features(images)
    for image in images.images:
        if node_of(images, image) is None:
            context.stop_if_cancelled()
            run(argv := plan.map_argv(images, image))
            commands.append(argv)
    found = await_mapped(lambda: nodes(images), images.name, NOT_MAPPED)
    wait_for_udev(found, NODE_TIMEOUT_S)
    for image, node in zip(images.images, found, strict=True):
        link = plan.path_of(images, image)
        # Without udev there are no names.
        context.built[image.ref] = link if os.path.realpath(link) == f"/dev/{node}" else f"/dev/{node}"
    facts = {"devices": found, "paths": [context.built[image.ref] for image in images.images]}
    return Outcome("created", facts, tuple(commands))


def _refuse_features(images: RbdImages) -> None:
    """Raise ProblemError (`rbd-feature-kernel`) for features of the images that the kernel lacks."""
    supported = int(read_text(SUPPORTED) or "-1", 0)
    for name, info in infos(images).items():
        if lacking := [one for one in info["features"] if not BITS.get(one, 0) & supported]:
            raise fail(CANNOT_MAP, f"image {name} has {', '.join(lacking)}, which this kernel lacks", place=name,
                       remedy=CANNOT_MAP.way_out, exit=Exit.BUILD_FAILED)  # fmt: skip


def verify(context: Context, images: RbdImages) -> Outcome:
    """Read pool and images back; facts are what was read. Raises ProblemError (`read-back`, `rbd-not-mapped`)."""
    found = infos(images)
    asked = {
        "size": images.size_bytes, "object_size": images.object_bytes, "data_pool": images.data_pool,
        "stripe_count": images.stripe_count, "stripe_unit": images.stripe_unit_bytes,
    }  # fmt: skip
    wrong = [
        Difference(f"{name} {what}", value, info.get(what))
        for name, info in found.items() for what, value in asked.items() if value is not None and info.get(what) != value
    ]  # fmt: skip
    for name, info in found.items():
        if lacking := sorted(set(images.features or ()) - set(info["features"])):
            wrong.append(Difference(f"{name} features", ", ".join(images.features or ()), "no " + ", ".join(lacking)))
    if wrong:
        raise mismatch("the image", images.name, wrong, "This version of Ceph made something else.")
    if images.through == "krbd":
        return Outcome("done", {"images": found, **_mapped(images)})
    of = [("pool", images.pool)] if images.own_pool else [("image", images.spec_of(one)) for one in images.images]
    for what, name in of:
        cache = run(argv_of("rbd", images.cluster, "config", what, "get", name, "rbd_cache")).text.strip()
        if cache != str(images.cache).lower():
            raise mismatch(f"the {what}", name, [Difference("rbd_cache", images.cache, cache)], "Somebody has changed it.")
    return Outcome("done", {"images": found, "rbd_cache": str(images.cache).lower()})


def _mapped(images: RbdImages) -> dict[str, list[str]]:
    """Return the devices with their sizes. Raises ProblemError (`rbd-not-mapped`, `read-back`)."""
    named = ((image.name, images.spec_of(image)) for image in images.images)
    return mapped_devices(named, nodes(images), images.size_bytes, NOT_MAPPED)


def disconnect(context: Context, images: RbdImages) -> Outcome:
    """Unmap the images: any number of times; the cluster is not needed for it.

    Raises ProblemError (exit 6): `export-busy`, `left-behind`.
    """
    commands: list[Argv] = []

    def attempt() -> str:
        for image in images.images:
            node = node_of(images, image)
            if node is None:
                continue
            await_unused(partial(list, [node]), image.name, f"{images.spec_of(image)} cannot be unmapped")
            argv = plan.unmap_argv(images, image)
            if os.path.realpath(argv[-1]) != f"/dev/{node}":
                argv = (*argv[:-1], f"/dev/{node}")
            try:
                run(argv)
            except ProblemError as error:
                if error.problems[0].code != TOOL_FAILED.code:
                    raise left_behind(error) from error
                return error.problems[0].message
            commands.append(argv)
        return ""

    until_gone(attempt, "the mapping", images.name)
    for image in images.images:
        context.built.pop(image.ref, None)
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))


def health(context: Context, images: RbdImages) -> tuple[str, ...]:
    return problems_of(lambda: _mapped(images))


def members(context: Context, images: RbdImages) -> Mapping[str, str]:
    return {node: "target" for node in nodes(images) if node is not None}
