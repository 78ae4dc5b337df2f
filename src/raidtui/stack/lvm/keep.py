"""A volume group that is kept for good: its name, and its activation when the server starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from raidtui.base.proc import ToolError, find_tool, run
from raidtui.model.plan import Argv
from raidtui.model.problem import Problem
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.keeping import name_taken
from raidtui.stack.lvm.commands import flat, limits, run_command
from raidtui.stack.lvm.devices import mappings, paths_of
from raidtui.stack.lvm.group import LvmGroup


def autoactivation_argv(vg: LvmGroup, paths: Sequence[str]) -> Argv:
    """Return the command by which the group's volumes are activated when its devices appear (lvmautoactivation(7))."""
    return ("lvm", "vgchange", "--setautoactivation", "y", vg.name, *flat(limits(paths)))


def in_the_way(vg: LvmGroup) -> Iterator[Problem]:
    """Yield the problem of a name that another group has, active or not."""
    if mappings(vg.name) or Path("/dev", vg.name).exists() or vg.name in _groups():
        yield name_taken("volume group", vg.name)


def _groups() -> list[str]:
    """Return the names of all groups; none if LVM cannot tell."""
    if (lvm := find_tool("lvm")) is None:
        return []
    try:
        return run((lvm, "vgs", "--readonly", "--noheadings", "-o", "vg_name"), check=False).text.split()
    except ToolError:
        return []


def keep(context: Context, vg: LvmGroup) -> Outcome:
    """Let the group be activated when the server starts. Raises ProblemError."""
    return Outcome("done", {}, (run_command(autoactivation_argv(vg, paths_of(context, vg))),))
