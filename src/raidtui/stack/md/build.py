"""Creating an array on exactly the intended devices, and waiting for its initial sync."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base.files import read_int, read_text
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack import sync
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.md import kernel
from raidtui.stack.md.plan import mdadm_uuid, node_path
from raidtui.stack.md.spec import MdArray
from raidtui.stack.md.teardown import teardown
from raidtui.stack.md.verify import NOT_THERE, REMEDY, all_devices, differences, the_array
from raidtui.stack.read_back import WRONG_MEMBERS, mismatch
from raidtui.stack.teardown import Device

NODE_TIMEOUT_S: Final = 20.0
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
        return Outcome("already there", _built(context, arrays[0], array))
    if os.path.lexists(path := node_path(array.name)):
        raise fail(NAME_TAKEN, f"{path} exists already and does not belong to this run", place=path,
                   remedy="Replay again: every plan has new names.", exit=Exit.REFUSED)  # fmt: skip
    mode = sync.sync_mode(context, array.members, redundant=array.level != "raid0", skip=array.assume_clean)
    context.about_to_write(array.disks)
    context.builder.load()  # now, because it is slow, and lent disks are not held
    with context.lend(array.disks):
        commands = _run_mdadm(context, array, devices)
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
    return Outcome("created", {**_built(context, name, array), "initial_sync": mode}, commands)


def _run_mdadm(context: Context, array: MdArray, devices: list[Device]) -> tuple[Argv, ...]:
    """Run the command of `plan.create_argv` through blivet, and return it as it was executed."""
    paths: dict[str, list[str]] = {"member": [], "spare": [], "journal": []}
    for found in devices:
        paths[found.role].append(found.path)
    journal = next(iter(paths["journal"]), None)
    args = {"array": array, "members": paths["member"], "spares": paths["spare"], "journal": journal}
    return context.builder.call("md.create", **args).commands


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


def _built(context: Context, name: str, array: MdArray) -> dict[str, Any]:
    """Record the path of the array in the context, and return the facts."""
    path = context.built[array.ref] = _path_of(name, array.name)
    return {"kernel_name": name, "uuid": array.uuid, "path": path}


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
    """Return the progress of the sync of an array.

    The kernel updates it every five minutes or 1/16 of the array (UPDATE_FREQUENCY in md.c).
    """
    md = kernel.folder(name)
    match = re.fullmatch(r"(\d+) / (\d+)", read_text(md / "sync_completed") or "")
    done, of = (int(match.group(1)), int(match.group(2))) if match else (None, None)
    # A parity array that is rebuilt onto its last member needs no resync: `none`.
    unsynced = read_text(md / "resync_start") not in (None, "none")
    return Progress(read_text(md / "sync_action") or "idle", done, of, read_int(md / "degraded") or 0, unsynced)


def wait_for_sync(context: Context, array: MdArray) -> Outcome:
    """Wait until the array is in sync. Raises ProblemError: `cancelled`, `member-lost`, `sync-stalled`."""
    name = the_array(array)
    devices = kernel.member_numbers(name)

    def lost(_: Progress) -> str:
        faulty = [member.name for member in kernel.members(name) if "faulty" in member.states]
        if not faulty and devices <= kernel.member_numbers(name):
            return ""
        return f"the array lost a member during its initial sync: {', '.join(faulty) or 'gone'}"

    with _at_full_speed(kernel.folder(name)):
        return sync.wait_for_sync(context, array.name, lambda: read_progress(name), lost)


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
