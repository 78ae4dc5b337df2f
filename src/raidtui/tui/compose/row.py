"""One option of a form: its definition, its value and its state. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from raidtui.base.text import clean
from raidtui.model.describe import Field, Setting
from raidtui.tui.compose.document import MISSING, Path
from raidtui.tui.compose.value_text import as_text


class FormRow(NamedTuple):
    """One option in a form."""

    field: Field
    path: Path
    """Path of its value in the document."""
    value: Any
    """Given value; MISSING if omitted."""
    setting: Setting | None = None
    depth: int = 0
    """Nesting depth of objects."""
    heading: bool = False
    """An object whose fields follow: nothing to edit itself."""
    renames: bool = False
    """The name of the entry at `path`, not an option of it."""
    wrong: str = ""
    surely: bool = False
    """True if the error was found here, by a rule of the option alone: it does not wait for the engine."""
    loose: bool = False
    """A heading of options that belong together, not an object of the document."""
    grows: bool = False
    """A list of objects, to which enter adds one."""
    swaps: bool = False
    """The kind of an object that has exactly one of several inputs, such as a vdev: another choice renames the input."""
    is_open: bool = False
    """A heading whose options are shown."""
    summary: str = ""
    """A closed group's options in short."""

    @property
    def refused(self) -> str:
        """Reason why the option is not allowed here; empty if it is allowed or given anyway."""
        return self.setting.refused if self.setting and self.value is MISSING else ""

    @property
    def shown(self) -> str:
        """Given value, or the value used if it is omitted."""
        if self.grows:
            return f"{len(self.value) if isinstance(self.value, list) else 0} · enter adds one"
        if self.value is not MISSING:
            return clean(as_text(self.field, self.value), 400)
        return clean(self.fallback, 400)

    @property
    def fallback(self) -> str:
        """Value used if the option is omitted; empty if there is none."""
        if self.setting is not None and self.setting.value and self.setting.given is None:
            words = {"true": "yes", "false": "no"} if self.field.type == "switch" else {}
            return words.get(self.setting.value, self.setting.value)
        return "" if self.field.default in (None, {}, []) else as_text(self.field, self.field.default)


class Form(NamedTuple):
    """A titled list of options."""

    title: str
    help: str
    rows: tuple[FormRow, ...]
