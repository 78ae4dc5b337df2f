"""Pages of text about one result: its cells, what was built, on which machine, with which commands."""

from __future__ import annotations

import shlex
import textwrap
from typing import Any

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean, plural
from raidtui.front.phrases import pairs, places, ranking_line
from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.result import Built, Result
from raidtui.model.units import duration_text, size_text
from raidtui.results import daemons
from raidtui.results.compare import compare
from raidtui.results.comparison import Comparison, Row
from raidtui.results.cores import ALL_HOSTS
from raidtui.results.lines import (
    INVALID,
    MARKS,
    NOT_BUILT,
    PARTLY,
    TITLE,
    VALID,
    Footnotes,
    account_lines,
    spread_text,
    state_of,
)
from raidtui.results.notes import build_words, measured_on, tuning_lines
from raidtui.results.rates import NOTHING, percent_text, rate_text
from raidtui.results.sweep_lines import knee_lines
from raidtui.tui.results.library import state_word
from raidtui.tui.widgets.glyphs import bar, glyphs
from raidtui.tui.widgets.table_line import fit

Piece = tuple[str, str]
"""Text and a style, in theme variables (`$text-error`) or words (`bold`)."""

MUTED, GOOD, WARN, BAD, ACCENT = "$text-muted", "$text-success", "$text-warning", "$text-error", "$text-accent"


_PLAIN = str.maketrans({"✓": "+", "✗": "x", "⚠": "!", "–": "-", "×": "x", "…": "~", "µ": "u", "▲": "^", "▼": "v"})


def signs(text: str) -> str:
    """Replace signs that this terminal cannot draw."""
    return text if glyphs().unicode else text.translate(_PLAIN)


class Sheet:
    """Styled lines of text, never markup."""

    def __init__(self, width: int) -> None:
        self.width = max(20, width)
        self._lines: list[list[Piece]] = []

    def row(self, *pieces: Piece | str) -> None:
        """Add one line as it is; the caller made it fit."""
        self._lines.append([(piece, "") if isinstance(piece, str) else piece for piece in pieces])

    def head(self, words: str, more: str = "") -> None:
        """Add a heading with a blank line above it."""
        if self._lines:
            self.row("")
        self.row((clean(words, self.width), "bold $text-primary"), (f"  {clean(more)}" if more else "", MUTED))

    def para(self, words: object, *, mark: str = "", indent: int = 0, style: str = "", limit: int = 4096) -> None:
        """Add a wrapped paragraph, indented behind its mark."""
        hang = indent + (cell_len(mark) + 1 if mark else 0)
        wrapped = textwrap.wrap(clean(words, limit), max(10, self.width - hang)) or [""]
        for number, line in enumerate(wrapped):
            left = " " * indent + (f"{mark} " if mark and number == 0 else " " * (hang - indent))
            self.row((left, style), (line, style))

    def fact(self, name: str, value: object, *, style: str = "", column: int = 14) -> None:
        """Add a name and its wrapped value."""
        wrapped = textwrap.wrap(clean(value, 2000), max(10, self.width - column)) or [glyphs().absent]
        for number, line in enumerate(wrapped):
            left = clean(name, column - 1) if number == 0 else ""
            self.row((left.ljust(column), MUTED), (line, style))

    def content(self) -> Content:
        lines = [[(signs(text), style) for text, style in line if text] for line in self._lines]
        return Content("\n").join([Content.assemble(*line) for line in lines])


def cut(text: object, width: int) -> str:
    """Return foreign text in exactly `width` cells."""
    return fit(clean(text), width, "left", "…")[0]


_LOOK = {VALID: GOOD, PARTLY: WARN, INVALID: BAD, NOT_BUILT: BAD}
_LIMITER = 20
"""Width of the longest name of a limit, in cells."""
_NOT_SHOWN = ("initial_sync", "path", "size_bytes", "sync_seconds", "kernel_name")


def summary(result: Result, width: int) -> Content:
    """Return how the run ended, and rate, mark and share of the baseline of every layout and workload."""
    sheet = Sheet(width)
    title = result.scenario.get("title", "")
    sheet.para(title or result.scenario.get("name", ""), style="bold")
    if reason := result.scenario.get("why"):
        sheet.para(reason, style=MUTED, limit=600)
    sheet.row("")
    valid = sum(cell.valid for cell in result.cells)
    ended = state_word(result.exit)
    sheet.fact("Ended", ended if result.exit in (0, None) else f"{ended} (exit {result.exit})",
               style={0: GOOD, None: WARN}.get(result.exit, BAD))  # fmt: skip
    sheet.fact("Cells", f"{len(result.cells)}, {valid} valid", style="" if valid == len(result.cells) else WARN)
    sheet.fact("Run", result.run)
    sheet.fact("Time", f"{_utc(result.started)} to {_utc(result.finished) if result.finished else 'no end'} UTC")
    sheet.fact("Server", f"{result.machine.host}, kernel {result.machine.kernel}")
    comparison = compare(result)
    for note in comparison.notes:
        sheet.para(note, mark="⚠", style=WARN)
    for problem in result.problems:
        sheet.para(f"{problem.message} [{problem.code}]", mark="✗", style=BAD)
    _rankings(sheet, result)
    _knees(sheet, comparison)
    _matrix(sheet, comparison)
    _limits(sheet, comparison)
    _daemons(sheet, comparison)
    return sheet.content()


