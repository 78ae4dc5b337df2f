"""Lists of single lines under a cursor: the lines of outline and form, cut to a width, and the widgets that show them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from raidtui.base.text import clean
from raidtui.tui.compose.document import MISSING, Path
from raidtui.tui.compose.folding import folded, holders
from raidtui.tui.compose.outline import Line
from raidtui.tui.compose.row import Form, FormRow
from raidtui.tui.widgets.glyphs import glyphs

BAD = "$text-error"
WARN = "$text-warning"
GOOD = "$text-success"
DIM = "dim"
ACCENT = "$primary"
OFF = "dim italic"

_ASCII = str.maketrans("│├└╭╮╰╯─┬┴┼✗○●…–×▸▾", "|++++++-+++!o*~-x>v")


def ascii_signs(line: Content) -> Content:
    """Return `line` with signs that every terminal can draw."""
    return Content(line.plain.translate(_ASCII), list(line.spans))


def cut(text: str, width: int) -> str:
    """Cut the end of `text` to at most `width` cells."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + "…"[: max(0, width)]


def cut_front(text: str, width: int) -> str:
    """Cut the start of `text` to at most `width` cells: serials differ at their end."""
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) >= width:
        text = text[1:]
    return f"…{text}"


def shorten(line: Content, width: int) -> Content:
    """Cut the end of a styled line to at most `width` cells; the ellipsis has no style."""
    return line if line.cell_length <= width else line.truncate(max(0, width - 1)) + "…"[: max(0, width)]


def fill(line: Content, width: int) -> Content:
    """Cut or pad `line` to exactly `width` cells."""
    return line.truncate(width, pad=True)


def ends(left: Content, right: Content, width: int) -> Content:
    """Align `left` and `right` in a line of `width` cells; `left` is cut if both are too long."""
    left = shorten(left, width - right.cell_length - (1 if right.cell_length else 0))
    return fill(left.pad_right(max(0, width - left.cell_length - right.cell_length)) + right, width)


def beside(blocks: list[list[Content]], widths: list[int], gap: int) -> list[Content]:
    """Join blocks side by side, `gap` cells apart; shorter blocks are padded with blanks."""
    height = max(map(len, blocks), default=0)
    space = Content(" " * gap)
    padded = [
        [fill(line, width) for line in (block + [Content("")] * height)[:height]]
        for block, width in zip(blocks, widths, strict=True)
    ]
    return [space.join(row) for row in zip(*padded, strict=True)]


