"""Opening of results for the screen Results, and its dialogs for export and opening files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from raidtui.front.files import check_output, read_bytes
from raidtui.model.problem import ProblemError
from raidtui.model.result import Result
from raidtui.results.formats import FORMATS
from raidtui.results.load import read_result
from raidtui.tui.results.library import Entry
from raidtui.tui.widgets.dialog import Dialog

_KEPT: Final = 12


class Opener:
    """Reader of results that keeps the latest ones."""

    def __init__(self, fetch: Callable[[str], Awaitable[bytes]]) -> None:
        """`fetch` requests a run's result from the server."""
        self._fetch = fetch
        self._kept: dict[Entry, Result] = {}

    async def result(self, entry: Entry) -> Result:
        """Return the result of an entry. Raises ProblemError if the file or run cannot be read."""
        if (known := self._kept.pop(entry, None)) is None:
            if entry.path is not None:
                path = str(entry.path)
                known = await asyncio.to_thread(lambda: read_result(read_bytes(path), path))
            else:
                raw = await self._fetch(entry.run)
                known = await asyncio.to_thread(read_result, raw, entry.run)
        self._kept[entry] = known
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return known


class Target(NamedTuple):
    """An export: the name of the format, and the path of the new file."""

    format: str
    path: str


def output_problem(path: str) -> str:
    """Return why the file cannot be written; empty if it can."""
    try:
        check_output(str(Path(path).expanduser()) if path else None)
    except ProblemError as error:
        return error.problems[0].message
    return "" if path else "a file needs a name"


class ExportDialog(Dialog[Target]):
    """Dialog for format and file name. The name's suffix follows the format."""

    HELP = """\
## Export

Up and down choose the format, tab goes to the file's name, enter writes it. A file that exists is never replaced.
"""
    DEFAULT_CSS = """
    ExportDialog OptionList { height: auto; max-height: 10; border: none; padding: 0; margin: 0 0 1 0; }
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
        wrong = output_problem(self._file.value.strip())
        self.query_one(".wrong", Static).update(Text(f"! {wrong}" if wrong else ""))
        return not wrong


def file_check(known: Callable[[Path], bool]) -> Callable[[str], str]:
    """Return a check of the path of a file to open; the check returns an error or nothing."""

    def check(text: str) -> str:
        path = Path(text).expanduser()
        if known(path.absolute()):
            return "the file is in the list already"
        return "" if path.is_file() else "the file does not exist"

    return check