def _rankings(sheet: Sheet, result: Result) -> None:
    """Add each ranking: its question, its answer, and the place of each layout."""
    for ranked in result.ranking:
        sheet.head("Ranking", ranked.metric)
        sheet.para(ranking_line(ranked), style="" if ranked.answered else WARN)
        for one in places(ranked):
            behind = f"; better than {one.behind}" if one.behind else ""
            words = f"{one.layout}: {one.value} in {plural(one.rounds, 'round')}{behind}"
            sheet.para(words, mark=f"{one.place:>3}", indent=1)
        for sentence in pairs(ranked):
            sheet.para(sentence, indent=5, style=MUTED)


def _knees(sheet: Sheet, comparison: Comparison) -> None:
    """Add the knees of each sweep."""
    for sweep in comparison.sweeps:
        sheet.head(f"Sweep {clean(sweep.name, 40)}", "c and then s: its curves")
        for line in knee_lines(sweep):
            sheet.para(line, indent=1)


def _limits(sheet: Sheet, comparison: Comparison) -> None:
    lines = account_lines(comparison)
    if not lines:
        return
    sheet.head(TITLE, "share of what the bare disks allow")
    label = max(8, min(max(len(clean(line.layout)) for line in lines), sheet.width // 4))
    load = max(8, min(max(len(clean(line.workload)) for line in lines), sheet.width // 4))
    for line in lines:
        *_, share, observed, expected = line.numbers
        written = observed if expected == NOTHING else f"{observed} of {expected}"
        room = sheet.width - label - load - 12
        words = f"{share:>6}  "
        if room >= _LIMITER + 21:
            words, room = f"{words}{written:<20} ", room - 21
        sheet.row((f" {cut(line.layout, label)} ", ""), (f"{cut(line.workload, load)} ", MUTED), words,
                  (cut(line.limiter, max(0, room)), ""))  # fmt: skip


def _daemons(sheet: Sheet, comparison: Comparison) -> None:
    """Add what the daemons of a cluster took on all hosts together, and what each of these cores carried."""
    lines = [line for line in daemons.daemon_lines(comparison) if line[2] == ALL_HOSTS]
    if lines:
        sheet.head(daemons.TITLE, "cores on all hosts, and the rate for each")
    for layout, workload, _, kind, seen, cores, *_, carried in lines:
        words = f"{cores} cores{'' if seen == NOTHING else f', {seen} processes'}, {carried} for each"
        sheet.fact(f"{layout}, {workload}, {kind}", words, column=max(14, sheet.width // 2))


def _matrix(sheet: Sheet, comparison: Comparison) -> None:
    if not comparison.workloads:
        sheet.head("Cells")
        sheet.para("Nothing was measured.", style=MUTED)
    label = max((len(clean(row.label)) for row in comparison.rows), default=0)
    label = max(8, min(label, sheet.width - 36))
    notes = Footnotes()
    for index, workload in enumerate(comparison.workloads):
        unit = comparison.units[index]
        sheet.head(workload, f"{unit}, % of {comparison.baseline}" if comparison.baseline else unit)
        best = max((entry.typical or 0 for row in comparison.rows if (entry := row.entries[index])), default=0)
        for row in comparison.rows:
            _entry_line(sheet, row, index, label, best, comparison, notes)
    if notes.numbers:
        sheet.row("")
    for sentence, number in notes.numbers.items():
        sheet.para(sentence, mark=f"[{number}]", style=WARN)


def _entry_line(
    sheet: Sheet, row: Row, index: int, label: int, best: float, comparison: Comparison, notes: Footnotes
) -> None:
    state, entry = state_of(row, index), row.entries[index]
    name = (f" {cut(row.label, label)} ", "bold" if row.label == comparison.baseline else "")
    mark = (MARKS[state], _LOOK.get(state, MUTED))
    note = notes.marks(row, index)
    if entry is None or entry.typical is None:
        sheet.row(mark, name, (f"{state}{note}", _LOOK.get(state, MUTED)))
        return
    number = rate_text(entry.typical, comparison.units[index])
    share = percent_text(entry.of_baseline) if entry.of_baseline is not None else ""
    room = sheet.width - label - 3 - 9 - 8 - 7 - (len(note) if note else 0) - 1
    drawn = bar(100 * entry.typical / best if best else 0, min(30, room)).plain if room >= 4 else ""
    words = f"{number:>9} {spread_text(entry):>7} {share:>6} "
    sheet.row(mark, name, words, (drawn, "$primary"), (note, WARN))


def built(result: Result, width: int) -> Content:
    """Return each layout of each round: its requested options, and those read back."""
    sheet = Sheet(width)
    if not result.layouts:
        sheet.para("Nothing was built.", style=MUTED)
    for one in result.layouts:
        _built(sheet, one)
    return sheet.content()


def _built(sheet: Sheet, one: Built) -> None:
    ok = one.status == "built"
    sheet.head(build_words(one), "" if ok else "not built")
    sheet.fact("Built", f"in {duration_text(one.seconds)}" if ok else "no", style="" if ok else BAD)
    if one.problem:
        sheet.para(f"{one.problem.message} [{one.problem.code}]", mark="✗", style=BAD)
    if one.size_bytes:
        sheet.fact("Size", size_text(one.size_bytes))
    if ok:
        sheet.fact("Disks", one.preconditioned)
    if one.initial_sync:
        sheet.fact("Initial sync", one.initial_sync)
    if ok:
        sheet.fact("Taken down", "yes" if one.taken_down else "NO", style="" if one.taken_down else BAD)
    if one.asked is not None:
        sheet.fact("Asked", _facts_text(one.asked))
    for name, facts in one.read_back.items():
        if words := _facts_text(facts):
            sheet.fact("Read back", f"{clean(name)}: {words}")
    for line in tuning_lines(one):
        sheet.fact("Tuned", line)


def _facts_text(value: Any) -> str:
    """Return the readable part of nested facts; the file has all of them."""
    if not isinstance(value, dict):
        return clean(value)
    found = []
    for key, one in value.items():
        if isinstance(one, dict) and len(value) == 1:
            return f"{clean(key, 40)}: {_facts_text(one)}"
        if isinstance(one, (str, int, float)) and key not in _NOT_SHOWN:
            found.append(f"{clean(key, 40)} {clean(one, 60)}")
    return ", ".join(found)


def machine(result: Result, width: int) -> Content:
    """Return the server and its disks at the time of the run."""
    sheet, here = Sheet(width), result.machine
    sheet.head("Server")
    sheet.fact("Name", here.host)
    sheet.fact("System", f"{here.distribution or 'unknown'}, kernel {here.kernel}")
    sheet.fact("CPU", f"{here.cpu_model or 'unknown'}, {plural(here.cpus, 'CPU')}, {plural(here.numa_nodes, 'NUMA node')}")
    sheet.fact("Memory", size_text(here.memory_bytes))
    sheet.fact("Governor", here.governor or "")
    sheet.fact("Tools", ", ".join(f"{tool} {version}" for tool, version in here.tools.items()))
    weak = [f"{name}: {state}" for name, state in here.mitigations.items() if not state.startswith("Not affected")]
    sheet.fact("Mitigations", "; ".join(weak) or "none needed")
    known = {disk.id: disk for disk in result.disks}
    for role, prints in result.binding.items():
        sheet.head(f"@{role}", plural(len(prints), "disk"))
        for found in prints:
            _disk(sheet, found, known.get(found.id))
    return sheet.content()


def _disk(sheet: Sheet, found: Fingerprint, disk: Disk | None) -> None:
    sheet.row((cut(found.id, min(32, sheet.width - 12)), "bold"), f"  {size_text(found.size_bytes):>10}")
    words = [found.model]
    if disk is not None:
        link = disk.link
        words += [
            f"firmware {disk.firmware}" if disk.firmware else "",
            disk.kind,
            f"x{link.width} {link.speed_gts:g} GT/s" if link and link.width and link.speed_gts else "",
            f"sectors {disk.logical_sector_bytes}/{disk.physical_sector_bytes}",
            f"scheduler {disk.scheduler}" if disk.scheduler else "",
            f"cache {disk.write_cache}" if disk.write_cache else "",
        ]
    sheet.para(", ".join(filter(None, map(clean, words))), indent=2, style=MUTED)


def commands(result: Result, width: int) -> Content:
    """Return every executed command, in order."""
    sheet = Sheet(width)
    for one in result.layouts:
        sheet.head(build_words(one), "build and teardown")
        for argv in one.commands:
            sheet.para(shlex.join(argv), mark="$", limit=20000)
        for cell in result.cells:
            if measured_on(cell, one) and cell.command:
                sheet.para(f"{cell.workload}{' ' + cell.part if cell.part else ''}", style=MUTED, indent=2)
                sheet.para(shlex.join(cell.command), mark="$", limit=20000)
    if not result.layouts:
        sheet.para("No command was executed.", style=MUTED)
    return sheet.content()


def commands_text(result: Result) -> str:
    """Return every executed command for the clipboard, one per line."""
    built_by = [shlex.join(argv) for one in result.layouts for argv in one.commands]
    return "\n".join([*built_by, *(shlex.join(cell.command) for cell in result.cells if cell.command)])


def _utc(text: str) -> str:
    return clean(text, 19).replace("T", " ").removesuffix("…")
