"""Dialog to choose one of a list, narrowed by typing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from raidtui.base.text import clean
from raidtui.tui.compose.lists import DIM, LineList, cut
from raidtui.tui.widgets.dialog import Dialog


class Entry(NamedTuple):
    """One line of the list."""

    words: str
    note: str = ""
    also: str = ""
    """Other words that find the line; not shown."""


class Pick(Dialog[int]):
    """Dialog that answers the number of the chosen entry, or None."""

    HELP = """\
## A list to choose from

Type a part of the name; **up** and **down** move through the matches, **enter** chooses one, **escape** cancels.
"""
    DEFAULT_CSS = """
    Pick LineList { height: auto; max-height: 14; margin: 1 0 0 0; }
    Pick LineList > .option-list--option-highlighted {
        color: $block-cursor-foreground; background: $block-cursor-background; text-style: $block-cursor-text-style;
    }
    Pick .none { height: 1; color: $text-muted; }
    Pick .gone { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Up", id="pick.up", tooltip="The line above", show=False),
        Binding("down", "step(1)", "Down", id="pick.down", tooltip="The line below", show=False),
        Binding("pageup", "step(-10)", "Up", id="pick.page-up", tooltip="Ten lines up", show=False),
        Binding("pagedown", "step(10)", "Down", id="pick.page-down", tooltip="Ten lines down", show=False),
    ]

    def __init__(self, title_words: str, entries: Sequence[Entry], *, asked: str = "", yes: str = "Take",
                 hint: str = "enter: take it · esc: leave") -> None:  # fmt: skip
        super().__init__(title_words, yes=yes, hint=hint)
        self._entries = list(entries)
        self._asked = asked
        self._searching = len(entries) > 5
        self._narrowed = ""

    def questions(self) -> ComposeResult:
        if self._asked:
            yield Static(Content(self._asked), classes="asked")
        search = Input(placeholder="type to narrow the list", id="search", compact=True)
        search.set_class(not self._searching, "gone")
        yield search
        yield LineList(id="entries")
        yield Static("nothing matches", classes="none gone")

    def on_mount(self) -> None:
        self._narrow(self.query_one("#search", Input).value)
        self.query_one("#search" if self._searching else "#entries").focus()

    @property
    def number(self) -> int | None:
        """Number of the entry under the cursor; None if nothing matches."""
        key = self.query_one("#entries", LineList).key
        return key if isinstance(key, int) else None

    def renew(self, entries: Sequence[Entry]) -> None:
        """Show these entries instead, narrowed as before."""
        self._entries = list(entries)
        self._narrow(self.query_one("#search", Input).value)

    @on(LineList.WidthChanged)
    def _widened(self) -> None:
        self._narrow(self.query_one("#search", Input).value)

    def agree(self) -> None:
        search = self.query_one("#search", Input).value
        if search != self._narrowed:
            self._narrow(search)
        if (number := self.number) is not None:
            self.dismiss(number)

    def on_key(self, event: events.Key) -> None:
        """Send keys typed before the dialog opened to its search."""
        search = self.query_one("#search", Input)
        if self._searching and event.is_printable and event.character and not search.has_focus:
            event.stop()
            search.focus()
            search.insert_text_at_cursor(event.character)

    def action_step(self, by: int) -> None:
        entries = self.query_one("#entries", LineList)
        if entries.keys:
            entries.highlighted = min(max((entries.highlighted or 0) + by, 0), len(entries.keys) - 1)

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        event.stop()
        self._narrow(event.value)

    @on(Input.Submitted, "#search")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.agree()

    @on(OptionList.OptionSelected, "#entries")
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.agree()

    def _narrow(self, text: str) -> None:
        """Show the entries that fit `text`."""
        fresh, self._narrowed = text != self._narrowed, text
        kept = fitting(self._entries, text)
        entries = self.query_one("#entries", LineList)
        widest = max([0, *(min(34, len(clean(self._entries[number].words, 60))) for number in kept)])
        room = max(30, entries.line_width or 66)
        entries.show(kept, [_line(self._entries[number], widest, room) for number in kept])
        if fresh:
            entries.go(None)
        entries.set_class(not kept, "gone")
        self.query_one(".none").set_class(bool(kept), "gone")


def fitting(entries: Sequence[Entry], text: str) -> list[int]:
    """Return the numbers of the entries that contain every word of `text`, those that begin with it first."""
    wanted = text.lower().split()
    found = [
        number for number, entry in enumerate(entries)
        if all(word in f"{entry.words} {entry.note} {entry.also}".lower() for word in wanted)
    ]  # fmt: skip
    return sorted(found, key=lambda number: not entries[number].words.lower().startswith(text.lower().strip()))


def _line(entry: Entry, widest: int, room: int) -> Content:
    words = cut(clean(entry.words, 200), room if not entry.note else max(34, widest))
    note = cut(clean(entry.note, 200), max(0, room - widest - 2))
    return Content.assemble(words.ljust(widest), "  ", (note, DIM))
