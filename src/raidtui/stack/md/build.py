"""Creating an array on exactly the intended devices, and waiting for its initial sync."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base.attention import Watch
from raidtui.base.files import read_int, read_text
from raidtui.base.silence import Silent
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.model.units import duration_text
from raidtui.stack import blockdev
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.md import kernel
from raidtui.stack.md.plan import create_extra, mdadm_uuid, node_path
from raidtui.stack.md.spec import MdArray
from raidtui.stack.md.teardown import teardown
from raidtui.stack.md.verify import NOT_THERE, REMEDY, Device, all_devices, differences, the_array
from raidtui.stack.read_back import MEMBER_LOST, NOT_PROVEN_ZERO, SYNC_STALLED, WRONG_MEMBERS, mismatch

NODE_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.25
_FASTEST_KIB_S: Final = 100_000_000

NAME_TAKEN: Final = Refusal(
    "md-name-taken",
    "The name of the array is taken",
    "A device with the planned name exists already. It does not belong to this run and was not touched.",
    "Run it again: every plan has new names.",
)


def create(context: Context, array: MdArray) -> Outcome:
    """Create the array, wait for its node, and check its devices and geometry.

    Raises ProblemError. An array that differs from the requested one is removed first.
    """
    context.stop_if_cancelled()
    devices = all_devices(context, array)
    if arrays := kernel.find(array.uuid):
        _check_members(arrays[0], devices, array)
        context.built[array.ref] = _path_of(arrays[0], array.name)
        return Outcome("already there", _facts(arrays[0], array))
    _refuse_taken_name(array.name)
    initial_sync = _initial_sync(context, array)
    context.about_to_write(array.disks)
    blockdev.load("mdraid")  # now, because it is slow, and lent disks are not held
    with context.lend(array.disks):
        commands = _create(array, devices)
    try:
        name = _wait_for_array(array)
        _check_members(name, devices, array)
        if wrong := differences(array, kernel.read_back(name)):
            raise mismatch("the array", array.name, wrong, REMEDY)
    except ProblemError:
        # The first problem is the one to report; the teardown of the block reports what this one could not remove.
        with suppress(ProblemError):
            teardown(context, array)
        raise
    context.built[array.ref] = _path_of(name, array.name)
    return Outcome("created", {**_facts(name, array), "initial_sync": initial_sync}, commands)


def _create(array: MdArray, devices: list[Device]) -> tuple[Argv, ...]:
    paths: dict[str, list[str]] = {"member": [], "spare": [], "journal": []}
    for found in devices:
        paths[found.role].append(found.path)
    journal = paths["journal"][0] if paths["journal"] else None
    called = blockdev.call(
        "mdraid",
        "md_create",
        node_path(array.name),
        array.level,
        paths["member"] + paths["spare"],
        len(paths["spare"]),
        array.metadata,
        array.bitmap,
        array.chunk_bytes or 0,
        extra=create_extra(array, journal),
    )
    return called.commands


def _initial_sync(context: Context, array: MdArray) -> str:
    """Return the initial-sync mode. Raises ProblemError (`not-proven-zero`) without proof of a skipped one."""
    if array.level == "raid0":
        return "none needed"
    if not array.assume_clean:
        return "not finished"
    methods = set()
    for ref in array.members:
        proof = context.zero_proof.get(ref.removeprefix("disk:"))
        if proof is None:
            raise fail(NOT_PROVEN_ZERO, "the initial sync cannot be skipped: the disk was not proven to be zero",
                       place=ref, remedy='Set "initial_sync" of the policy to "wait".', exit=Exit.BUILD_FAILED)  # fmt: skip
        methods.add(str(proof.get("method", "read back")))
    return f"skipped: all members were proven zero ({', '.join(sorted(methods))})"


def _refuse_taken_name(name: str) -> None:
    path = node_path(name)
    if os.path.lexists(path):
        raise fail(NAME_TAKEN, f"{path} exists already and does not belong to this run", place=path,
                   remedy="Replay again: every plan has new names.", exit=Exit.REFUSED)  # fmt: skip


def _wait_for_array(array: MdArray) -> str:
    """Wait for the new array and its node, and return its kernel name."""
    until = time.monotonic() + NODE_TIMEOUT_S
    path = node_path(array.name)
    while True:
        arrays = kernel.find(array.uuid)
        if len(arrays) == 1 and Path(path).exists() and _path_of(arrays[0], array.name) == path:
            return arrays[0]
        if time.monotonic() > until:
            if len(arrays) == 1 and Path(f"/dev/{arrays[0]}").exists():
                return arrays[0]  # without udev there is a node but no link
            raise fail(NOT_THERE, f"mdadm succeeded, but array {mdadm_uuid(array.uuid)} does not exist", place=path,
                       remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(0.05)


def _path_of(kernel_name: str, name: str) -> str:
    path = node_path(name)
    return path if os.path.realpath(path) == f"/dev/{kernel_name}" else f"/dev/{kernel_name}"


def _check_members(name: str, devices: list[Device], array: MdArray) -> None:
    """Check that the array has exactly the intended devices, by number; the permits guarantee the identity of the disks."""
    found, wanted = kernel.member_numbers(name), {device.devno for device in devices}
    if found != wanted:
        text = f"the array uses the devices {_numbers(found)} instead of {_numbers(wanted)}"
        raise fail(WRONG_MEMBERS, text, place=array.name, remedy="Look at dmesg; plan again.", exit=Exit.BUILD_FAILED)


def _numbers(numbers: set[int]) -> str:
    return ", ".join(f"{os.major(n)}:{os.minor(n)}" for n in sorted(numbers)) or "nothing"


def _facts(name: str, array: MdArray) -> dict[str, Any]:
    return {"kernel_name": name, "uuid": array.uuid, "path": _path_of(name, array.name)}


class Progress(NamedTuple):
    """Progress of a sync at one moment."""

    action: str
    """`resync`, `recover`, `check`, … or `idle`."""
    done_sectors: int | None
    of_sectors: int | None
    degraded: int
    unsynced: bool
    """True if the kernel has a position from which a resync has to continue."""

    @property
    def finished(self) -> bool:
        return self.action == "idle" and self.degraded == 0 and not self.unsynced

    @property
    def fraction(self) -> float | None:
        return self.done_sectors / self.of_sectors if self.done_sectors is not None and self.of_sectors else None


def read_progress(name: str) -> Progress:
    """Return the progress of the sync of an array."""
    md = kernel.folder(name)
    match = re.fullmatch(r"(\d+) / (\d+)", read_text(md / "sync_completed") or "")
    done, of = (int(match.group(1)), int(match.group(2))) if match else (None, None)
    # A parity array that is rebuilt onto its last member needs no resync: `none`.
    start = read_text(md / "resync_start")
    return Progress(
        read_text(md / "sync_action") or "idle",
        done,
        of,
        read_int(md / "degraded") or 0,
        start not in (None, "none"),
    )


def wait_for_sync(context: Context, array: MdArray) -> Outcome:
    """Wait until the array is in sync.

    Raises ProblemError: `cancelled`, `member-lost`, `sync-stalled` if neither the sync nor a disk of the run
    progresses. The kernel updates the progress every five minutes or 1/16 of the array (UPDATE_FREQUENCY in md.c).
    """
    name = the_array(array)
    devices = kernel.member_numbers(name)
    began = time.monotonic()
    last: Progress | None = None
    watch = Watch("the initial sync", lambda: last, tells=False)
    with _at_full_speed(kernel.folder(name)):
        while not (now := read_progress(name)).finished:
            context.stop_if_cancelled()
            lost = [member.name for member in kernel.members(name) if "faulty" in member.states]
            if lost or not devices <= kernel.member_numbers(name):
                raise fail(MEMBER_LOST, f"the array lost a member during its initial sync: {', '.join(lost) or 'gone'}",
                           place=array.name, remedy="Look at dmesg and the disk's SMART log.",
                           exit=Exit.BUILD_FAILED)  # fmt: skip
            if now != last:
                last = now
                context.report(_progress_text(now, began), now.fraction)
            try:
                watch.tick()
            except Silent as silent:
                raise fail(SYNC_STALLED, f"the initial sync {silent.text}", place=array.name, remedy="Look at dmesg.",
                           exit=Exit.BUILD_FAILED) from silent  # fmt: skip
            time.sleep(POLL_S)
    seconds = time.monotonic() - began
    return Outcome("done", {"initial_sync": f"waited for {seconds:.0f} s", "sync_seconds": round(seconds, 3)})


def _progress_text(now: Progress, began: float) -> str:
    if now.fraction is None:
        return "initial sync"
    seconds = time.monotonic() - began
    left = f", {duration_text(seconds / now.fraction - seconds)} left" if now.fraction > 0.01 and seconds > 2 else ""
    return f"initial sync {100 * now.fraction:.0f} %{left}"


@contextmanager
def _at_full_speed(md: Path) -> Iterator[None]:
    """Lift the kernel's limit of 200 MB/s for syncs, which protects users that the array does not have yet.

    A limit that the scenario sets for this array stays.
    """
    limit = md / "sync_speed_max"
    if "(local)" in (read_text(limit) or ""):
        yield
        return
    with suppress(OSError):
        limit.write_text(str(_FASTEST_KIB_S))
    try:
        yield
    finally:
        with suppress(OSError):
            limit.write_text("system")
