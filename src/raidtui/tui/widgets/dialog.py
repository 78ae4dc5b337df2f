"""Dialogs: a box over the screen with a title, what it asks, and two buttons. Escape always leaves without a change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from raidtui.base.text import clean_lines

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """Base of all dialogs. A subclass yields what it asks in `questions`, and dismisses itself in `agree`.

    `title_words`, `yes` and `no` are plain text, never markup. It answers None when it is left.
    """

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > .box {
        width: 72; max-width: 96%; height: auto; max-height: 96%; padding: 0 1;
        background: $surface; border: round $primary;
        border-title-color: $primary; border-title-style: bold; border-subtitle-color: $text-muted;
    }
    Dialog.-very-wide > .box { width: 110; }
    Dialog Input { background: $panel; padding: 0 1; }
    Dialog .asked { height: auto; margin: 0 0 1 0; }
    Dialog .wrong { height: auto; color: $text-error; }
    Dialog .buttons { height: 1; margin: 1 0 0 0; align-horizontal: right; }
    Dialog .buttons Button { width: auto; min-width: 10; margin: 0 0 0 2; }
    Dialog:nocolor .buttons Button:focus { text-style: bold underline; }
    Dialog:nocolor Input { text-style: underline; }
    Dialog:nocolor OptionList:focus > .option-list--option-highlighted { text-style: bold underline; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="dialog.leave", tooltip="Close the dialog; nothing changes"),
        Binding("ctrl+s", "agree", "OK", id="dialog.agree", tooltip="Take what the dialog says", show=False),
    ]

    def __init__(self, title_words: str, *, yes: str = "OK", no: str = "Cancel", hint: str = "") -> None:
        """`hint` stands in the lower border."""
        super().__init__()
        self._title_words = title_words
        self._yes = yes
        self._no = no
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Text(self._title_words).markup
            box.border_subtitle = Text(self._hint).markup
            yield from self.questions()
            with Horizontal(classes="buttons"):
                yield Button(Text(self._no), id="no", compact=True)
                yield Button(Text(self._yes), id="yes", variant="primary", compact=True)

    def questions(self) -> ComposeResult:
        """Yield the widgets between the title and the buttons."""
        raise NotImplementedError

    def agree(self) -> None:
        """The button for yes was pressed: check what was given, then `dismiss`."""
        raise NotImplementedError

    def action_agree(self) -> None:
        self.agree()

    def action_leave(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#yes")
    def _pressed_yes(self, event: Button.Pressed) -> None:
        event.stop()
        self.agree()

    @on(Button.Pressed, "#no")
    def _pressed_no(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_leave()


class Told(Dialog[bool]):
    """A text to be read."""

    HELP = """\
## A text

**up** and **down** scroll it, enter or escape closes it.
"""
    DEFAULT_CSS = """
    Told VerticalScroll { height: auto; max-height: 84vh; }
    Told #no { display: none; }
    """

    def __init__(self, title_words: str, words: str) -> None:
        super().__init__(title_words, yes="Close", hint="enter or esc: close")
        self._words = words

    def questions(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(Text(clean_lines(self._words, 4000)))

    def on_mount(self) -> None:
        self.query_one("#yes").focus()

    def agree(self) -> None:
        self.dismiss(True)


class Offer(NamedTuple):
    """A value that may be taken as it is."""

    value: str
    words: str = ""

    @property
    def text(self) -> Text:
        text = Text(self.value, no_wrap=True, overflow="ellipsis")
        return text.append(f"  {self.words}", "dim") if self.words else text


class AskText(Dialog[str]):
    """Asks for one line of text. Answers it, or None when the dialog was left."""

    HELP = """\
## One line of text

Enter takes it, escape leaves without a change. Where values are offered below, down goes to them and enter takes one.
"""

    DEFAULT_CSS = """
    AskText OptionList { height: auto; max-height: 34vh; border: none; margin: 1 0 0 0; padding: 0; background: $surface; }
    AskText OptionList > .option-list--option-highlighted { background: $surface; color: $foreground; text-style: none; }
    AskText OptionList:focus > .option-list--option-highlighted {
        background: $block-cursor-background; color: $block-cursor-foreground; text-style: $block-cursor-text-style;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "to_offers", "Offers", id="dialog.offers", tooltip="Go to the values offered", show=False),
    ]

    def __init__(
        self, title_words: str, asked: str, *, value: str = "", check: Callable[[str], str] | None = None,
        offers: Sequence[Offer] = (), yes: str = "OK"
    ) -> None:  # fmt: skip
        """`check` says what is wrong with a text: nothing, where it is empty."""
        super().__init__(title_words, yes=yes, hint="enter: take it · esc: leave")
        self._asked = asked
        self._value = value
        self._check = check or (lambda text: "")
        self._offers = offers

    def questions(self) -> ComposeResult:
        yield Static(Text(self._asked), classes="asked")
        yield Input(self._value, id="text", select_on_focus=False, compact=True)
        yield Static(classes="wrong")
        if self._offers:
            yield OptionList(*(Option(offer.text) for offer in self._offers), id="offers")

    def on_mount(self) -> None:
        self.query_one("#text", Input).focus()
        self._judge(self._value)

    def agree(self) -> None:
        text = self.query_one("#text", Input).value.strip()
        if self._judge(text):
            self.dismiss(text)

    def action_to_offers(self) -> None:
        self.query_one(OptionList).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._offers) if action == "to_offers" else True

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.agree()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._judge(event.value.strip())

    @on(OptionList.OptionSelected)
    def _took(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._offers[event.option_index].value)

    def _judge(self, text: str) -> bool:
        wrong = self._check(text) if text else ""
        self.query_one(".wrong", Static).update(Text(f"! {wrong}" if wrong else ""))
        return bool(text) and not wrong
