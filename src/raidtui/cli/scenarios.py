"""`raidtui scenarios` and `kinds`: shipped scenarios, and everything that a scenario may contain."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from raidtui.cli.screen import add_json_argument, connect, console, indented, print_json, show_or_json, table, text
from raidtui.front.files import read_bytes, shipped
from raidtui.model.convert import plain
from raidtui.model.describe import Field, Kind, Kinds, Preset
from raidtui.model.jsonio import read_json
from raidtui.model.problem import Refusal, fail
from raidtui.model.sweep import expanded

if TYPE_CHECKING:
    from rich.console import Console

NO_KIND: Final = Refusal(
    "no-kind",
    "No such kind",
    "No layer and no workload engine has this name.",
    "`raidtui kinds` lists them.",
)


class ShippedScenario(msgspec.Struct, frozen=True):
    name: str
    title: str
    roles: dict[str, int]
    """Number of disks of each role."""
    layouts: tuple[str, ...]
    workloads: tuple[str, ...]


class ShippedScenarios(msgspec.Struct, frozen=True):
    """Output of `raidtui scenarios --json`."""

    schema: str
    scenarios: tuple[ShippedScenario, ...]


def scenarios_command(args: Namespace) -> int:
    """Print name, number of disks and title of each scenario."""
    found: list[ShippedScenario] = []
    for name, path in shipped():
        value = read_json(read_bytes(str(path)))
        disks = {role: entry["count"] for role, entry in value["roles"].items()}
        workloads = tuple(expanded(value["workloads"]))
        found.append(ShippedScenario(name, value.get("title", ""), disks, (*value["layouts"],), workloads))
    if args.json:
        print_json(plain(ShippedScenarios("raidtui.scenarios/1", tuple(found))))
        return 0
    counts = ("DISKS", "LAYOUTS", "WORKLOADS")
    listing = table("SCENARIO", *counts, "TITLE", right=counts, whole=("SCENARIO",))
    for entry in found:
        numbers = (sum(entry.roles.values()), len(entry.layouts), len(entry.workloads))
        listing.add_row(text(entry.name), *map(str, numbers), text(entry.title))
    console(args).print(listing)
    return 0


def add_kinds_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", metavar="KIND", help="layer, workload engine, role or policy to describe")
    parser.add_argument("--json", action="store_true", help="print JSON")


def kinds_command(args: Namespace) -> int:
    """Print all kinds, or one with its options."""
    with connect(args, root=False) as engine:
        kinds: Kinds = engine.call("describe", None, Kinds)
    if args.kind is None:
        return show_or_json(args, kinds, show)
    kind, presets = chosen(kinds, args.kind)
    return show_or_json(args, kind, lambda kind, out: show_kind(kind, presets, out))


def chosen(kinds: Kinds, name: str) -> tuple[Kind, tuple[Preset, ...]]:
    """Return a kind and its presets. Raises ProblemError (`no-kind`)."""
    known = (*kinds.layers, *kinds.workloads, kinds.role, kinds.host, kinds.policy)
    for kind in known:
        if kind.kind == name:
            return kind, tuple(preset for preset in kinds.presets if preset.kind == name)
    raise fail(NO_KIND, f"there is no kind {name[:80]!r}", remedy=f"Known: {', '.join(kind.kind for kind in known)}.")


def show(kinds: Kinds, out: Console) -> None:
    """Print a line per kind."""
    for heading, found in (("Layers", kinds.layers), ("Workloads", kinds.workloads)):
        out.print(text(heading, "bold"))
        for kind in found:
            out.print(indented(f"{kind.title}: {kind.help} {_offer(kind)}".strip(), 2, kind.kind, "bold"))
        out.print()
    out.print(text("Presets of workloads", "bold"))
    rows = table("NAME", "WHAT IT IS", whole=("NAME",))
    for preset in kinds.presets:
        rows.add_row(text(preset.name), text(preset.title))
    out.print(rows)
    out.print()
    out.print("`raidtui kinds KIND` shows every option of one, of role, host and policy, too.")


def _offer(kind: Kind) -> str:
    return {"block": "Layers can stand on it.", "directory": "It offers a directory."}.get(kind.offers, "")


def show_kind(kind: Kind, presets: tuple[Preset, ...], out: Console) -> None:
    """Print the options of a kind with type, limits, default and help, then its presets as JSON."""
    out.print(text(f"{kind.kind}: {kind.help}", "bold"))
    _show_fields(kind.fields, 0, out)
    for preset in presets:
        out.print()
        out.print(text(f"{preset.name}: {preset.title}", "bold"))
        line = json.dumps({preset.kind: preset.options}, ensure_ascii=True)
        out.print(indented(line, 2))


def _show_fields(fields: tuple[Field, ...], columns: int, out: Console) -> None:
    for field in fields:
        out.print()
        out.print(indented(f"{field.name}   {', '.join(_facts(field))}", columns))
        if field.help:
            out.print(indented(field.help, columns + 2, style="dim"))
        _show_fields(field.fields, columns + 4, out)


def _facts(field: Field) -> Iterator[str]:
    yield {"choice": "one of " + " | ".join(field.choices), "devices": "devices: a role or a layer"}.get(
        field.type, field.type
    ) + (" (many)" if field.many else ", or a list: a sweep" if field.sweep else "")
    if field.least is not None or field.most is not None:
        least = "" if field.least is None else f"{field.least:g}"
        most = "" if field.most is None else f"{field.most:g}"
        yield f"{least} to {most}{field.unit and ' '}{field.unit}".strip() if least and most else f"up to {most}"
    if field.required:
        yield "required"
    elif field.default is not None and field.type != "object":
        yield f"default {json.dumps(field.default)}"
    if field.examples:
        yield f"such as {' or '.join(field.examples)}"


COMMANDS: Final = {
    "scenarios": (add_json_argument, scenarios_command),
    "kinds": (add_kinds_arguments, kinds_command),
}
