"""Editor of one option below the form: text input, choices, switches, and the devices of a layer's input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static

from raidtui.base.text import clean
from raidtui.tui.compose.completing import Completions, completions
from raidtui.tui.compose.document import MISSING, layer_at
from raidtui.tui.compose.lists import BAD, LineList, ValueGiven, about_lines, choice_lines, offer_lines
from raidtui.tui.compose.row import FormRow
from raidtui.tui.compose.value_text import as_text, input_hint, parse

NEW_LAYER: Final = "a layer …"
NOTHING: Final = "nothing"


def entries(value: Any, roles: Mapping[str, str]) -> tuple[list[tuple[str, Any]], list[str], dict[str, str]]:
    """Return the choices of an input with their sources, the chosen names, and notes by name.

    `roles` maps each existing role to its note.
    """
    taken = _as_list(value)
    found: list[tuple[str, Any]] = [(f"@{role}", f"@{role}") for role in roles]
    notes = {f"@{role}": note for role, note in roles.items()}
    for number, source in enumerate(taken):
        layer = layer_at(source, ())
        if layer is not None:
            name = f"{clean(layer.kind, 30)} {number + 1}" if len(taken) > 1 else clean(layer.kind, 30)
            found.append((name, source))
            notes[name] = "a layer"
        elif all(source != known for _, known in found):
            found.append((clean(source, 60), source))
            notes[clean(source, 60)] = "this role does not exist"
    found += [(NEW_LAYER, None), (NOTHING, MISSING)]
    notes[NEW_LAYER] = "insert a new layer above the current sources"
    chosen = [name for name, source in found if source in taken] or [NOTHING]
    return found, chosen, notes


def toggled(value: Any, source: Any) -> Any:
    """Return the input with `source` added, or removed if it was present."""
    if source is MISSING:
        return MISSING
    taken = _as_list(value)
    left = [each for each in taken if each != source] if source in taken else [*taken, source]
    return MISSING if not left else left[0] if len(left) == 1 else left


def _as_list(value: Any) -> list[Any]:
    if value is MISSING:
        return []
    return list(value) if isinstance(value, list) else [value]


LEFT_OUT: Final = "left out"


class Editor(Vertical):
    """Editor of one option. Text is checked while it is typed; choices and devices are lists."""

    HELP = """\
## An option

