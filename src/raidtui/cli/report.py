"""One result as text: machine, disks, layouts, rankings, comparison and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from raidtui.base.text import clean, plural
from raidtui.cli.screen import indented, table, text
from raidtui.foreign.captions import captions_of, publication
from raidtui.front.phrases import mark_words, pairs, places, ranking_line
from raidtui.model.measure import Summary
from raidtui.model.network import network_words
from raidtui.model.plan import Host
from raidtui.model.result import Built, Cell, Machine, Ranked, Result, marks_of
from raidtui.model.table import Table
from raidtui.model.units import duration_text, size_text
from raidtui.results.chain import links_lines
from raidtui.results.comparison import Comparison
from raidtui.results.formats.text import table_lines
from raidtui.results.lines import ABOUT, HEADS, TEXTS, TITLE, AccountLine, Footnotes, account_lines
from raidtui.results.notes import build_words, tuning_lines
from raidtui.results.rates import (
    convergence_lines,
    directions,
    label_of,
    latency_text,
    rate,
    rate_text,
    ratio_text,
    unit_of,
)
from raidtui.results.resources import resource_tables

if TYPE_CHECKING:
    from rich.console import Console

_NOT_SHOWN = ("initial_sync", "path", "size_bytes", "sync_seconds")


def show_result(result: Result, comparison: Comparison, out: Console) -> None:
    """Print the whole report."""
    _summary(result, comparison, out)
    _heading("Machine", out)
    for line in _machine_lines(result.machine):
        out.print(indented(line, 2))
    for host in (host for group in result.hosts.values() for host in group):
        out.print(indented(_host_line(host), 2))
    for line in links_lines(result.links) if result.links is not None else ():
        out.print(indented(line, 4))
    _heading("Disks", out)
    _disks(result, out)
    _heading("Layouts", out)
    for name in dict.fromkeys(built.layout for built in result.layouts):
        _layout([built for built in result.layouts if built.layout == name], out)
    if result.ranking:
        _heading("Ranking", out)
        show_rankings(result.ranking, out)
    _heading("Comparison", out)
    show_comparison(comparison, out)
    if lines := account_lines(comparison):
        _heading(TITLE, out)
        _where(lines, out)
    for one in resource_tables(comparison):
        _heading(one.title, out)
        heads = [head.upper() for head in one.heads]
        listing = table(*heads, right=tuple(heads[one.names :]))
        for cells in one.rows:
            listing.add_row(*map(text, cells))
        out.print(listing)
        out.print(indented(one.about, 2))
    _heading("Cells", out)
    _cells(result, out)
    if any(cell.hosts for cell in result.cells):
        _heading("Hosts", out)
        _parts(result, out)


def show_table(shown: Table, comparison: Comparison, out: Console) -> None:
    """Print where the numbers of a table are from, its tables there, and its numbers as a comparison."""
    out.print(text(f"{shown.name}: {shown.title}" if shown.title else shown.name, "bold"))
    words = list(filter(None, (shown.source, shown.date, shown.host and f"on {shown.host}")))
    out.print(indented(f"{'Published' if shown.title or '://' in shown.source else 'Source'}: {', '.join(words)}", 2))
    layouts, workloads = plural(len(shown.layouts), "layout"), plural(len(shown.workloads), "workload")
    out.print(indented(f"{plural(len(shown.figures), 'number')} of {layouts} under {workloads}", 2))
    said = tuple(publication(shown))
    for note in comparison.notes:
        if not note.endswith(said):
            out.print(indented(note, 2, "⚠", "bold yellow"))
    if captions := captions_of(shown):
        _heading("Tables of the publication", out)
        for caption in captions:
            out.print(indented(f"{caption.text}: {plural(caption.figures, 'number')} ({caption.place})", 2))
    _heading("Comparison", out)
    show_comparison(comparison, out)


def _heading(words: str, out: Console) -> None:
    out.print()
    out.print(text(words, "bold"))


def _summary(result: Result, comparison: Comparison, out: Console) -> None:
    name, title = result.scenario.get("name", ""), result.scenario.get("title", "")
    out.print(text(f"{name}: {title}" if title else name, "bold"))
    if why := result.scenario.get("why"):
        out.print(indented(why, 2))
    ended = f"ended {result.finished}" if result.finished else "not ended"
    out.print(text(f"run {result.run}, began {result.started}, {ended}: {result.outcome or 'no outcome yet'}"))
    for note in comparison.notes:
        out.print(indented(note, 2, "⚠", "bold yellow"))
    invalid = [cell for cell in result.cells if not cell.valid]
    out.print(text(f"{plural(len(result.cells), 'cell')}, {len(result.cells) - len(invalid)} valid"))
    for problem in result.problems:
        out.print(indented(f"{problem.message} [{problem.code}]", 2, "✗"))


def _machine_lines(machine: Machine) -> list[str]:
    lines = [
        f"{machine.host}: {machine.distribution or 'unknown distribution'}, kernel {machine.kernel}",
        f"{machine.cpu_model or 'unknown CPU'}, {plural(machine.cpus, 'CPU')}, {size_text(machine.memory_bytes)} memory, "
        + plural(machine.numa_nodes, "NUMA node"),
    ]
    if machine.governor:
        lines.append(f"CPU governor {machine.governor}")
    if network := network_words(machine.networks, machine.rdma):
        lines.append(f"network: {clean(network, 400)}")
    if machine.tools:
        lines.append(", ".join(f"{tool} {version}" for tool, version in machine.tools.items()))
    return lines


def _host_line(host: Host) -> str:
    link, apart = f"{host.storage_address} to {host.own_address}", host.clock_difference_s
    line = f"{host.ref}: {host.host} ({host.address}), kernel {host.kernel}, link {link}"
    return f"{line}, clock {apart:+.1f} s" if apart else line


def _parts(result: Result, out: Console) -> None:
    """Print the part of each host in each cell that several hosts loaded."""
    listing = table("CELL", "HOST", "RATE", "MEAN", "P99", right=("RATE", "MEAN", "P99"), whole=("HOST",))
    for cell in (cell for cell in result.cells if cell.valid):
        unit = unit_of([cell])
        for host, summary in cell.hosts.items():
            own = msgspec.structs.replace(cell, summary=summary)
            listing.add_row(text(cell.id), text(host), f"{rate_text(rate(own, unit), unit)} {unit}", *_latencies(summary))
    out.print(listing)


def _disks(result: Result, out: Console) -> None:
    known = {disk.id: disk for disk in result.disks}
    listing = table("ROLE", "DISK", "MODEL", "SIZE", "FIRMWARE", right=("SIZE",), whole=("DISK",))
    for role, disks in result.binding.items():
        for disk in disks:
            firmware = known[disk.id].firmware if disk.id in known else ""
            listing.add_row(text(role), text(disk.id), text(disk.model), size_text(disk.size_bytes), text(firmware))
    out.print(listing)


def _layout(buildings: Sequence[Built], out: Console) -> None:
    """Print the buildings of one layout; what is the same in all of them once, below them."""
    lines = [_building_lines(built) for built in buildings]
    alike = [line for line in lines[0] if all(line in others for others in lines)] if len(lines) > 1 else []
    for built, own in zip(buildings, lines, strict=True):
        good = built.status == "built"
        size = f", {size_text(built.size_bytes)}" if built.size_bytes else ""
        down = "" if built.taken_down or built.status == "failed" else ", NOT taken down"
        words = f"{build_words(built)}: {built.status} in {duration_text(built.seconds)}{size}{down}"
        out.print(indented(words, 2, "✓" if good else "✗", "" if good else "bold red"))
        for line in own:
            if line not in alike:
                out.print(indented(line, 6))
    if alike:
        out.print(indented("in each round:", 4))
        for line in alike:
            out.print(indented(line, 6))


def _building_lines(built: Built) -> list[str]:
    lines = [f"disks {built.preconditioned}"] if built.status == "built" else []
    if built.hosts_have:
        lines.append(f"each host has {built.hosts_have}")
    if built.initial_sync:
        lines.append(f"initial sync {built.initial_sync}")
    lines += [f"read back: {shown}" for facts in built.read_back.values() if (shown := _facts(facts))]
    lines += [f"tuned: {line}" for line in tuning_lines(built)]
    if built.problem:
        lines.append(f"{built.problem.message} [{built.problem.code}]")
    return lines


def _facts(facts: Any) -> str:
    """Return the facts that are useful beside the requested options; the result file has all of them."""
    if not isinstance(facts, dict):
        return ""
    plain = {key: value for key, value in facts.items() if isinstance(value, (str, int, float)) and key not in _NOT_SHOWN}
    return ", ".join(f"{clean(key, 40)} {clean(value, 60)}" for key, value in plain.items())


def _where(lines: list[AccountLine], out: Console) -> None:
    """Print a row per layout and workload, and footnotes below."""
    heads = [head.upper() for head in HEADS]
    listing = table(*heads, right=tuple(head.upper() for head in HEADS if head not in TEXTS))
    notes = Footnotes()
    for line in lines:
        *cells, limiter = line.cells
        listing.add_row(*map(text, cells), text(f"{limiter}{notes.mark(line.why)}"))
    out.print(listing)
    out.print(indented(ABOUT, 2))
    for sentence, number in notes.numbers.items():
        out.print(indented(sentence, 2, f"[{number}]"))


def _cells(result: Result, out: Console) -> None:
    columns = ("", "LAYOUT", "WORKLOAD", "ROUND", "RATE", "MEAN", "P99", "W.AMP", "CORES")
    listing = table(*columns, right=columns[3:])
    listing.columns[4].no_wrap = True
    for cell in result.cells:
        listing.add_row(_sign(cell), *_cell_row(cell))
    out.print(listing)
    for cell in result.cells:
        if cell.valid and cell.summary is not None and cell.summary.queue_depth is not None:
            kept = f"the search for the latency ended at queue depth {cell.summary.queue_depth} of each job"
            out.print(indented(f"{clean(cell.id)}: {kept}", 2))
        for mark in marks_of(cell):
            invalid = mark.weight == "invalid"
            words = f"{clean(cell.id)}: {mark_words(mark)}"
            out.print(indented(words, 2, "✗" if invalid else "⚠", "" if invalid else "yellow"))
    for cell in result.cells:
        for number, line in enumerate(convergence_lines(cell, unit_of([cell]))):
            out.print(indented(line if number else f"{clean(cell.id)}: {line}", 4 if number else 2))


def _sign(cell: Cell) -> Any:
    if not cell.valid:
        return text("✗")
    return text("⚠", "yellow") if cell.marks else text("✓")


def _cell_row(cell: Cell) -> list[Any]:
    unit = unit_of([cell])
    mean, p99 = _latencies(cell.summary)
    # The number of an invalid cell is no result; it is kept in the file to find the cause, and not shown.
    shown = f"{rate_text(rate(cell, unit), unit)} {unit}" if cell.valid else "invalid"
    return [
        text(label_of(cell)),
        text(cell.workload),
        str(cell.round),
        shown,
        mean if cell.valid else "",
        p99 if cell.valid else "",
        ratio_text(cell.write_amplification) if cell.valid else "",
        f"{cell.cpu_cores_used:.2f}" if cell.valid and cell.cpu_cores_used is not None else "",
    ]


def _latencies(summary: Summary | None) -> tuple[str, str]:
    """Return the mean latency, if there is one direction, and the largest p99."""
    moved = directions(summary)
    tails = [d.latency.p99_us for d in moved if d.latency.p99_us is not None]
    return latency_text(moved[0].latency.mean_us if len(moved) == 1 else None), latency_text(max(tails, default=None))


def show_comparison(comparison: Comparison, out: Console, *, about: bool = False) -> None:
    """Print the table as wide as the terminal, and below it the reasons for invalid cells and missing layouts."""
    from rich.text import Text

    for line in table_lines(comparison, out.width, about=about):
        if line.sentence and line.words:
            out.print(indented(line.words, 0, line.mark, "yellow" if line.mark == "⚠" else ""))
        else:
            out.print(Text(line.words, "bold" if line.head else ""), no_wrap=True, overflow="ignore", crop=False)


def show_rankings(rankings: Sequence[Ranked], out: Console) -> None:
    """Print a table per workload; nothing for a run without ranking."""
    for ranked in rankings:
        out.print()
        out.print(text(ranking_line(ranked), "" if ranked.answered else "bold yellow"))
        listing = table("PLACE", "LAYOUT", ranked.metric, "ROUNDS", "BETTER THAN", right=("PLACE", ranked.metric, "ROUNDS"))
        for one in places(ranked):
            listing.add_row(one.place, text(one.layout), one.value, str(one.rounds), text(one.behind))
        out.print(listing)
        for sentence in pairs(ranked):
            out.print(indented(sentence, 2))
