"""A filesystem that is kept for good: mounted for everybody, and the line by which it is mounted after a restart."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from raidtui.model.plan import Argv
from raidtui.model.problem import Problem
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.fs.build import teardown
from raidtui.stack.fs.plan import mount_options
from raidtui.stack.fs.spec import Filesystem
from raidtui.stack.fs.verify import all_devices
from raidtui.stack.keeping import mount_argvs, mount_taken, run_all


class KeptFilesystem(msgspec.Struct, frozen=True):
    """Arguments of the step that keeps a filesystem."""

    fs: Filesystem
    mount: str


def fstab_line(fs: Filesystem, mount: str) -> str:
    """Return the line of fstab(5). With `nofail` the server starts even if a disk is missing."""
    options = ",".join(("nofail", *mount_options(fs)))
    return f"UUID={fs.uuid} {mount} {fs.type} {options} 0 0"


def argvs(kept: KeptFilesystem, path: str) -> tuple[Argv, ...]:
    return mount_argvs(kept.fs.type, path, kept.mount, mount_options(kept.fs))


def in_the_way(kept: KeptFilesystem) -> Iterator[Problem]:
    """Yield the problem of a mount point in use."""
    yield from mount_taken(kept.mount)


def keep(context: Context, kept: KeptFilesystem) -> Outcome:
    """Take it out of the run's own folder, and mount it where it was asked. Raises ProblemError."""
    path = all_devices(context, kept.fs)[0].path
    unmounted = teardown(context, kept.fs).commands
    with context.lend(kept.fs.disks):  # none of them is held while it is mounted
        mounted = run_all(argvs(kept, path), context.folder / "work")
    return Outcome("done", {"path": kept.mount}, (*unmounted, *mounted))