Type a value, or choose one. **Enter** applies it, **escape** cancels, **up** and **down** apply it and move on.
Choices that are not allowed are greyed, with the reason. In a list of devices **space** adds or removes one.
Where names and values are known, as with properties of ZFS, a list shows those that fit: **up** and **down** choose,
**enter** or **tab** takes the chosen one into the text.
"""
    DEFAULT_CSS = """
    Editor {
        height: 8; border-top: solid $pane-border; border-title-color: $primary;
        border-title-style: bold;
        &:focus-within { border-top: solid $primary; }
    }
    Editor > VerticalScroll { height: auto; max-height: 4; scrollbar-size-vertical: 1; }
    Editor Static { height: auto; }
    Editor Input { background: $surface; padding: 0 1; }
    Editor Input:focus { background: $panel; }
    Editor LineList { height: 1fr; min-height: 3; }
    Editor.-offering { height: 13; }
    Editor.-offering > VerticalScroll { max-height: 2; }
    Editor .gone { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "abandon", "As it was", id="option.abandon", tooltip="Keep the value of the option", show=False),
        Binding("up", "step(-1)", "Take, up", id="option.up", tooltip="Take the value and go up", show=False),
        Binding("down", "step(1)", "Take, down", id="option.down", tooltip="Take the value and go down", show=False),
        Binding("tab", "complete", "Take the word", id="option.complete", show=False, tooltip="Take the word of the list"),
        Binding("space", "toggle_device", "Add or take out", id="option.toggle", show=False,
                tooltip="Add a device or take it out"),
    ]  # fmt: skip

    @dataclass
    class Typed(Message):
        """A valid value is being typed."""

        row: FormRow
        value: Any

    class Abandoned(Message):
        """The option keeps its value."""

    @dataclass
    class LayerWanted(Message):
        """A new layer is to go into this input."""

        row: FormRow

    @dataclass
    class Stepped(Message):
        """On to the next option."""

        by: int

    def __init__(self, check_name: Callable[[FormRow, str], str]) -> None:
        """`check_name` returns the error of a new name for a row's entry; empty if it is valid."""
        super().__init__()
        self.row: FormRow | None = None
        self._check_name = check_name
        self._roles: Mapping[str, str] = {}
        self._choices: list[tuple[str, Any]] = []
        self._chosen_word: str | None = None
        self._said: dict[str, Content] = {}
        self._offered = Completions()
        """Words below the text that is typed."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(id="about")
        yield Input(id="typed", compact=True, select_on_focus=True)
        yield Static(id="wrong")
        yield LineList(id="choices")

    @property
    def typing(self) -> bool:
        """True if the input has text that was not applied yet."""
        line = self.query_one("#typed", Input)
        return line.has_focus and self.row is not None and line.value != self._text(self.row)

    def show(self, row: FormRow | None, roles: Mapping[str, str]) -> None:
        """Show an option; text being typed is kept. `roles` maps each existing role to its note."""
        same = row is not None and self.row is not None and (row.path, row.renames) == (self.row.path, self.row.renames)
        typing = same and self.typing
        if self.typing and not same and not self.take_text() and self.row is not None:
            self.notify(f"{clean(self.row.field.name)} was not changed", timeout=3, markup=False)
        self._roles = roles
        if not typing:
            self.row = row
        self._show_title()
        hint = input_hint(row.field) if row is not None and not row.grows and not self._is_list(row) else ""
        self._set_text("#about", about_lines(row, hint) if row else Content(""))
        editable = row if row is not None and not (row.heading or row.grows or row.refused) else None
        by_list = editable is not None and self._is_list(editable)
        for part, used in (("#typed", not by_list), ("#wrong", not by_list), ("#choices", by_list)):
            self.query_one(part).set_class(editable is None or not used, "gone")
        self.query_one("#choices").can_focus = by_list
        if editable is not None and by_list:
            self._show_choices(editable)
        elif editable is not None and not typing:
            self._show_text(editable)
        self._offer()

    def begin(self) -> None:
        if self.row is None or self.row.heading or self.row.refused:
            return
        if self._is_list(self.row):
            choices = self.query_one("#choices", LineList)
            choices.go(self._chosen_word)
            choices.focus()
            return
        self.query_one("#typed", Input).focus()

    def action_abandon(self) -> None:
        if self.row is not None:
            self._show_text(self.row)
        self.post_message(self.Abandoned())

    def action_step(self, by: int) -> None:
        if self._offered.words:
            choices = self.query_one("#choices", LineList)
            here = choices.highlighted
            following = (-1 if here is None else here) + by
            choices.highlighted = min(following, len(self._offered.words) - 1) if following >= 0 else None
        elif self.take_text():
            self.post_message(self.Stepped(by))

    def action_complete(self) -> None:
        """Take the chosen word of the list into the text, or the first one."""
        line, number = self.query_one("#typed", Input), self.query_one("#choices", LineList).highlighted
        line.value, line.cursor_position = self._offered.taken(line.value, number or 0)

    def _offer(self) -> None:
        """Show the words that fit what is typed."""
        row, line, choices = self.row, self.query_one("#typed", Input), self.query_one("#choices", LineList)
        before, self._offered = self._offered, Completions()
        if row is not None and not row.renames and not self._is_list(row):
            if line.has_focus:
                self._offered = completions(row.field, line.value, line.cursor_position)
            choices.set_class(not self._offered.words, "gone")
        if self._offered.words and self._offered != before:
            words = self._offered.words
            choices.show(range(len(words)), offer_lines(words, max(30, choices.line_width or 66)))
            choices.highlighted = 0 if self._offered.begun else None
            choices.scroll_home(animate=False)
        self.set_class(bool(self._offered.words), "-offering")

    def action_toggle_device(self) -> None:
        self._choose(whole=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Up and down belong to the list, space to the text input."""
        in_list = self.query_one("#choices").has_focus
        if action == "toggle_device":
            return in_list
        if action == "complete":
            return bool(self._offered.words)
        return not in_list if action == "step" else True

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        row = self.row
        if row is None or not self.query_one("#typed").has_focus:
            return
        self._offer()
        value, wrong = self._check(row, event.value)
        self._set_text("#wrong", Content.styled(f"! {wrong}", BAD) if wrong else Content(""))
        self.query_one("#typed").set_class(bool(wrong), "-invalid")
        if not wrong and not row.renames:
            self.post_message(self.Typed(row, value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._offered.words and self.query_one("#choices", LineList).highlighted is not None:
            self.action_complete()
        elif self.take_text():
            self.post_message(self.Stepped(0))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._show_title()
        self._offer()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self._show_title()
        self._offer()
        typed = self.query_one("#typed", Input)
        if event.widget is typed and not self.take_text() and self.row is not None:
            self.app.bell()
            typed.focus()  # the text stays to be mended; escape leaves it

    @on(OptionList.OptionSelected, "#choices")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self._offered.words:
            self.action_complete()
        else:
            self._choose(whole=True)

    def _set_text(self, where: str, said: Content) -> None:
        if (before := self._said.get(where)) is None or not said.is_same(before):
            self._said[where] = said
            self.query_one(where, Static).update(said)

    def _show_title(self) -> None:
        name = clean(self.row.field.name, 60) if self.row else ""
        if not self.has_focus_within:
            self.border_title = Content(f" {name} " if name else "")
            return
        adds = self.row is not None and self.row.field.type == "devices" and not self.row.field.many
        keys = " enter: only this · space: add or take out · esc: leave" if adds else " enter: take it · esc: as it was"
        if self._offered.words:
            keys = " up, down: choose · tab or enter: take · esc: as it was"
        self.border_title = Content.assemble(f" {name} ", (f"{keys} ", "not bold dim"))

    def take_text(self) -> bool:
        """Apply changed text. Return False if it is invalid."""
        row, text = self.row, self.query_one("#typed", Input).value
        if row is None or self._is_list(row) or text == self._text(row):
            return True
        value, wrong = self._check(row, text)
        if wrong:
            return False
        self.row = row._replace(value=value)
        self.post_message(ValueGiven(row, value))
        return True

    def _choose(self, *, whole: bool) -> None:
        row, number = self.row, self.query_one("#choices", LineList).highlighted
        if row is None or number is None or number >= len(self._choices):
            return
        word, value = self._choices[number]
        if row.field.type != "devices":
            self.post_message(ValueGiven(row, value))
        elif word == NEW_LAYER:
            self.post_message(self.LayerWanted(row))
        elif whole:
            self.post_message(ValueGiven(row, value))
        else:
            self.post_message(ValueGiven(row, toggled(row.value, value), stay=True))

    def _check(self, row: FormRow, text: str) -> tuple[Any, str]:
        """Return the value of a text, and its error."""
        if row.renames:
            return text.strip(), self._check_name(row, text.strip()) if text.strip() != row.value else ""
        try:
            value = parse(row.field, text)
        except ValueError as error:
            return MISSING, clean(error, 200)
        return value, "a value is required" if value is MISSING and row.field.required else ""

    def _text(self, row: FormRow) -> str:
        return as_text(row.field, row.value)

    def _is_list(self, row: FormRow) -> bool:
        return not row.field.many and row.field.type in ("choice", "switch", "devices") and not row.renames

    def _show_text(self, row: FormRow) -> None:
        line = self.query_one("#typed", Input)
        line.placeholder = clean(row.fallback, 60) or ("" if row.field.required else LEFT_OUT)
        with line.prevent(Input.Changed):
            line.value = self._text(row)
        line.remove_class("-invalid")
        self._set_text("#wrong", Content(""))

    def _show_choices(self, row: FormRow) -> None:
        refused = dict(row.setting.refused_choices) if row.setting else {}
        notes: dict[str, str] = {}
        if row.field.type == "devices":
            self._choices, chosen, notes = entries(row.value, self._roles)
        else:
            self._choices, chosen = _plain_choices(row)
            notes = {entry.name: entry.help for entry in row.field.entries}
            if not row.field.required:
                notes[LEFT_OUT] = " · ".join(filter(None, (row.fallback, row.setting.why if row.setting else "")))
        names = [word for word, _ in self._choices]
        lines = choice_lines(names, chosen, refused, notes)
        choices = self.query_one("#choices", LineList)
        choices.show(names, lines, [name in refused for name in names])
        self._chosen_word = chosen[0] if chosen else None
        if not choices.has_focus:
            choices.go(self._chosen_word)


def _plain_choices(row: FormRow) -> tuple[list[tuple[str, Any]], list[str]]:
    found: list[tuple[str, Any]] = [] if row.field.required else [(LEFT_OUT, MISSING)]
    if row.field.type == "switch":
        found += [("yes", True), ("no", False)]
    else:
        found += [(choice, choice) for choice in row.field.choices]
    return found, [word for word, value in found if value is row.value or (value == row.value and value is not MISSING)]
