"""Program that a workload engine or a layer needs on the server: `raidtui doctor` and the lab's image ask for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    find: Callable[[], str | None] | None = None
    """Return its path, if it is not in the system's own folders."""

    @property
    def path(self) -> str | None:
        return self.find() if self.find is not None else find_tool(self.name)

    @property
    def version_argv(self) -> tuple[str, ...]:
        return (self.path or self.name, *self.version)
