"""`raidtui design`: layouts for disks that are only described: room, failures, ceilings, cost. Nothing is touched."""

from __future__ import annotations

import hashlib
import json
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.files import private_folder, write_atomic
from raidtui.base.paths import state_folder
from raidtui.base.text import clean, plural
from raidtui.cli.plan import stack_lines
from raidtui.cli.screen import connect, console, print_json, print_lines, table
from raidtui.client.engine_client import EngineClient
from raidtui.front.design.adapt import adapted, scenario_in, with_layouts
from raidtui.front.design.assumptions import assumed
from raidtui.front.design.designed import Asked, Design, design
from raidtui.front.design.estimate import small_write
from raidtui.front.design.guide import asked_for
from raidtui.front.files import check_output, document
from raidtui.model.convert import plain
from raidtui.model.describe import LayoutView
from raidtui.model.disk import Disk
from raidtui.model.disk_text import imaginary_disks, parse_disks, recording_of
from raidtui.model.problem import Refusal, fail
from raidtui.model.protocol import DiskList
from raidtui.model.refusals import UNKNOWN_NAME
from raidtui.model.units import duration_text, size_text
from raidtui.results.rates import NOTHING, iops_text, mb_s_text

DESIGN_PLACE: Final = Refusal(
    "design-place",
    "A design has no server",
    "`raidtui design` and `raidtui guide` work on disks that are described in words; they ask no server.",
    "Leave --on out. To try a layout on a server: --save FILE, then `raidtui --on HOST plan FILE`.",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = ("Disks that need not exist: the planner of every other command judges the layouts. Ceilings are "
                     "estimated from the printed assumptions; only a measurement tells what disks do.")  # fmt: skip
    parser.add_argument("disks", metavar="DISKS", help="for example '12x20TB hdd at 350 EUR, 2x3.2TB nvme'; kinds are hdd, "
                        "ssd and nvme; `4Kn` behind a kind for sectors of 4096 bytes")  # fmt: skip
    parser.add_argument("--scenario", metavar="SCENARIO", help="the layouts of this scenario (file or shipped name), its "
                        "roles adapted to these disks, instead of those that make sense")  # fmt: skip
    parser.add_argument("--layout", action="append", default=[], metavar="NAME", help="only this layout; may be repeated; "
                        "a FILE is taken as --scenario")  # fmt: skip
    add_design_arguments(parser)


def add_design_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that `design` and `guide` share."""
    parser.add_argument("--assume", action="append", default=[], metavar="KIND.RATE=VALUE,…",
                        help="another rate of one disk: hdd.read=280MB, nvme.write_iops=150000")  # fmt: skip
    parser.add_argument("--save", metavar="FILE", help="write a scenario, to plan and replay it on a server later")
    parser.add_argument("--tui", action="store_true", help="open Compose with these disks and layouts")
    parser.add_argument("--json", action="store_true", help="print JSON")


def design_command(args: Namespace) -> int:
    """Print what each layout holds, survives and costs."""
    refuse_place(args)
    check_output(args.save)
    groups = parse_disks(args.disks)
    disks, speeds = imaginary_disks(groups), assumed(args.assume)
    if (source := _scenario_file(args)) is not None:
        found = adapted(scenario_in(document(source)), groups, disks)
        asked = Asked(groups, disks, found.scenario, found.bind, {}, speeds, found.left_out, found.notes)
    else:
        asked = asked_for(groups, disks, speeds)
    return print_design(args, args.disks, disks, lambda engine: design(engine, asked))


def _scenario_file(args: Namespace) -> str | None:
    """Return the scenario that layouts are taken from; a file after `--layout` counts as one."""
    for name in list(args.layout):
        if args.scenario is None and ("/" in name or name.endswith(".json")):
            args.layout.remove(name)
            args.scenario = name
    found: str | None = args.scenario
    return found


def refuse_place(args: Namespace) -> None:
    """Raise ProblemError (`design-place`) if a server was named."""
    if args.on:
        raise fail(DESIGN_PLACE, f"--on {clean(args.on, 80)} does not go with {args.command}", place="--on",
                   remedy=DESIGN_PLACE.way_out)  # fmt: skip


def print_design(
    args: Namespace, text: str, disks: Sequence[Sequence[Disk]], make: Callable[[EngineClient], Design]
) -> int:
    """Have an engine with these disks judge the layouts, and print, save or open what it found."""
    args.on = f"sim:{_recorded(recording_of(text, disks))}"
    with connect(args, quiet=True) as engine:
        found = make(engine)
    names = [one.name for one in found.layouts]
    if unknown := [name for name in args.layout if name not in names]:
        remedy = f"Layouts: {', '.join(names)}."
        raise fail(UNKNOWN_NAME, f"there is no layout {clean(unknown[0], 80)!r}", place="--layout", remedy=remedy)
    kept = args.layout or names
    layouts = tuple(one for one in found.layouts if one.name in kept)
    cells = found.cells // max(1, len(names)) * len(layouts)
    seconds = None if found.seconds is None else found.seconds * len(layouts) / max(1, len(names))
    found = msgspec.structs.replace(found, layouts=layouts, scenario=with_layouts(found.scenario, kept), cells=cells,
                                    seconds=seconds)  # fmt: skip
    scenario = (json.dumps(found.scenario, indent=2, ensure_ascii=False) + "\n").encode()
    if args.save is not None:
        write_atomic(Path(args.save), scenario, 0o644)
    if args.tui:
        args.scenario_text = scenario.decode()
        return int(args.screens(args))
    if args.json:
        print_json(plain(found))
        return 0
    print_lines(_head_lines(found))
    _print_table(args, found)
    print_lines(_layout_lines(found))
    print_lines(_next_lines(args, found))
    return 0


def _recorded(recording: DiskList) -> Path:
    """Keep the disks as a recording for a simulated server, and return its path."""
    data = msgspec.json.encode(recording)
    path = private_folder(state_folder() / "designs") / f"{hashlib.sha256(data).hexdigest()[:16]}.json"
    if not path.is_file():
        write_atomic(path, data, 0o600)
    return path


def _head_lines(found: Design) -> Iterator[str]:
    groups = []
    for one in found.disks:
        price = f" at {one.price:g} {found.currency}" if one.price is not None else ""
        groups.append(f"{one.count} × {one.size_bytes / 1e12:g} TB {one.kind}{price}")
    yield f"{', '.join(groups)}: disks that are only described; nothing was touched."
    for note in found.notes:
        yield clean(note)
    yield ""
    yield "Assumed of one disk (--assume changes it):"
    for kind, speed in ((one.kind, one.speed) for one in found.assumptions):
        rates = f"read {mb_s_text(speed.read_bytes_per_s)} MB/s, write {mb_s_text(speed.write_bytes_per_s)} MB/s"
        yield f"  {kind:<5} {rates}, {iops_text(speed.read_iops)} random reads/s, {iops_text(speed.write_iops)} writes/s"
        yield f"        {clean(speed.source)}"
    yield ""


def _print_table(args: Namespace, found: Design) -> None:
    priced = any(one.price_per_tb is not None for one in found.layouts)
    columns = ["USABLE", "SHARE", "MAY FAIL", "4K WRITE", "READ MB/s", "WRITE MB/s", "READ IOPS", "WRITE IOPS"]
    columns += [f"{found.currency}/TB"] if priced else []
    listing = table("LAYOUT", *columns, right=tuple(columns), whole=("LAYOUT",))
    for one in found.layouts:
        view, most = one.view, one.ceilings
        usable, raw = view.size_bytes or 0, view.raw_bytes or 1
        cells = [f"{usable / 1e12:.1f} TB", f"{100 * usable / raw:.0f} %", str(view.may_fail), _small_write(view),
                 _mb(most.read_bytes_per_s), _mb(most.write_bytes_per_s), _iops(most.read_iops),
                 _iops(most.write_iops)]  # fmt: skip
        cells += [NOTHING if one.price_per_tb is None else f"{one.price_per_tb:.2f}"] if priced else []
        listing.add_row(clean(one.name), *cells)
    console(args).print(listing)
    print_lines(("", "4K WRITE: disk writes + disk reads for one random write of 4 KiB, of which no two meet in one block.",
                 "MB/s and IOPS: ceilings, estimated from the assumptions, of the disks with the data; no caches, no logs.",
                 "SHARE: usable of all its disks. TB: 10^12 bytes."))  # fmt: skip


def _small_write(view: LayoutView) -> str:
    """Return writes and reads for one small write: `3+3`."""
    cost = small_write(view)
    return NOTHING if cost is None else f"{cost.writes:g}+{cost.reads:g}"


def _mb(bytes_per_s: float | None) -> str:
    return NOTHING if bytes_per_s is None else mb_s_text(bytes_per_s)


def _iops(value: float | None) -> str:
    return NOTHING if value is None else iops_text(value)


def _layout_lines(found: Design) -> Iterator[str]:
    for one in found.layouts:
        view = one.view
        yield ""
        yield f"{clean(one.name)}{': ' if one.why else ''}{clean(one.why)}"
        if view.stack is not None:
            yield from stack_lines(view.stack, 2, ids=False)
        if view.size_bytes is not None and view.raw_bytes is not None:
            yield f"  Capacity  {size_text(view.size_bytes)} of {size_text(view.raw_bytes)}"
        words = f": {clean(view.may_fail_words)}" if view.may_fail_words else ""
        yield f"  May fail  {plural(view.may_fail or 0, 'disk')}{words}"
        if (small := view.small_write) is not None and small.low is not None:
            most = f" to {small.high * 4:.0f}" if small.high is not None and small.high > small.low else ""
            reads = f", {small.read_low * 4:g} KiB read" if small.read_low else ""
            yield f"  4K write  {small.low * 4:g}{most} KiB written{reads}: {clean(small.why)}"
        if one.price is not None:
            yield f"  Price     {one.price:,.0f} {clean(found.currency)}"
        for warning in view.warnings:
            yield f"  Warning   {clean(warning)}"
    if found.left_out:
        yield ""
        yield "Left out:"
        for omitted in found.left_out:
            yield f"  {clean(omitted.name)}: {clean(omitted.why)}"


def _next_lines(args: Namespace, found: Design) -> Iterator[str]:
    yield ""
    if found.seconds is not None:
        yield f"To measure them all takes about {duration_text(found.seconds)} ({plural(found.cells, 'cell')})."
    if args.save is None:
        yield "--save FILE writes the scenario, to plan and replay it on a server."
        return
    yield f"The scenario is in {clean(args.save)}. What it would do on a server, and with simulated disks here:"
    yield ""
    yield f"  raidtui --on root@HOST plan {clean(shlex.quote(args.save))}"
    yield f"  raidtui --on {clean(shlex.quote(args.on))} plan {clean(shlex.quote(args.save))}"


COMMANDS: Final = {"design": (add_arguments, design_command)}
