"""Dialog that asks for format and file of an exported comparison."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from raidtui.front.files import check_output, typed_path
from raidtui.model.problem import ProblemError
from raidtui.results.formats import FORMATS
from raidtui.tui.widgets.dialog import Dialog


class Target(NamedTuple):
    """An export: the name of the format, and the path of the new file."""

    format: str
    path: str


class ExportDialog(Dialog[Target]):
    """Dialog for format and file name. The name's suffix follows the format."""

    HELP = """\
## Export

Up and down choose the format, tab goes to the file's name, enter writes it. A file that exists is never replaced.
"""
    DEFAULT_CSS = """
    ExportDialog OptionList { height: auto; max-height: 42vh; border: none; padding: 0; margin: 0 0 1 0; }
    ExportDialog OptionList:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "agree", "Write", id="export.write", tooltip="Write the file", priority=True),
    ]

    def __init__(self, name: str) -> None:
        """`name` is the file's name without its ending."""
        super().__init__("Export the comparison", yes="Write", hint="enter: write it · esc: leave")
        self._names = list(FORMATS)
        self._base_name = name

    def questions(self) -> ComposeResult:
        wide = max(map(len, self._names))
        yield OptionList(*(
            Option(Text.assemble((name.ljust(wide), "bold"), f"  {FORMATS[name].about}", no_wrap=True), id=name)
            for name in self._names
        ), id="formats")  # fmt: skip
        yield Static("File, in the folder where raidtui was started or with its path", classes="asked")
        yield Input(self._base_name + FORMATS[self._names[0]].suffix, id="file", compact=True, select_on_focus=False)
        yield Static(classes="wrong")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self._check()

    def agree(self) -> None:
        if self._check():
            self.dismiss(Target(self._format, self._file.value.strip()))

    def action_agree(self) -> None:
        """Write the file on enter, unless the other button has the focus."""
        if isinstance(self.focused, Button) and self.focused.id == "no":
            self.action_leave()
        else:
            self.agree()

    @property
    def _file(self) -> Input:
        return self.query_one("#file", Input)

    @property
    def _format(self) -> str:
        return self._names[self.query_one(OptionList).highlighted or 0]

    @on(OptionList.OptionHighlighted)
    def _other_format(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        value = self._file.value
        ending = next((f.suffix for f in FORMATS.values() if value.endswith(f.suffix)), "")
        self._file.value = value[: len(value) - len(ending)] + FORMATS[self._format].suffix

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._check()

    def _check(self) -> bool:
        path, wrong = self._file.value.strip(), ""
        try:
            check_output(str(typed_path(path)) if path else None)
        except ProblemError as error:
            wrong = error.problems[0].message
        wrong = wrong if path else "a file needs a name"
        self.query_one(".wrong", Static).update(Text(f"! {wrong}" if wrong else ""))
        return not wrong