class LineList(OptionList):
    """List of single lines that keeps its cursor on the same key when the lines change."""

    DEFAULT_CSS = """
    LineList {
        height: 1fr; padding: 0; background: transparent; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        &:focus { background-tint: $foreground 0%; }
    }
    """

    class WidthChanged(Message):
        """The width of the lines changed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self.keys: list[Hashable] = []
        self._width = 0
        self._shown: list[tuple[Content, bool]] = []

    @property
    def line_width(self) -> int:
        """Width of a line in cells; while the list is hidden as it was before, and 0 if it was never shown."""
        return self.scrollable_content_region.width or self._width

    def on_resize(self) -> None:
        self.scroll_to_highlight()
        if self.line_width != self._width:
            self._width = self.line_width
            self.post_message(self.WidthChanged())

    @property
    def key(self) -> Any:
        """Key of the line under the cursor; None for an empty list."""
        return self.keys[self.highlighted] if self.highlighted is not None and self.highlighted < len(self.keys) else None

    def show(self, keys: Sequence[Hashable], lines: Sequence[Content], off: Sequence[bool] = ()) -> None:
        """Show these lines. The cursor skips lines whose `off` is True."""
        lines = lines if glyphs().unicode else [ascii_signs(line) for line in lines]
        shown = list(zip(lines, off or [False] * len(lines), strict=True))
        if list(keys) == self.keys and [o for _, o in shown] == [o for _, o in self._shown]:
            for index, (now, before) in enumerate(zip(shown, self._shown, strict=True)):
                if not now[0].is_same(before[0]):
                    self.replace_option_prompt_at_index(index, now[0])
            self._shown = shown
            return
        here, index = self.key, self.highlighted or 0
        self.keys, self._shown = list(keys), shown
        with self.prevent(OptionList.OptionHighlighted):
            self.clear_options()
            self.add_options([Option(line, disabled=disabled) for line, disabled in shown])
        self.go(here if here in self.keys else None, index)

    def go(self, key: Hashable | None, otherwise: int = 0) -> None:
        """Put the cursor on a key, or on line number `otherwise` if the key does not exist."""
        if self.keys:
            self.highlighted = self.keys.index(key) if key in self.keys else min(otherwise, len(self.keys) - 1)


def outline_line(line: Line, width: int, *, old: bool = False) -> Content:
    """Return one outline line of `width` cells: branch, name, and a note or an error. An `old` error is dim."""
    branch, bad = line.branch, DIM if old else BAD
    if line.what in ("section", "policy"):
        head = Content.styled(line.words, f"bold {ACCENT}")
    elif line.what == "scenario":
        head = Content.styled(cut(line.words, width), "bold")
    elif line.what == "disk":
        room = max(8, width - cell_len(branch) - cell_len(line.wrong or line.note[:9]) - 4)
        head = Content.assemble((branch, DIM), (cut_front(line.words, room), bad if line.wrong else ""))
    else:
        head = Content.assemble((branch, DIM), cut(line.words, max(8, width - cell_len(branch))))
    note = Content.styled(f"✗ {line.wrong}", bad) if line.wrong else Content.styled(line.note, DIM)
    room = width - head.cell_length - 2
    if room < 4 or not note.cell_length:
        return fill(head + Content.styled(" ✗", bad), width) if line.wrong else fill(head, width)
    return fill(head + "  " + shorten(note, room), width)


def form_line(row: FormRow, names: int, width: int, *, old: bool = False) -> Content:
    """Return one form line: error mark, option name in `names` cells, value, and its reason. `old` errors are dim."""
    bad = DIM if old and not row.surely else BAD
    mark = Content.styled("✗", bad) if row.wrong else Content(" ")
    name = cut("  " * row.depth + clean(row.field.name, 60), names).ljust(names)
    if row.heading:
        return _heading_line(row, mark, names, width, bad)
    if row.refused:
        said = cut(f"refused: {clean(row.refused)}", max(0, width - names - 3))
        return fill(Content.assemble(mark, " ", (name, OFF), " ", (said, OFF)), width)
    given = row.value is not MISSING
    room = max(6, width - names - 3)
    note = row.wrong or ("" if given else _why(row))
    shown = Content.styled(cut(row.shown or "–", room), "bold" if given else DIM)
    left = room - shown.cell_length - 2
    tail = Content.styled(cut(note, left), bad if row.wrong else DIM) if left > 5 else Content("")
    gap = max(2, 16 - shown.cell_length) if left > 24 else 2
    tail = shorten(tail, room - shown.cell_length - gap)
    return fill(Content.assemble(mark, " ", (name, bad if row.wrong else ""), " ", shown, " " * gap, tail), width)


def _heading_line(row: FormRow, mark: Content, names: int, width: int, bad: str) -> Content:
    """Return the line of a group: a sign for open or closed, its name, and what is in it if it is closed."""
    name = cut(clean(row.field.name, 60), names - 2 * row.depth).ljust(names - 2 * row.depth)
    said = Content.styled(row.wrong, bad) if row.wrong else Content.styled(row.summary, DIM)
    sign = ("▾" if row.is_open else "▸", DIM)
    line = Content.assemble(mark, "  " * row.depth, sign, (name, bad if row.wrong else ""), " ")
    return fill(line + shorten(said, width - names - 3), width)


def names_width(rows: Sequence[FormRow], width: int) -> int:
    """Return the width of the name column: the longest name, at most two fifths of `width`."""
    return min(max([4, *(cell_len(row.field.name) + 2 * row.depth for row in rows)]), max(8, width * 2 // 5))


def about_lines(row: FormRow, hint: str) -> Content:
    """Return the description below a form: an option's errors, help, default and the hint of what may be typed."""
    parts = []
    if row.wrong:
        parts.append(Content.styled(f"! {row.wrong}", BAD))
    if row.refused:
        parts.append(Content.styled(f"Not allowed here: {clean(row.refused)}", BAD))
    if row.field.help:
        parts.append(Content(clean(row.field.help, 600)))
    if row.heading:
        leave = "" if row.loose or row.value is MISSING else " · delete: leave it out"
        add = " · space: add it" if row.value is MISSING and not row.loose else ""
        parts.append(Content.styled(f"enter: {'close' if row.is_open else 'open'}{add}{leave}", DIM))
    if row.grows:
        parts.append(Content.styled("enter: add one · delete on one of them: remove it", DIM))
    fallback = clean(row.fallback, 200)
    if not row.field.required and not row.renames and not row.heading and (fallback or row.setting):
        why = f", {clean(row.setting.why)}" if row.setting and row.setting.why else ""
        parts.append(Content.assemble((f"Left out: {fallback or 'nothing'}{why}.", DIM)))
    if hint and not row.heading and not row.renames:
        parts.append(Content.styled(hint, DIM))
    return Content("\n").join(parts)


