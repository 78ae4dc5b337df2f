"""Programs and kernel modules that layers and workload engines need: for `raidtui doctor`, results and the lab's image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from raidtui.base.proc import find_tool


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A program, with what depends on it and the way to install it."""

    name: str
    needed_for: str
    remedy: str
    version: tuple[str, ...] = ("--version",)
    """Arguments with which it prints its version."""
    at_least: tuple[int, ...] = ()
    """First version that can be used."""
    without: str = ""
    """Consequence of its absence, in words; empty if the tool is required."""
    packages: tuple[str, ...] = ()
    """Debian packages of the lab's image; empty if it is not in main or contrib."""
    known_as: str = ""
    """Name under which results keep its version, if it is not the program's."""
    find: Callable[[], str | None] | None = None
    """Return its path, if it is not in the system's own folders."""

    @property
    def path(self) -> str | None:
        return self.find() if self.find is not None else find_tool(self.name)

    @property
    def version_argv(self) -> tuple[str, ...]:
        return (self.path or self.name, *self.version)


@dataclass(frozen=True, kw_only=True)
class KernelModule:
    """A kernel module, and the program that builds with it."""

    name: str
    """Name of its line in `raidtui doctor`."""
    module: str
    needed_for: str
    remedy: str
    sign: Path | None = None
    """A file that exists once the module is loaded."""
    tool: str = ""
    tool_remedy: str = ""
    only_for: str = ""
    """Options of the layer that alone need it, in words; empty if the layer cannot be built without it."""
