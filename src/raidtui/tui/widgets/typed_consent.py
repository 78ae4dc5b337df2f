"""The typed consent: a dialog with one line to type for each disk to erase, or for many disks alike."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Input, Static

from raidtui.front.plan import Line, consented, matches
from raidtui.tui.widgets.dialog import Dialog
from raidtui.tui.widgets.glyphs import glyphs


class ConsentLine(Horizontal):
    """One line to type: its disks, its input, and a tick once it is right."""

    DEFAULT_CSS = """
    ConsentLine { height: 1; }
    ConsentLine > .what { width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    ConsentLine > Input { width: 16; margin: 0 0 0 1; }
    ConsentLine > .tick { width: 3; padding: 0 0 0 1; color: $text-success; text-style: bold; }
    """

    def __init__(self, line: Line, what: Text) -> None:
        super().__init__()
        self.line = line
        self._line_text = what

    def compose(self) -> ComposeResult:
        yield Static(self._line_text, classes="what")
        yield Input(compact=True, placeholder="type it here", max_length=len(self.line.expected) + 40)
        yield Static(classes="tick")

    @property
    def typed(self) -> str:
        return self.query_one(Input).value

    @property
    def correct(self) -> bool:
        return matches(self.line, self.typed)

    def update_tick(self) -> None:
        self.query_one(".tick", Static).update(Text(glyphs().good if self.correct else ""))


class TypedConsent(Dialog[tuple[str, ...]]):
    """Base of the dialogs that ask for consent to erase disks. Answers their ids, or None if nothing may be touched.

    A subclass says in `question` what would happen, and in `line_words` which disk a line is for.
    """

    DEFAULT_CSS = """
    TypedConsent.-very-wide > .box { width: 130; }
    TypedConsent > .box { width: 100; border: round $error; border-title-color: $error; }
    TypedConsent .asked { max-height: 45vh; scrollbar-size-vertical: 1; }
    TypedConsent .lines { height: auto; max-height: 51vh; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "to_line(-1)", "Up", id="consent.up", tooltip="To the line above", show=False),
        Binding("down", "to_line(1)", "Down", id="consent.down", tooltip="To the line below", show=False),
    ]
    NOTHING = "nothing was started"
    """Said when it is left, or what was typed is wrong."""

    def __init__(self, title_words: str, lines: tuple[Line, ...], *, yes: str) -> None:
        super().__init__(title_words, yes=yes, no="No, leave", hint="esc: leave, nothing is touched")
        self.lines_to_type = lines

    def question(self) -> Text:
        raise NotImplementedError

    def line_words(self, line: Line) -> Text:
        raise NotImplementedError

    def questions(self) -> ComposeResult:
        with VerticalScroll(classes="asked", can_focus=False):
            yield Static(self.question())
        with VerticalScroll(classes="lines", can_focus=False):
            for line in self.lines_to_type:
                yield ConsentLine(line, self.line_words(line))
        yield Static(classes="wrong")

    def on_mount(self) -> None:
        self.query_one("#yes", Button).variant = "error"
        self._update_ticks()
        (self.query(Input).first() if self.lines_to_type else self.query_one("#no")).focus()

    def give_up(self, why: str) -> None:
        """Close the dialog because the consent would be to something else than was shown."""
        self.app.notify(f"{self.NOTHING}: {why}", severity="warning", timeout=15, markup=False)
        self.dismiss(None)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._update_ticks()
        self.query_one(".wrong", Static).update("")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Go to the next wrong line; agree if all lines are right."""
        event.stop()
        line = event.input.parent
        if isinstance(line, ConsentLine) and line.correct and (waiting := self._waiting()):
            waiting[0].query_one(Input).focus()
        else:
            self.agree()

    def agree(self) -> None:
        lines = self.lines_to_type
        erase = consented(lines, [line.typed for line in self.query(ConsentLine)])
        if erase is not None:
            self.dismiss(erase)
            return
        left, of = len(self._waiting()), len(lines)
        what = "what was typed is" if of == 1 else f"{left} of {of} lines {'is' if left == 1 else 'are'}"
        self.query_one(".wrong", Static).update(Text(f"! {self.NOTHING}: {what} not right"))

    def action_leave(self) -> None:
        self.app.notify(self.NOTHING, timeout=3, markup=False)
        self.dismiss(None)

    def action_to_line(self, way: int) -> None:
        inputs = list(self.query(Input))
        at = next((index for index, one in enumerate(inputs) if one.has_focus), 0)
        if inputs:
            inputs[max(0, min(len(inputs) - 1, at + way))].focus()

    def _waiting(self) -> list[ConsentLine]:
        return [line for line in self.query(ConsentLine) if not line.correct]

    def _update_ticks(self) -> None:
        for line in self.query(ConsentLine):
            line.update_tick()
        self.query_one("#yes", Button).disabled = bool(self._waiting())


NAME_LIMIT = 26
"""Cells of a disk's name in a line; the start of a longer one is cut."""


def visible_name(line: Line) -> str:
    """Return the end of the name that fits, at least the part to type."""
    name = line.name
    return name if len(name) <= NAME_LIMIT else "…" + name[-max(NAME_LIMIT - 1, len(line.expected)) :]


def name_to_type(line: Line) -> Text:
    """Return the name of the line's disk with the end to type underlined, or the code to type."""
    shown = visible_name(line) if line.name else line.expected
    return Text(shown[: len(shown) - len(line.expected)]).append(line.expected, "bold underline")
