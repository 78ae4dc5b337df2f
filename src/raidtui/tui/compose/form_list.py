"""The options of what is under the outline's cursor, one line each."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import OptionList

from raidtui.tui.compose.form_lines import form_line, names_width
from raidtui.tui.compose.form_rows import Form, FormRow
from raidtui.tui.compose.line_list import LineList
from raidtui.tui.compose.paths import MISSING, Path
from raidtui.tui.widgets.glyphs import glyphs


class FormList(LineList):
    """A cursor over options. Enter changes the one under it; choices are also changed by left and right."""

    HELP = """\
## The form

Every option of what is under the cursor: as it is given (bold), or what is taken where it is left out, and why.
**Enter** changes it, **left**, **right** and **space** go through choices, **delete** leaves it out.
What Linux would refuse here is greyed, with the reason.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Choice before", id="form.before", tooltip="The choice before", show=False),
        Binding("right,space", "turn(1)", "Next choice", id="form.next", tooltip="The next choice", show=False),
        Binding(
            "delete,backspace", "leave_out", "Leave out", id="form.leave_out", tooltip="Leave the option out", show=False
        ),
        Binding("escape", "back", "Scenario", id="form.back", tooltip="Back to the scenario", show=False),
    ]

    class Begun(Message):
        """The option under the cursor is to be changed."""

    class Set(Message):
        """An option gets another value."""

        def __init__(self, row: FormRow, value: Any) -> None:
            self.row, self.value = row, value
            super().__init__()

    class Left(Message):
        """Back to the outline."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._rows: tuple[FormRow, ...] = ()

    @property
    def row(self) -> FormRow | None:
        """The option under the cursor."""
        number = self.highlighted
        return self._rows[number] if number is not None and number < len(self._rows) else None

    def show_form(self, form: Form) -> None:
        another = bool(form.rows) and (not self._rows or self._rows[0].path != form.rows[0].path)
        self._rows = form.rows
        width, signs = max(24, self.line_width or 70), glyphs()
        names = names_width(form.rows, width)
        keys = [(row.path, row.renames) for row in form.rows]
        with self.prevent(OptionList.OptionHighlighted):
            self.show(keys, [form_line(row, names, width, signs) for row in form.rows])
            if another:
                self.go(None)

    def go_to(self, path: Path) -> None:
        """Put the cursor on the option at `path`, if there is one."""
        if (path, False) in self.keys:
            self.go((path, False))

    def step(self, by: int) -> None:
        if self._rows and by:
            self.highlighted = min(max((self.highlighted or 0) + by, 0), len(self._rows) - 1)

    def action_turn(self, by: int) -> None:
        """The next choice that is not refused; with space, what is not a choice is changed by typing."""
        row = self.row
        if row is None or row.heading or row.refused:
            return
        if row.field.many or row.field.type not in ("choice", "switch"):
            self.post_message(self.Begun())
            return
        choices: list[Any] = list(row.field.choices) if row.field.type == "choice" else [True, False]
        refused = row.setting.refused_choices if row.setting else {}
        values = ([] if row.field.required else [MISSING]) + [value for value in choices if value not in refused]
        here = values.index(row.value) if row.value in values else -1
        if values and values[(here + by) % len(values)] is not row.value:
            self.post_message(self.Set(row, values[(here + by) % len(values)]))

    def action_leave_out(self) -> None:
        row = self.row
        if row is not None and not row.renames and not row.heading and row.value is not MISSING:
            self.post_message(self.Set(row, MISSING))

    def action_back(self) -> None:
        self.post_message(self.Left())

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Begun())
