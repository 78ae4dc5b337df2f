"""Images in the run's pool; by vitastor-nbd, mapped as block devices, and the way back.

A mapped image has a process vitastor-nbd, whose arguments `vitastor-nbd ls` shows. raidtui makes the link
/dev/vitastor/IMAGE to its device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.inventory.udev import wait_for_udev
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal
from raidtui.model.refusals import FIO_ENGINE_VERSION
from raidtui.stack.action import Outcome
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.clusters import DEADLINE_S, await_mapped, left_behind, mapped_devices
from raidtui.stack.context import Context
from raidtui.stack.exports import NODE_TIMEOUT_S, await_unused, problems_of
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import until_gone
from raidtui.stack.vitastor import plan
from raidtui.stack.vitastor.cluster import ask, run
from raidtui.stack.vitastor.spec import VitastorCluster, VitastorImages, ref_of

ENGINE: Final = "libfio_vitastor.so"
NBD: Final = "vitastor-nbd"

NO_CLIENT: Final = Refusal(
    "vitastor-no-client",
    "There is no client for the images",
    "`engine` needs the engine of Vitastor for fio (libfio_vitastor.so) where fio finds libraries; `nbd` needs "
    "vitastor-nbd and the kernel's module nbd.",
    "Install vitastor-fio or vitastor-client of Vitastor's own package repository; for nbd also the distribution's full "
    "kernel (linux-image-amd64).",
)
NOT_MAPPED: Final = Refusal(
    "vitastor-not-mapped",
    "The image is not mapped",
    "No process vitastor-nbd serves an image of the layout, or its block device has no size.",
    "Look at the kernel's messages (dmesg), then run it again.",
)


def mapped() -> dict[str, str]:
    """Return the kernel names of the devices that vitastor-nbd serves, by image. The cluster is not asked."""
    listed = ask(VitastorCluster(), "ls", tool=NBD)
    return {str(one["image"]): device.removeprefix("/dev/") for device, one in listed.items() if "image" in one}


def nodes(images: VitastorImages) -> list[str | None]:
    """Return the kernel name of each image of the layout; None for one that is not mapped."""
    found = mapped()
    return [found.get(image) for image in images.images]


def in_the_way(images: VitastorImages) -> Iterator[Problem]:
    """Yield a problem if the client is not there (`vitastor-no-client`) or does not fit (`fio-engine-version`)."""
    refusal, text = NO_CLIENT, ""
    if images.through == "nbd":
        if proc.find_tool(NBD) is None:
            text = f"{NBD} is not installed"
        elif not Path("/sys/module/nbd").is_dir() and not _runs("modprobe", "--dry-run", "--quiet", "nbd"):
            text = "the module nbd is neither loaded nor can it be"
    elif (said := _runs("fio", f"--enghelp={ENGINE}")) is None or said.code:
        text = f"this fio cannot load {ENGINE}"
        if said is not None and "bad ioops version" in said.error_text + said.text:
            refusal = FIO_ENGINE_VERSION
            text = f"{ENGINE} was built for another version of fio"
    if text:
        yield refusal.problem(text, place=images.name, remedy=refusal.way_out, exit=Exit.REFUSED)


def _runs(tool: str, *words: str) -> proc.Finished | None:
    """Return what a tool said; None if it is not installed."""
    path = proc.find_tool(tool)
    return proc.run([path, *words], timeout_s=DEADLINE_S, check=False) if path is not None else None


def create(context: Context, images: VitastorImages) -> Outcome:
    """Make the images. They are removed with their pool."""
    there = {one["name"] for one in ask(images.cluster, "ls")}
    commands: list[Argv] = []
    for image, argv in zip(images.images, plan.images_argvs(images), strict=True):
        if image not in there:
            context.stop_if_cancelled()
            run(argv)
            commands.append(argv)
    if images.through == "engine":
        context.built |= {ref_of(image): plan.path_of(images, image) for image in images.images}
    return Outcome("created", _infos(images), tuple(commands))


def _infos(images: VitastorImages) -> dict[str, Any]:
    """Return the images as the cluster has them, by name."""
    kept = ("inode_num", "size", "pool_name", "readonly")
    listed = {one["name"]: one for one in ask(images.cluster, "ls") if one["name"] in images.images}
    return {name: {what: one[what] for what in kept if what in one} for name, one in listed.items()}


def verify(context: Context, images: VitastorImages) -> Outcome:
    """Read the images back; facts are what was read. Raises ProblemError (`read-back`, `vitastor-not-mapped`)."""
    found = _infos(images)
    asked = {"size": images.size_bytes, "pool_name": images.pool}
    wrong = [
        Difference(f"{name} {what}", value, found.get(name, {}).get(what))
        for name in images.images for what, value in asked.items() if found.get(name, {}).get(what) != value
    ]  # fmt: skip
    if wrong:
        raise mismatch("the image", images.name, wrong, "This version of Vitastor made something else.")
    return Outcome("done", {"images": found, **(_mapped(images) if images.through == "nbd" else {})})


def connect(context: Context, images: VitastorImages) -> Outcome:
    """Map the images. Raises ProblemError; those mapped until then are unmapped by the undo."""
    commands: list[Argv] = []
    for image, argv in zip(images.images, plan.map_argvs(images), strict=True):
        if image not in mapped():
            context.stop_if_cancelled()
            run(argv)
            commands.append(argv)
    found = await_mapped(lambda: nodes(images), images.name, NOT_MAPPED)
    wait_for_udev(found, NODE_TIMEOUT_S)
    for image, node in zip(images.images, found, strict=True):
        link = Path(plan.link_of(image))
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(f"/dev/{node}")
        context.built[ref_of(image)] = str(link)
    return Outcome("created", {"devices": found}, tuple(commands))


def _mapped(images: VitastorImages) -> dict[str, list[str]]:
    """Return the devices with their sizes. Raises ProblemError (`vitastor-not-mapped`, `read-back`)."""
    return mapped_devices(zip(images.images, images.images, strict=True), nodes(images), images.size_bytes, NOT_MAPPED)


def disconnect(context: Context, images: VitastorImages) -> Outcome:
    """Unmap the images: any number of times; the cluster is not needed for it.

    Raises ProblemError (exit 6): `export-busy`, `left-behind`.
    """
    commands: list[Argv] = []

    def attempt() -> str:
        for image, node in zip(images.images, nodes(images), strict=True):
            if node is None:
                continue
            await_unused(partial(list, [node]), image, f"{image} cannot be unmapped")
            argv = (NBD, "unmap", f"/dev/{node}")
            try:
                run(argv)
            except ProblemError as error:
                if error.problems[0].code != TOOL_FAILED.code:
                    raise
                return error.problems[0].message
            commands.append(argv)
        return "; ".join(f"{node} is still mapped" for node in nodes(images) if node is not None)

    try:
        if proc.find_tool(NBD) is not None:
            until_gone(attempt, "the mapping", images.name)
    except ProblemError as error:
        raise left_behind(error) from error
    for image in images.images:
        Path(plan.link_of(image)).unlink(missing_ok=True)
        context.built.pop(ref_of(image), None)
    with suppress(OSError):
        Path(plan.LINKS).rmdir()
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))


def health(context: Context, images: VitastorImages) -> tuple[str, ...]:
    return problems_of(lambda: _mapped(images))


def daemons(context: Context, images: VitastorImages) -> Mapping[str, int]:
    """Return the number of processes vitastor-nbd of the layout."""
    return {"nbd": sum(node is not None for node in nodes(images))}


def members(context: Context, images: VitastorImages) -> Mapping[str, str]:
    return {node: "target" for node in nodes(images) if node is not None}
