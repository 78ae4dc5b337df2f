"""What a layout, a workload or the whole scenario comes to, as lines of text. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean, plural
from raidtui.model.describe import Ceiling, LayoutView, Preview, WorkloadView
from raidtui.model.plan import Argv
from raidtui.model.units import duration_text, size_text
from raidtui.results.numbers import mb_s_text
from raidtui.tui.compose.lines import ACCENT, BAD, DIM, WARN, cut, ends
from raidtui.tui.widgets.glyphs import Glyphs

_LABEL = 15


def figures(view: LayoutView, width: int, signs: Glyphs) -> list[Content]:
    """Capacity, what may fail, what writes cost, the stripe and the ceiling: one line each, wrapped where it is long."""
    lines: list[Content] = []
    none = Content.styled(signs.absent, DIM)
    lines += _fact("usable", _usable(view) or none, width)
    lines += _fact("may fail", _may_fail(view) or none, width)
    penalty = view.write_penalty
    writes = f"{penalty:g} × device writes for one small random write" if penalty is not None else ""
    lines += _fact("write penalty", Content(writes) if writes else none, width)
    lines += _fact("full stripe", Content(size_text(view.stripe_bytes)) if view.stripe_bytes is not None else none, width)
    return lines + _fact("ceiling", Content(_ceiling(view.ceiling)) if view.ceiling else none, width)


def short(view: LayoutView, signs: Glyphs) -> str:
    """A layout in a few words, for a border: `5.2 TiB · 1 may fail · 4× writes`."""
    parts = []
    if view.size_bytes is not None:
        parts.append(size_text(view.size_bytes))
    if view.may_fail is not None:
        parts.append(f"{view.may_fail} may fail")
    if view.write_penalty is not None:
        parts.append(f"{view.write_penalty:g}× writes")
    if view.problems:
        parts.append(plural(len(view.problems), "problem"))
    elif view.warnings:
        parts.append(plural(len(view.warnings), "warning"))
    return " · ".join(parts) if signs.unicode else ", ".join(parts).replace("×", "x")


def warning_lines(warnings: Sequence[str], width: int) -> list[Content]:
    lines: list[Content] = []
    for warning in warnings:
        lines += _hanging(Content.styled("! ", f"bold {WARN}"), Content.styled(clean(warning, 400), WARN), width)
    return lines


def load_lines(view: WorkloadView, width: int) -> list[Content]:
    """One workload: what it is and how long it takes."""
    return [*_fact("load", Content(clean(view.words)), width), *_fact("takes", Content(duration_text(view.seconds)), width)]


def overview(preview: Preview, width: int, signs: Glyphs) -> list[Content]:
    """All layouts below each other, and what the whole run takes."""
    lines = []
    if preview.layouts:
        lines += _table(preview.layouts, width, signs)
        lines.append(Content(""))
    cells = plural(preview.cells, "cell") if preview.cells else signs.absent
    lines += _fact("to measure", Content(cells), width)
    if preview.seconds is not None:
        takes = "at most about" if preview.ends_early else "takes about"
        lines += _fact(takes, Content(duration_text(preview.seconds)), width)
        writes = size_text(preview.writes_bytes) if preview.writes_bytes is not None else "as much as the disks take"
        lines += _fact("writes", Content(f"at most {writes}" if preview.writes_bytes is not None else writes), width)
    if preview.erases:
        lines += _fact("erases", Content(plural(len(preview.erases), "disk")), width)
    return lines


def command_lines(commands: Sequence[Argv], width: int) -> list[Content]:
    """Commands as a shell would take them, wrapped at blanks with a backslash."""
    lines: list[Content] = []
    for argv in commands:
        lines += [Content(line) for line in _wrapped([clean(shlex.quote(word), 300) for word in argv], width)]
    return lines


def commands_text(commands: Sequence[Argv]) -> str:
    """The same for the clipboard: one command a line."""
    return "".join(f"{shlex.join(argv)}\n" for argv in commands)


def heading(text: str, width: int, hint: str = "", signs: Glyphs | None = None) -> Content:
    line = signs.horizontal if signs else "─"
    left = Content.assemble((text, f"bold {ACCENT}"), " ")
    right = Content.styled(f" {hint}" if hint else "", DIM)
    return left + Content.styled(line * max(0, width - left.cell_length - right.cell_length), "$panel") + right


def _usable(view: LayoutView) -> Content | None:
    if view.size_bytes is None:
        return None
    if not view.raw_bytes:
        return Content.styled(size_text(view.size_bytes), "bold")
    share = f"  {view.size_bytes / view.raw_bytes * 100:.0f} % of {size_text(view.raw_bytes)} raw"
    return Content.assemble((size_text(view.size_bytes), "bold"), (share, DIM))


def _may_fail(view: LayoutView) -> Content | None:
    if view.may_fail is None:
        return None
    count = str(view.may_fail) if view.may_fail else "none"
    style = f"bold {BAD}" if not view.may_fail else "bold"
    return Content.assemble((count, style), (f"  {clean(view.may_fail_words, 300)}", DIM))


def _ceiling(ceiling: Ceiling) -> str:
    parts = [
        f"{name} {mb_s_text(rate)} MB/s"
        for name, rate in (("read", ceiling.read_bytes_per_s), ("write", ceiling.write_bytes_per_s))
        if rate is not None
    ]
    return f"{', '.join(parts)} ({clean(ceiling.source, 120)})"


def _fact(label: str, value: Content, width: int) -> list[Content]:
    return _hanging(Content.styled(label.ljust(_LABEL), DIM), value, width)


def _hanging(label: Content, value: Content, width: int) -> list[Content]:
    """`value` beside its label, its further lines below its first."""
    first, *more = value.wrap(max(10, width - label.cell_length)) or [Content("")]
    return [label + first, *(Content(" " * label.cell_length) + line for line in more)]


_COLUMNS = (("usable", 9), ("may fail", 9), ("of raw", 7), ("writes", 7))
"""Titles and widths, a blank before each, the first to be shown first."""
_MARK_WIDTH = 5
"""`  ✗ 9`, how many problems or warnings a layout has."""


def _table(views: Sequence[LayoutView], width: int, signs: Glyphs) -> list[Content]:
    """A line for each layout, with the columns that there is room for."""
    marked = any(view.problems or view.warnings for view in views)
    left = width - (_MARK_WIDTH if marked else 0)
    names = min(28, max(8, *(cell_len(clean(view.name)) for view in views)))
    shown = [title for title, _ in _COLUMNS]
    while len(shown) > 1 and names + sum(size + 1 for title, size in _COLUMNS if title in shown) > left:
        shown.pop()
    names = max(4, min(names, left - sum(size + 1 for title, size in _COLUMNS if title in shown)))

    def row(name: str, words: Mapping[str, str]) -> str:
        cells = "".join(f" {words[title]:>{size}}" for title, size in _COLUMNS if title in shown)
        return f"{cut(name, names, signs.ellipsis):<{names}}{cells}"

    head = Content.styled(row("layout", {title: title for title, _ in _COLUMNS}), DIM)
    return [head, *(Content(row(clean(view.name), _figures(view, signs))) + _mark(view, signs) for view in views)]


def _figures(view: LayoutView, signs: Glyphs) -> dict[str, str]:
    absent = signs.absent
    share = f"{view.size_bytes / view.raw_bytes * 100:.0f} %" if view.size_bytes is not None and view.raw_bytes else absent
    return {
        "usable": size_text(view.size_bytes) if view.size_bytes is not None else absent,
        "may fail": str(view.may_fail) if view.may_fail is not None else absent,
        "of raw": share,
        "writes": f"{view.write_penalty:g} ×" if view.write_penalty is not None else absent,
    }


def _mark(view: LayoutView, signs: Glyphs) -> Content:
    if view.problems:
        return Content.styled(f"  {'✗' if signs.unicode else 'x'} {len(view.problems)}", BAD)
    return Content.styled(f"  ! {len(view.warnings)}", WARN) if view.warnings else Content("")


def _wrapped(words: list[str], width: int) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) + 2 > width:
            yield f"{line} \\"
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield line


__all__ = ["command_lines", "commands_text", "ends", "figures", "heading", "load_lines", "overview", "short",
           "warning_lines"]  # fmt: skip
