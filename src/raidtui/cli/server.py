"""`raidtui disks` and `raidtui doctor`: the disks of a server, and what it can build and measure."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from raidtui.base.text import clean, plural
from raidtui.cli.screen import add_json_argument, connect, console, indented, json_text, show_or_json, table, text
from raidtui.front.clusters import (
    OSD_TITLES,
    POOL_TITLES,
    complaints,
    groups_line,
    host_line,
    osd_row,
    pool_rows,
    summary,
)
from raidtui.front.hosts import HOST, hosts_of, network_lines, system_words
from raidtui.front.phrases import look_line
from raidtui.front.smart import smart_rows
from raidtui.model.cluster import ClusterList, ClusterView
from raidtui.model.convert import plain
from raidtui.model.disk import Disk, Link, lasting
from raidtui.model.host_view import HostList, HostsRequest, HostView
from raidtui.model.problem import fail
from raidtui.model.protocol import Checkup, DiskList
from raidtui.model.smart import Smart, SmartRequest
from raidtui.model.units import size_text
from raidtui.results.rates import NOTHING

if TYPE_CHECKING:
    from rich.console import Console

_HEADINGS = ("DISK", "NAME NOW", "MODEL", "SIZE", "KIND", "LINK", "°C", "STATE")
_STATE_STYLES = {"free": "green", "in use": "yellow", "system": "red"}
_MODEL = 2
_RIGHT = (3, 6)
_GAP = 2
_EVERY_LAYER_NEEDS = ("root", "udev", "space for runs")
"""Names of the checks of `doctor` without which no disk is free, or no run can begin."""


def add_disks_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON; with --watch one document per line")
    parser.add_argument("--watch", action="store_true", help="print again whenever a disk or its use changes")
    parser.add_argument("--smart", metavar="DISK", default="",
                        help="print the SMART data of one disk, read now: errors, wear, hours, latest self-test")
    parser.add_argument("--clusters", action="store_true",
                        help="health, pools and OSDs of the clusters (Ceph, Vitastor) that the server has a key of")
    parser.add_argument("--host", action="append", default=[], metavar="GROUP=ADDRESS,…",
                        help="system, network and disks of these hosts too, as the server reaches them over ssh")


def disks_command(args: Namespace) -> int:
    """Print the disks, once or at every change; with --host those of other hosts too."""
    named = hosts_of(args.host)
    if named and args.watch:
        raise fail(HOST, "--watch shows the disks of the storage server alone", place="--host", remedy="Leave out --watch.")
    with connect(args) as engine:
        if args.smart:
            return show_or_json(args, engine.call("smart", SmartRequest(args.smart), Smart), show_smart)
        if args.clusters:
            return show_or_json(args, engine.call("clusters", None, ClusterList), show_clusters)
        if named:
            found = engine.call_with_progress("hosts", HostsRequest(named), HostList, HostView, _waited_for)
            show_or_json(args, found, show_hosts)
            return max((problem.exit for view in found.hosts if not view.kernel for problem in view.problems), default=0)
        if not args.watch:
            return show_or_json(args, engine.call("disks", None, DiskList), show_disks)
        shown: tuple[Disk, ...] | None = None
        for found in engine.stream("watch-disks", None, DiskList):
            if (now := lasting(found.disks)) == shown:
                continue
            shown = now
            if args.json:
                print(json_text(plain(found)), flush=True)
            else:
                show_disks(found, console(args))
                print(flush=True)
    return 0


def _waited_for(view: HostView) -> None:
    if view.waits_for:
        print(f"{clean(view.ref)} ({clean(view.host, 60)}): {view.waits_for} …", file=sys.stderr)


def show_hosts(found: HostList, out: Console) -> None:
    """Print the storage server and each other host: system, network, disks, or why it cannot be seen."""
    for number, view in enumerate(found.hosts):
        if number:
            out.print()
        out.print(text(f"{view.ref} ({view.address})" if view.address else view.ref, "bold"))
        for line in (system_words(view), *network_lines(view)):
            if line:
                out.print(indented(line, 2, "·"))
        for problem in view.problems:
            out.print(indented(f"{problem.message} [{problem.code}]", 2, "✗"))
            if problem.remedy:
                out.print(indented(problem.remedy, 4, "→", "dim"))
        if view.disks:
            show_disks(DiskList("raidtui.disks/1", view.host, "", view.disks), out)


def show_clusters(found: ClusterList, out: Console) -> None:
    """Print each cluster: a line of it, what is wrong, its pools, and its OSDs by host."""
    if not found.clusters:
        where = "/etc/ceph or /etc/vitastor"
        out.print(f"{clean(found.host)} has no cluster: its tool, or its configuration and key in {where}, are not there.")
    for number, view in enumerate(found.clusters):
        if number:
            out.print()
        out.print(text(summary(view), "bold"))
        for complaint in complaints(view):
            out.print(indented(complaint.words, 2, "!", "" if complaint.counts else "dim"))
        if line := groups_line(view):
            out.print(indented(line, 2, "·"))
        for titles, rows in ((POOL_TITLES, list(pool_rows(view))), (OSD_TITLES, _osds_of(view))):
            if rows:
                listing = table(*titles)
                for row in rows:
                    listing.add_row(*map(text, row))
                out.print()
                out.print(listing)


def _osds_of(view: ClusterView) -> list[tuple[str, ...]]:
    """Return the rows of the OSDs, those of a host below its line."""
    rows: list[tuple[str, ...]] = []
    for host, osds in view.hosts.items():
        rows += [(host_line(host, osds), "", "", "", ""), *((f"  {first}", *rest) for first, *rest in map(osd_row, osds))]
    return rows


def show_smart(found: Smart, out: Console) -> None:
    """Print a line for each value that is known."""
    out.print(text(clean(found.disk), "bold"))
    for label, words in smart_rows(found):
        out.print(indented(f"{label + ':':<12} {words}", 2))


def show_disks(found: DiskList, out: Console) -> None:
    """Print a line per disk, the reasons why it is not free, and a count at the end."""
    if not found.disks:
        out.print(f"No disks were found on {clean(found.host)}. In a lab, `raidtui lab up --disks 6x8G` gives it some.")
        return
    rows = [_HEADINGS, *(_cells(disk) for disk in found.disks)]
    widths = _widths(rows, out.width)
    _print_row(rows[0], widths, out, "bold")
    for disk, row in zip(found.disks, rows[1:], strict=True):
        _print_row(row, widths, out)
        if disk.link is not None and disk.link.below_maximum:
            out.print(indented(f"its link runs below its maximum: {_best_link(disk.link)}", 2, "↓", "yellow"))
        if disk.look is not None:
            out.print(indented(look_line(disk.look), 2, "·", "dim"))
        for reason in disk.reasons:
            out.print(indented(f"{reason.message} [{reason.code}]", 2, "✗"))
            if reason.remedy:
                out.print(indented(reason.remedy, 4, "→", "dim"))
    free = sum(disk.free for disk in found.disks)
    at = f", looked at {clean(found.at[:19]).replace('T', ' ')} UTC" if found.at else ""
    out.print(f"{plural(len(found.disks), 'disk')} on {clean(found.host)}, {free} free{at}")


def _cells(disk: Disk) -> tuple[str, ...]:
    return (
        clean(disk.id),
        clean(disk.name),
        clean(disk.model) or NOTHING,
        size_text(disk.size_bytes),
        disk.kind,
        link_text(disk.link),
        NOTHING if disk.temperature_c is None else f"{disk.temperature_c:.0f}",
        "free" if disk.free else "system" if any(reason.system for reason in disk.reasons) else "in use",
    )


def link_text(link: Link | None) -> str:
    """Return `x4 16 GT/s`, with an arrow down if the link runs below what both ends support."""
    if link is None or link.speed_gts is None or link.width is None:
        return NOTHING
    return f"x{link.width} {link.speed_gts:g} GT/s{' ↓' if link.below_maximum else ''}"


def _best_link(link: Link) -> str:
    width = "" if link.max_width is None else f"x{link.max_width} "
    return f"{width}{'?' if link.max_speed_gts is None else f'{link.max_speed_gts:g}'} GT/s"


def _widths(rows: list[tuple[str, ...]], total: int) -> list[int]:
    """Return the column widths; the model column is shortened first."""
    from rich.cells import cell_len

    widths = [max(cell_len(row[index]) for row in rows) for index in range(len(_HEADINGS))]
    excess = sum(widths) + _GAP * (len(widths) - 1) - total
    widths[_MODEL] = max(widths[_MODEL] - max(0, excess), min(8, widths[_MODEL]))
    return widths


def _print_row(row: tuple[str, ...], widths: list[int], out: Console, style: str = "") -> None:
    from rich.text import Text

    line = Text(style=style)
    for index, (value, width) in enumerate(zip(row, widths, strict=True)):
        cell = Text(value, style=_STATE_STYLES.get(value, "") if index == len(row) - 1 and not style else "")
        cell.truncate(width, overflow="ellipsis")
        pad = " " * (width - cell.cell_len)
        line.append(pad if index in _RIGHT else "").append_text(cell)
        if index < len(row) - 1:
            line.append(("" if index in _RIGHT else pad) + " " * _GAP)
    out.print(line, soft_wrap=True)


def doctor_command(args: Namespace) -> int:
    """Print every check. The exit code is 0 even if something is missing, since the rest can be used."""
    with connect(args) as engine:
        checkup: Checkup = engine.call("doctor", None, Checkup)
    return show_or_json(args, checkup, show_checkup)


def show_checkup(checkup: Checkup, out: Console) -> None:
    """Print the checks as a table, and below it how to install what is missing, and what can be built."""
    listing = table("", "CHECK", "FOUND", "NEEDED FOR")
    for check in checkup.checks:
        if check.optional:
            mark = text("– optional", "dim")
        else:
            mark = text("✓ ok", "green") if check.ok else text("✗ missing", "bold red")
        listing.add_row(mark, text(check.name), text(check.found), text(check.needed_for))
    out.print(listing)
    if missing := [check for check in checkup.checks if not check.ok]:
        out.print()
        for check in missing:
            what = check.remedy or "no remedy is known"
            out.print(indented(f"{clean(check.name)}: {clean(what)}", 0, "→"))
    else:
        out.print(text(f"Nothing that is needed is missing on {checkup.host}."))
    if checkup.can_build or checkup.cannot_build:
        out.print(indented(abilities_text(checkup), 0, "·"))


def abilities_text(checkup: Checkup) -> str:
    """Return the kinds of layers that can be built on a server, and those that cannot."""
    lacking = [check.name for check in checkup.checks if check.name in _EVERY_LAYER_NEEDS and not check.ok]
    given = f", once it has {' and '.join(lacking)}" if lacking else ""
    can, cannot = (", ".join(map(clean, kinds)) for kinds in (checkup.can_build, checkup.cannot_build))
    return f"can build{given}: {can or 'nothing'}{f'; cannot: {cannot}' if cannot else ''}"


COMMANDS: Final = {"disks": (add_disks_arguments, disks_command), "doctor": (add_json_argument, doctor_command)}
