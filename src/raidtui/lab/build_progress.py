"""Progress of the build of the lab's image: read from the folders that it fills, since its tools do not say."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_text
from raidtui.lab.host import Say
from raidtui.model.units import duration_text

TELL_EVERY_S: Final = 15.0
_PACKAGES: Final = 190
"""Installed into the temporary root in which the modules are compiled; a guess only shifts the time that is left."""
_CONFTESTS: Final = 200
"""At least so many; the first few are compiled before the others are written."""
_OBJECT: Final = re.compile(r"[\w./-]+\.o\b")
_ENOUGH: Final = 0.05
"""Share of the work after which the time that is left is told."""


class Done(NamedTuple):
    """Number of things that are done, and of all."""

    done: int
    of: int

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.of) if self.of else 0.0


class Stage(NamedTuple):
    """One stage of compiling the modules."""

    doing: str
    weight: float
    """Its typical share of the whole."""
    look: Callable[[Path], Done]


def _packages(root: Path) -> Done:
    return Done((read_text(root / "var/lib/dpkg/status") or "").count("install ok installed"), _PACKAGES)


def _conftests(root: Path) -> Done:
    """Small modules by which ZFS finds out what this kernel has."""
    folders = list(root.glob("var/lib/dkms/zfs/*/build/build/*/"))
    return Done(sum(1 for folder in folders if next(folder.glob("*.o"), None)), max(len(folders), _CONFTESTS))


def _objects(root: Path) -> Done:
    """Object files of the modules, and those that ZFS's own list of them names; some are for other processors."""
    build = next(root.glob("var/lib/dkms/zfs/*/build/module"), None)
    if build is None:
        return Done(0, 0)
    return Done(sum(1 for _ in build.rglob("*.o")), len(set(_OBJECT.findall(read_text(build / "Kbuild.in") or ""))))


STAGES: Final = (
    Stage("packages of the compiler", 0.2, _packages),
    Stage("what this kernel has", 0.35, _conftests),
    Stage("files of the ZFS modules", 0.45, _objects),
)


class BuildProgress:
    """Tells now and then how far the modules are, which take the longest."""

    def __init__(self, module_root: Path, say: Say) -> None:
        self._root = module_root
        self._say = say
        self._began = time.monotonic()
        self._stage = 0

    def tell(self) -> None:
        """Print a line, once there is something to count."""
        found = [(stage, stage.look(self._root)) for stage in STAGES]
        begun = max((number for number, (_, one) in enumerate(found) if one.done), default=-1)
        if begun < self._stage:
            return  # not begun, or finished: its folder is gone
        self._stage = begun
        now, counted = found[begun]
        share = sum(stage.weight for stage, _ in found[:begun]) + now.weight * counted.share
        elapsed = time.monotonic() - self._began
        left = f", about {duration_text(elapsed / share - elapsed)} left" if _ENOUGH < share < 1.0 else ""
        self._say(f"{now.doing}: {min(counted.done, counted.of)} of {counted.of}{left}")
