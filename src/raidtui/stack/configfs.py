"""Changes in the kernel's configfs, by which targets and null devices are made (Documentation/filesystems/configfs.rst)."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple

from raidtui.base.files import read_text
from raidtui.model.plan import Argv
from raidtui.stack.auth import SHOWN, hide

CONFIGFS: Final = Path("/sys/kernel/config")


class Change(NamedTuple):
    """One step of configuring: a new folder, a value in a file, or a link."""

    verb: Literal["mkdir", "write", "link"]
    path: Path
    value: str = ""
    """Value of a file, or what a link leads to."""
    secret: bool = False
    """True if the value is a key, which is told by a word."""

    @property
    def argv(self) -> Argv:
        """The equivalent shell command."""
        if self.verb == "mkdir":
            return ("mkdir", str(self.path))
        if self.verb == "link":
            return ("ln", "-s", self.value, str(self.path))
        return ("sh", "-c", f"echo {self.told} > {self.path}")

    @property
    def told(self) -> str:
        return SHOWN if self.secret else self.value

    def make(self) -> None:
        """Do it. Raises OSError."""
        if self.verb == "mkdir":
            self.path.mkdir()
        elif self.verb == "link":
            self.path.symlink_to(self.value)
        else:
            if self.secret:
                hide(self.path)
            self.path.write_text(self.value)


def word(path: Path) -> str | None:
    """Return the value of a file; None if it does not exist."""
    text = read_text(path)
    return None if text is None else text.strip()
