"""How the lines of outline, form and choices look: columns of a given width. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean, plural
from raidtui.tui.compose.form_rows import FormRow
from raidtui.tui.compose.lines import ACCENT, BAD, DIM, OFF, cut, cut_front, fill
from raidtui.tui.compose.outline import Line
from raidtui.tui.compose.paths import MISSING
from raidtui.tui.widgets.glyphs import Glyphs

_BRANCHES = str.maketrans({"│": "|", "├": "+", "└": "+"})


def outline_line(line: Line, width: int, signs: Glyphs) -> Content:
    """One line of the outline in `width` cells: branch, name, and a note or what is wrong."""
    bad = "✗" if signs.unicode else "!"
    branch = line.branch if signs.unicode else line.branch.translate(_BRANCHES)
    if line.what in ("section", "policy"):
        head = Content.styled(line.words, f"bold {ACCENT}")
    elif line.what == "scenario":
        head = Content.styled(cut(line.words, width, signs.ellipsis), "bold")
    elif line.what == "disk":
        room = max(8, width - cell_len(branch) - cell_len(line.wrong or line.note[:9]) - 4)
        head = Content.assemble((branch, DIM), (cut_front(line.words, room, signs.ellipsis), BAD if line.wrong else ""))
    else:
        head = Content.assemble((branch, DIM), cut(line.words, max(8, width - cell_len(branch)), signs.ellipsis))
    note = Content.styled(f"{bad} {line.wrong}", BAD) if line.wrong else Content.styled(line.note, DIM)
    room = width - head.cell_length - 2
    if room < 4 or not note.cell_length:
        return fill(head + Content.styled(f" {bad}", BAD), width) if line.wrong else fill(head, width)
    return fill(head + "  " + _cut(note, room, signs), width)


def form_line(row: FormRow, names: int, width: int, signs: Glyphs) -> Content:
    """One option: a mark, its name in `names` cells, its value, and why it is so."""
    mark = Content.styled("✗" if signs.unicode else "!", BAD) if row.wrong else Content(" ")
    name = cut("  " * row.depth + clean(row.field.name, 60), names, signs.ellipsis).ljust(names)
    if row.heading:
        return fill(Content.assemble(mark, " ", (name, "" if not row.wrong else BAD)), width)
    if row.refused:
        said = cut(f"refused: {clean(row.refused)}", max(0, width - names - 3), signs.ellipsis)
        return fill(Content.assemble(mark, " ", (name, OFF), " ", (said, OFF)), width)
    given = row.value is not MISSING
    room = max(6, width - names - 3)
    value = row.shown or signs.absent
    note = row.wrong or ("" if given else _why(row))
    style = "bold" if given else DIM
    shown = Content.styled(cut(value, room, signs.ellipsis), style)
    left = room - shown.cell_length - 2
    tail = Content.styled(cut(note, left, signs.ellipsis), BAD if row.wrong else DIM) if left > 5 else Content("")
    gap = max(2, 16 - shown.cell_length) if left > 24 else 2
    tail = _cut(tail, room - shown.cell_length - gap, signs)
    return fill(Content.assemble(mark, " ", (name, BAD if row.wrong else ""), " ", shown, " " * gap, tail), width)


def names_width(rows: Sequence[FormRow], width: int) -> int:
    """How wide the column of names is: as the longest, but never more than two fifths."""
    return min(max([4, *(cell_len(row.field.name) + 2 * row.depth for row in rows)]), max(8, width * 2 // 5))


def about_lines(row: FormRow, kind: str) -> Content:
    """What is said of an option below a form: its help, what is taken where it is left out, and why not."""
    parts = []
    if row.wrong:
        parts.append(Content.styled(f"! {row.wrong}", BAD))
    if row.refused:
        parts.append(Content.styled(f"It cannot be given here: {clean(row.refused)}", BAD))
    if row.field.help:
        parts.append(Content(clean(row.field.help, 600)))
    fallback = clean(row.fallback, 200)
    if not row.field.required and not row.renames and not row.heading and (fallback or row.setting):
        why = f", {clean(row.setting.why)}" if row.setting and row.setting.why else ""
        parts.append(Content.assemble((f"Left out: {fallback or 'nothing'}{why}.", DIM)))
    if kind:
        parts.append(Content.styled(kind, DIM))
    return Content("\n").join(parts)


def choice_lines(
    choices: Sequence[str], chosen: Sequence[str], refused: Mapping[str, str], notes: Mapping[str, str], signs: Glyphs
) -> list[Content]:
    """One line per choice: whether it is taken, and why it cannot be."""
    on, free = ("●", "○") if signs.unicode else ("*", "o")
    widest = max([0, *(cell_len(clean(choice, 60)) for choice in choices)])
    lines = []
    for choice in choices:
        taken = choice in chosen
        said = f"refused: {clean(refused[choice])}" if choice in refused else clean(notes.get(choice, ""))
        style = OFF if choice in refused else "bold" if taken else ""
        word = clean(choice, 60).ljust(widest)
        lines.append(Content.assemble((on if taken else free, style or DIM), " ", (word, style), "  ", (said, DIM)))
    return lines


def problem_line(place: str, message: str, signs: Glyphs) -> Content:
    bad = "✗" if signs.unicode else "!"
    return Content.assemble((f"{bad} ", BAD), (clean(place, 200), "bold") if place else "", " " if place else "",
                            (clean(message, 300), BAD))  # fmt: skip


def counted(count: int, noun: str) -> str:
    return plural(count, noun)


def _why(row: FormRow) -> str:
    if row.setting is not None and row.setting.why:
        return clean(row.setting.why)
    return "" if row.renames or row.field.default is None else "default"


def _cut(text: Content, width: int, signs: Glyphs) -> Content:
    if text.cell_length <= width:
        return text
    if width <= len(signs.ellipsis):
        return Content("")
    return text.truncate(width - len(signs.ellipsis)) + Content(signs.ellipsis)