def choice_lines(
    choices: Sequence[str], chosen: Sequence[str], refused: Mapping[str, str], notes: Mapping[str, str]
) -> list[Content]:
    """Return one line per choice, with a mark for the chosen and a reason for the refused."""
    widest = max([0, *(cell_len(clean(choice, 60)) for choice in choices)])
    lines = []
    for choice in choices:
        taken = choice in chosen
        said = f"refused: {clean(refused[choice])}" if choice in refused else clean(notes.get(choice, ""))
        style = OFF if choice in refused else "bold" if taken else ""
        word = clean(choice, 60).ljust(widest)
        lines.append(Content.assemble(("●" if taken else "○", style or DIM), " ", (word, style), "  ", (said, DIM)))
    return lines


def offer_lines(words: Sequence[tuple[str, str]], width: int) -> list[Content]:
    """Return one line per word that may be taken, with its note."""
    widest = min(max([0, *(cell_len(word) for word, _ in words)]), 34)
    return [
        Content.assemble(clean(word, 60).ljust(widest), "  ", (cut(clean(note, 200), max(0, width - widest - 2)), DIM))
        for word, note in words
    ]


def problem_line(place: str, message: str) -> Content:
    return Content.assemble(("✗ ", BAD), (clean(place, 200), "bold"), " " if place else "", (clean(message, 300), BAD))


def _why(row: FormRow) -> str:
    if row.setting is not None and row.setting.why:
        return clean(row.setting.why)
    return "" if row.renames or row.field.default is None else "default"


@dataclass
class ValueGiven(Message):
    """The user gave an option another value. `stay` keeps the focus where it is."""

    row: FormRow
    value: Any
    stay: bool = False


@dataclass
class ObjectWanted(Message):
    """The user wants an object that is left out, or one more in a list."""

    row: FormRow


