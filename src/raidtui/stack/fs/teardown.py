"""Taking a filesystem away: unmounted by its UUID, in whatever state it is. What is on the devices goes with blanking.

It may be run at any time and any number of times: after an mkfs that was killed, with devices unplugged, mounted or not.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.inventory.mounts import read_other_mounts
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.fs import devices

PATIENCE_S: Final = 20.0
"""A dead runner's mounts go with the last process of its namespace, after what they hold was written."""


def teardown(context: Context, args: dict[str, Any]) -> Outcome:
    """Unmount it, and see that nobody else has it mounted. Raises ProblemError (`mount-busy`, exit 6)."""

    def ours(mount: mounts.Mounted) -> bool:
        if mount.kind != args["type"]:
            return False
        try:
            return devices.is_ours(args, mount.source)
        except OSError:
            return True  # the device is gone; the place is this run's alone

    ran = list(mounts.unmount(args["name"], ours, cwd=context.folder))
    ran += _wait_for_others(context, args)
    mounts.remove_point(args["name"])
    context.built.pop(args["ref"], None)
    return Outcome("undone" if ran else "nothing to do", {"unmounted": bool(ran)}, tuple(ran))


def _wait_for_others(context: Context, args: dict[str, Any]) -> list[Argv]:
    """Until no namespace has it mounted and the kernel has let go of its devices; names who has it after that."""
    point, until = mounts.point_of(args["name"]), time.monotonic() + PATIENCE_S
    ran: list[Argv] = []
    while True:
        others = [mount for mount in read_other_mounts() if mount.point == point and mount.kind == args["type"]]
        for mount in others:
            ran += mounts.unmount_for(mount.namespace.split()[1], args["name"], cwd=context.folder)
        users = [f"it is mounted on {point} for {mount.namespace}" for mount in others]
        for ref, path in devices.planned_paths(context, args):
            users += [] if context.holds(ref) else _users(args, path)
        if not users:
            return ran
        if time.monotonic() > until:
            raise fail("mount-busy", f"the filesystem cannot be taken away: {'; '.join(dict.fromkeys(users))}", place=point,
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.2)


def _users(args: dict[str, Any], path: str) -> list[str]:
    """Who still uses a device that carries this filesystem."""
    try:
        if not devices.is_ours(args, path):
            return []
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK))
    except BlockingIOError:
        return [f"{path} is busy"]
    except OSError as error:
        if error.strerror is None or not Path(path).exists():
            return []
        with suppress(OSError):
            return mounts.mounted_elsewhere(path) or ([f"{path} is busy"] if error.errno == 16 else [])
    return []
