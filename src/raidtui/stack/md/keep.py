"""An array that is kept for good: its name, and the line by which it comes back under it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from raidtui.model.problem import Problem
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.keeping import name_taken
from raidtui.stack.md.plan import mdadm_uuid, node_path
from raidtui.stack.md.spec import MdArray
from raidtui.stack.md.verify import the_array


def array_line(array: MdArray) -> str:
    """Return the line of mdadm.conf (mdadm.conf(5)) by which the array has its name after a restart, on any host."""
    return f"ARRAY {node_path(array.name)} metadata={array.metadata} UUID={mdadm_uuid(array.uuid)}"


def in_the_way(array: MdArray) -> Iterator[Problem]:
    """Yield the problem of a name that another array has."""
    if Path(node_path(array.name)).exists():
        yield name_taken("md array", array.name)


def keep(context: Context, array: MdArray) -> Outcome:
    """Look at the array as mdadm shows it to everybody. Raises ProblemError."""
    argv = ("mdadm", "--detail", f"/dev/{the_array(array)}")
    return Outcome("done", {"line": array_line(array)}, (mounts.tool(argv, cwd=context.folder / "work"),))