class FormList(LineList):
    """List of a form's options. Enter changes the option under the cursor; left and right change choices."""

    HELP = """\
## The form

Every option of the entry under the cursor: its given value (bold), or the default and its reason.
**Enter** changes it, **left**, **right** and **space** go through choices, **delete** removes the value.
Options that Linux would refuse here are greyed, with the reason.
Groups of options are closed: **enter** or **right** opens one, **left** closes it, **space** adds what is left out
(a volume, a cache). **/** finds options in closed groups too.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Choice before", id="form.before", show=False,
                tooltip="The choice before; close a group"),
        Binding("right", "turn(1)", "Next choice", id="form.next", tooltip="The next choice; open a group", show=False),
        Binding("space", "add", "Next choice", id="form.add", tooltip="The next choice; add what is left out", show=False),
        Binding("delete,backspace", "leave_out", "Leave out", id="form.leave_out", show=False,
                tooltip="Leave the option out"),
        Binding("escape", "screen.to_outline", "Scenario", id="form.back", tooltip="Back to the scenario", show=False),
    ]  # fmt: skip

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._rows: tuple[FormRow, ...] = ()
        self._form, self._old = Form("", "", ()), False
        self.opened: set[Path] = set()
        """Headings of the groups that are open."""

    @property
    def row(self) -> FormRow | None:
        number = self.highlighted
        return self._rows[number] if number is not None and number < len(self._rows) else None

    def show_form(self, form: Form, *, old: bool = False) -> None:
        """Show a form; `old` if its verdicts are of an earlier draft."""
        another = bool(form.rows) and (not self._form.rows or self._form.rows[0].path != form.rows[0].path)
        self._form, self._old = form, old
        with self.prevent(OptionList.OptionHighlighted):
            self._show_rows()
            if another:
                self.go(None)

    def _show_rows(self) -> None:
        self._rows = folded(self._form.rows, self.opened)
        width = max(24, self.line_width or 70)
        names = names_width(self._form.rows, width)
        self.show([(row.path, row.renames) for row in self._rows],
                  [form_line(row, names, width, old=self._old) for row in self._rows])  # fmt: skip

    def open_group(self, path: Path, *, is_open: bool) -> None:
        """Show the options of a group, or close it."""
        (self.opened.add if is_open else self.opened.discard)(path)
        self._show_rows()
        self.go((path, False))

    def go_to(self, path: Path) -> None:
        """Put the cursor on the option at `path`, or on the one that holds it; closed groups around it open."""
        above = [row.path for row in self._form.rows if row.path == path[: len(row.path)] and not row.renames]
        path = max(above, key=len, default=path)
        if hidden := holders(self._form.rows, path) - self.opened:
            self.opened |= hidden
            self._show_rows()
        if (path, False) in self.keys:
            self.go((path, False))

    def step(self, by: int) -> None:
        if self._rows and by:
            self.highlighted = min(max((self.highlighted or 0) + by, 0), len(self._rows) - 1)

    def action_turn(self, by: int) -> None:
        """Take the next allowed choice; open the editor for options that are no choices."""
        row = self.row
        if row is not None and row.heading:
            self._turn_group(row, by)
            return
        if row is None or row.refused:
            return
        if by < 0 and row.depth and row.field.type not in ("choice", "switch"):
            self.close_group()
            return
        if row.field.many or row.field.type not in ("choice", "switch"):
            self.action_select()
            return
        choices: list[Any] = list(row.field.choices) if row.field.type == "choice" else [True, False]
        refused = row.setting.refused_choices if row.setting else {}
        values = ([] if row.field.required else [MISSING]) + [value for value in choices if value not in refused]
        here = values.index(row.value) if row.value in values else -1
        if values and values[(here + by) % len(values)] is not row.value:
            self.post_message(ValueGiven(row, values[(here + by) % len(values)]))

    def _turn_group(self, row: FormRow, by: int) -> None:
        if by < 0 and not row.is_open and row.depth:
            self.close_group()
        else:
            self.open_group(row.path, is_open=by > 0)

    def enter(self) -> bool:
        """Open or close the group under the cursor, or ask for one more of a list. False for options with a value."""
        row = self.row
        if row is not None and row.heading:
            self.open_group(row.path, is_open=not row.is_open)
        elif row is not None and row.grows:
            self.post_message(ObjectWanted(row))
        return row is not None and (row.heading or row.grows)

    def close_group(self) -> None:
        """Close the innermost group around the cursor."""
        above = [row for row in self._rows[: self.highlighted] if row.heading and row.depth < (self.row or row).depth]
        if above:
            self.open_group(above[-1].path, is_open=False)

    def action_add(self) -> None:
        """Add the object under the cursor, if it is left out; else take the next choice."""
        row = self.row
        if row is None or not row.heading:
            self.action_turn(1)
        elif row.value is MISSING and not row.loose:
            self.opened.add(row.path)
            self.post_message(ObjectWanted(row))
        else:
            self.open_group(row.path, is_open=not row.is_open)

    def action_leave_out(self) -> None:
        row = self.row
        if row is not None and not row.renames and not row.loose and not row.swaps and row.value is not MISSING:
            self.post_message(ValueGiven(row, MISSING))
