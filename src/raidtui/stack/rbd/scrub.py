"""Scrubs of the cluster, held while a layout is measured: the flags noscrub and nodeep-scrub, put back as they were.

A file in the run's folder says, before they are set, which of them were not set: the undo unsets these alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from raidtui.model.plan import Argv
from raidtui.model.problem import ProblemError
from raidtui.stack.action import Outcome
from raidtui.stack.clusters import Notes, left_behind
from raidtui.stack.context import Context
from raidtui.stack.rbd.cluster import argv_of, ask, require_cluster, run
from raidtui.stack.rbd.spec import RbdScrubs

FLAGS: Final = ("noscrub", "nodeep-scrub")


class _Record(msgspec.Struct):
    """The cluster, and the flags that are set by the run."""

    fsid: str
    flags: tuple[str, ...]


_NOTES: Final = Notes("rbd-scrubs", _Record)


def claims(scrubs: RbdScrubs) -> tuple[str, ...]:
    return (f"scrubs of the Ceph cluster of {scrubs.cluster.conf or '/etc/ceph/ceph.conf'}",)


def argvs(scrubs: RbdScrubs, verb: str) -> Iterator[Argv]:
    """Yield the commands that set or unset the flags."""
    yield from (argv_of("ceph", scrubs.cluster, "osd", verb, flag) for flag in FLAGS)


def hold(context: Context, scrubs: RbdScrubs) -> Outcome:
    """Set the flags; those that are set already stay so for good."""
    context.stop_if_cancelled()
    dump = ask("ceph", scrubs.cluster, "osd", "dump")
    if _NOTES.read(context.folder, scrubs.name) is None:
        record = _Record(dump["fsid"], tuple(flag for flag in FLAGS if flag not in _set(dump)))
        _NOTES.write(context.folder, scrubs.name, record)
    commands = tuple(argv for argv in argvs(scrubs, "set") if argv[-1] not in _set(dump))
    for argv in commands:
        run(argv)
    return Outcome("created" if commands else "already there", {"flags": list(FLAGS)}, commands)


def release(context: Context, scrubs: RbdScrubs) -> Outcome:
    """Unset what `hold` has set: any number of times. Raises ProblemError (exit 6)."""
    record = _NOTES.read(context.folder, scrubs.name)
    if record is None:
        return Outcome("nothing to do")
    try:
        dump = ask("ceph", scrubs.cluster, "osd", "dump")
        require_cluster(dump, record.fsid, scrubs.name, "scrubs are held")
        commands = tuple(argv for argv in argvs(scrubs, "unset") if argv[-1] in record.flags)
        for argv in commands:
            run(argv)
    except ProblemError as error:
        raise left_behind(error) from error
    _NOTES.forget(context.folder, scrubs.name)
    return Outcome("undone" if commands else "nothing to do", {}, commands)


def _set(dump: Any) -> list[str]:
    return str(dump["flags"]).split(",")
