"""Preview as lines of text: figures of layouts, workloads and the scenario, warnings and commands. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean, plural
from raidtui.model.describe import Ceiling, LayoutView, Preview, WorkloadView
from raidtui.model.plan import Argv
from raidtui.model.units import duration_text, size_text
from raidtui.results.rates import mb_s_text
from raidtui.tui.compose.lists import ACCENT, BAD, DIM, WARN, cut
from raidtui.tui.widgets.glyphs import glyphs

_LABEL = 15
_UNSEEN = "known once the disks of these hosts were seen: h on the screen Disks"


def figures(view: LayoutView, width: int) -> list[Content]:
    """Return capacity, tolerated failures, write penalty, stripe and ceiling: one wrapped line each."""
    penalty, stripe = view.write_penalty, view.stripe_bytes
    facts = {
        "usable": _usable(view) or (Content.styled(_UNSEEN, DIM) if view.on_each_of and not view.problems else None),
        "may fail": _may_fail(view),
        "write penalty": None if penalty is None else Content(f"{penalty:g} reads and writes of disks for one small write"),
        "full stripe": None if stripe is None else Content(size_text(stripe)),
        "ceiling": Content(_ceiling(view.ceiling)) if view.ceiling else None,
    }
    return [line for name, fact in facts.items() for line in _fact(name, fact or Content.styled("–", DIM), width)]


def short(view: LayoutView) -> str:
    """Return a layout's figures for a border: `5.2 TiB · 1 may fail · 4 I/O a write`."""
    parts = []
    if view.size_bytes is not None:
        parts.append(f"{size_text(view.size_bytes)}{_times(view)}")
    if view.may_fail is not None:
        parts.append(f"{view.may_fail} may fail")
    if view.write_penalty is not None:
        parts.append(f"{view.write_penalty:g} I/O a write")
    if view.problems:
        parts.append(plural(len(view.problems), "problem"))
    elif view.warnings:
        parts.append(plural(len(view.warnings), "warning"))
    return " · ".join(parts)


def warning_lines(warnings: Sequence[str], width: int) -> list[Content]:
    sign = Content.styled("! ", f"bold {WARN}")
    return [line for one in warnings for line in _hanging(sign, Content.styled(clean(one, 400), WARN), width)]


def load_lines(view: WorkloadView, width: int) -> list[Content]:
    """Return a workload's description and duration."""
    return [*_fact("load", Content(clean(view.words)), width), *_fact("takes", Content(duration_text(view.seconds)), width)]


def overview(preview: Preview, width: int) -> list[Content]:
    """Return all layouts in a table, and the cost of the whole run."""
    lines = [*_table(preview.layouts, width), Content("")] if preview.layouts else []
    cells = plural(preview.cells, "cell") if preview.cells else "–"
    lines += _fact("to measure", Content(cells), width)
    if preview.seconds is not None:
        takes = "at most about" if preview.ends_early else "takes about"
        lines += _fact(takes, Content(duration_text(preview.seconds)), width)
        most = preview.writes_bytes
        writes = "not known: bounded by time alone" if most is None else f"at most {size_text(most)}"
        lines += _fact("writes", Content(writes), width)
    if preview.erases:
        lines += _fact("erases", Content(plural(len(preview.erases), "disk")), width)
    return lines


_SETTINGS_OF_LVM: Final = "--config"
"""Option of every command of LVM that keeps it from asking daemons and from writing backups."""


def readable(argv: Argv) -> Argv:
    """Return a command without LVM's settings, which are the same in all of them."""
    tool = argv[0].rpartition("/")[2] if argv else ""
    if tool[:2] not in ("lv", "vg", "pv") or _SETTINGS_OF_LVM not in argv:
        return argv
    place = argv.index(_SETTINGS_OF_LVM)
    return (*argv[:place], *argv[place + 2 :])


def command_lines(commands: Sequence[Argv], width: int, *, exact: bool = False) -> list[Content]:
    shown = commands if exact else [readable(argv) for argv in commands]
    quoted = ([clean(shlex.quote(word), 300) for word in argv] for argv in shown)
    return [Content(line) for words in quoted for line in _wrapped(words, width)]


def commands_text(commands: Sequence[Argv]) -> str:
    """Return commands for the clipboard, one per line."""
    return "".join(f"{shlex.join(argv)}\n" for argv in commands)


def heading(text: str, width: int, hint: str = "") -> Content:
    left = Content.assemble((text, f"bold {ACCENT}"), " ")
    right = Content.styled(f" {hint}" if hint else "", DIM)
    return left + Content.styled("─" * max(0, width - left.cell_length - right.cell_length), "$panel") + right


def _usable(view: LayoutView) -> Content | None:
    if view.size_bytes is None:
        return None
    if not view.raw_bytes:
        return Content.styled(size_text(view.size_bytes), "bold")
    share = f"  {view.size_bytes / view.raw_bytes * 100:.0f} % of {size_text(view.raw_bytes)} raw"
    share += f", on each of {plural(len(view.on_each_of), 'host')}" if view.on_each_of else ""
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
    first, *more = value.wrap(max(10, width - label.cell_length)) or [Content("")]
    return [label + first, *(Content(" " * label.cell_length) + line for line in more)]


_COLUMNS = (("usable", 9), ("may fail", 9), ("of raw", 7), ("I/O a write", 11))
"""Titles and widths without the blank before each, the most important first."""
_MARK_WIDTH = 5
"""Width of a layout's count of problems or warnings: `  ✗ 9`."""


def _table(views: Sequence[LayoutView], width: int) -> list[Content]:
    marked = any(view.problems or view.warnings for view in views)
    more = max((len(_times(view)) for view in views), default=0)
    columns = {title: size + (more if title == "usable" else 0) for title, size in _COLUMNS}
    left = width - (_MARK_WIDTH if marked else 0)
    names = min(28, max(8, *(cell_len(clean(view.name)) for view in views)))
    shown = list(columns)
    while len(shown) > 1 and names + sum(size + 1 for title, size in columns.items() if title in shown) > left:
        shown.pop()
    names = max(4, min(names, left - sum(size + 1 for title, size in columns.items() if title in shown)))

    def row(name: str, words: Mapping[str, str]) -> str:
        cells = "".join(f" {words[title]:>{size}}" for title, size in columns.items() if title in shown)
        return f"{cut(name, names):<{names}}{cells}"

    head = Content.styled(row("layout", {title: title for title in columns}), DIM)
    return [head, *(Content(row(clean(view.name), _figures(view))) + _mark(view) for view in views)]


def _figures(view: LayoutView) -> dict[str, str]:
    share = f"{view.size_bytes / view.raw_bytes * 100:.0f} %" if view.size_bytes is not None and view.raw_bytes else "–"
    return {
        "usable": f"{size_text(view.size_bytes)}{_times(view)}" if view.size_bytes is not None else "–",
        "may fail": str(view.may_fail) if view.may_fail is not None else "–",
        "of raw": share,
        "I/O a write": f"{view.write_penalty:g}" if view.write_penalty is not None else "–",
    }


def _times(view: LayoutView) -> str:
    """` ×3` for a layout that each of three hosts has."""
    return f" ×{len(view.on_each_of)}" if view.on_each_of else ""


def _mark(view: LayoutView) -> Content:
    if view.problems:
        return Content.styled(f"  {'✗' if glyphs().unicode else 'x'} {len(view.problems)}", BAD)
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
