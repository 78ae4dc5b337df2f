"""Dialogs of the screen Run: confirm an action, choose columns, choose a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Button, OptionList, SelectionList, Static
from textual.widgets.option_list import Option
from textual.widgets.selection_list import Selection

from raidtui.base.text import clean, plural
from raidtui.model.protocol import RunInfo
from raidtui.tui.run.device_rows import CHOICES, DEVICE
from raidtui.tui.widgets.dialog import Dialog
from raidtui.tui.widgets.glyphs import glyphs


class Confirm(Dialog[bool]):
    """Asks to confirm an action. The default is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "Yes", id="confirm.yes", tooltip="Do it"),
        Binding("n", "leave", "No", id="confirm.no", tooltip="Do nothing"),
    ]

    def __init__(self, title_words: str, asked: str, *, yes: str, no: str) -> None:
        super().__init__(title_words, yes=yes, no=no, hint="y: yes · n: no")
        self._asked = asked

    def questions(self) -> ComposeResult:
        yield Static(Text(self._asked), classes="asked")

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def agree(self) -> None:
        self.dismiss(True)


class ChooseColumns(Dialog[tuple[str, ...]]):
    """Asks which columns are shown. Answers their keys, in the table's order."""

    HELP = """\
## Columns

Space or a click shows a column or hides it; `o` takes what is chosen, escape leaves all as it was.
"""
    DEFAULT_CSS = """
    ChooseColumns SelectionList { height: auto; max-height: 16; border: none; padding: 0; background: $surface; }
    ChooseColumns SelectionList:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "agree", "Take", id="columns.take", tooltip="Show the columns that are chosen"),
    ]

    def __init__(self, shown: Sequence[str]) -> None:
        super().__init__("Columns of the device table", yes="Take", hint="space: show or hide · o: take · esc: leave")
        self._shown = shown

    def questions(self) -> ComposeResult:
        columns = [choice.column for key, choice in CHOICES.items() if key != DEVICE]
        yield SelectionList[str](
            *(Selection(Text(f"{one.title:<12} {one.help}"), one.key, one.key in self._shown) for one in columns)
        )

    def on_mount(self) -> None:
        self.query_one(SelectionList).focus()

    def agree(self) -> None:
        chosen = self.query_one(SelectionList).selected
        self.dismiss((DEVICE, *(key for key in CHOICES if key in chosen)))


class ChooseRun(Dialog[RunInfo]):
    """Asks which of the server's runs is to be shown."""

    HELP = """\
## Runs of the server

Enter or a click shows the run: one that goes on as it goes on, an earlier one with all its records.
"""
    DEFAULT_CSS = """
    ChooseRun > .box { width: 100; }
    ChooseRun OptionList { height: auto; max-height: 16; border: none; padding: 0; background: $surface; }
    ChooseRun OptionList:focus { border: none; }
    """

    def __init__(self, runs: Sequence[RunInfo]) -> None:
        super().__init__("Runs of the server", yes="Show", hint="enter: show · esc: leave")
        self._runs = tuple(reversed(runs))

    def questions(self) -> ComposeResult:
        if self._runs:
            yield OptionList(*(Option(run_words(info)) for info in self._runs))
        else:
            yield Static(Text("There are none yet: 3 Plan starts one."), classes="asked")

    def on_mount(self) -> None:
        if self._runs:
            self.query_one(OptionList).focus()

    def agree(self) -> None:
        index = self.query_one(OptionList).highlighted if self._runs else None
        self.dismiss(None if index is None else self._runs[index])

    @on(OptionList.OptionSelected)
    def _took(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._runs[event.option_index])


def run_words(info: RunInfo) -> Text:
    """One run in one line."""
    known = glyphs()
    sign = {"running": known.now, "interrupted": known.bad}.get(info.state, known.good if info.exit == 0 else "!")
    words = Text(f"{sign} {clean(info.run, 40):<26} {clean(info.scenario, 28):<24} ", no_wrap=True, overflow="ellipsis")
    cells = f"{info.cells_done} of {plural(info.cells, 'cell')}"
    return words.append(f"{clean(info.outcome or info.state, 20)}, {cells}", "dim")
