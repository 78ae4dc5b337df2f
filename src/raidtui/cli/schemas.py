"""`raidtui schema`: JSON Schemas of the files that raidtui reads, and of what its commands print with --json."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from raidtui.cli.explain import Explanation
from raidtui.cli.fleet.replay import FLEET_SCHEMA, FleetConsent, FleetEnd
from raidtui.cli.replay import Consent, StartedRun
from raidtui.cli.results import KeptResults, ShownResult
from raidtui.cli.scenarios import ShippedScenarios
from raidtui.cli.screen import connect, console, print_json, table, text
from raidtui.front.design.designed import Design
from raidtui.lab.life import Labs
from raidtui.model.cluster import CLUSTERS_SCHEMA, ClusterList
from raidtui.model.convert import plain, schema_of
from raidtui.model.describe import Kind, Kinds, Preview
from raidtui.model.event import Record
from raidtui.model.fields import docstrings
from raidtui.model.free import FREE_SCHEMA, Freed, FreePlan
from raidtui.model.host_view import HostList
from raidtui.model.plan import Plan
from raidtui.model.problem import Problems
from raidtui.model.protocol import Checkup, DiskList, Recovered, RunInfo, RunList, Script
from raidtui.model.smart import SMART_SCHEMA, Smart
from raidtui.model.table import Findings
from raidtui.results.comparison import Comparison
from raidtui.results.lines import COLUMNS
from raidtui.results.servers import SERVERS_SCHEMA, ServerComparison

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


class Schema(msgspec.Struct, frozen=True):
    """One line of the list of schemas."""

    name: str
    describes: str


class SchemaList(msgspec.Struct, frozen=True):
    """Output of `raidtui schema --json`."""

    schema: str
    schemas: tuple[Schema, ...]


class Compared(Comparison, frozen=True, kw_only=True):
    """Output of `raidtui compare --json`: layouts × workloads, and one object for each cell."""

    schema: str
    cells: tuple[dict[str, str | int | float | None], ...]
    """The cells as lines of the CSV format: each has every column."""


class Printed(NamedTuple):
    """Output of a command with --json."""

    describes: str
    types: tuple[Any, ...]
    """One of these types is printed."""
    id: str = ""
    """Text of its key `schema`; empty where it has no such key."""


FILES: Final = {
    "scenario": "scenario files",
    "result": "result files",
    "table": "tables of numbers that others measured",
}
"""Files whose schemas the engine knows: it reads them."""

PRINTED: Final = {
    "attach": Printed("attach --json: one event per line", (Record,)),
    "cancel": Printed("cancel --json", (RunInfo,)),
    "compare": Printed("compare --json, and --format json", (Compared,), "raidtui.comparison/1"),
    "free": Printed("free --json, without --erase", (FreePlan,), FREE_SCHEMA),
    "freed": Printed("free --erase --json", (Freed,), FREE_SCHEMA),
    "disks": Printed("disks --json; with --watch one document per line", (DiskList,), "raidtui.disks/1"),
    "hosts": Printed("disks --host --json", (HostList,), "raidtui.hosts/1"),
    "clusters": Printed("disks --clusters --json", (ClusterList,), CLUSTERS_SCHEMA),
    "smart": Printed("disks --smart --json", (Smart,), SMART_SCHEMA),
    "design": Printed("design --json", (Design,), "raidtui.design/1"),
    "doctor": Printed("doctor --json", (Checkup,), "raidtui.doctor/1"),
    "compare-servers": Printed("compare --servers --json", (ServerComparison,), SERVERS_SCHEMA),
    "explain": Printed("explain --json: one code, or a list of all", (Explanation, tuple[Explanation, ...])),
    "fleet": Printed("replay --json on several servers: its last line", (FleetEnd,), FLEET_SCHEMA),
    "fleet-consent": Printed("replay --json on several servers without --erase", (FleetConsent,), "raidtui.problems/1"),
    "guide": Printed("guide --json", (Design,), "raidtui.design/1"),
    "kinds": Printed("kinds --json: all kinds, or one", (Kinds, Kind), "raidtui.kinds/1"),
    "lab": Printed("lab status --json", (Labs,), "raidtui.labs/1"),
    "lint": Printed("lint --json", (Findings,), "raidtui.findings/1"),
    "build": Printed("build --json: one event per line", (Record,)),
    "plan": Printed("plan --json, and with --as the script", (Plan, Script)),
    "preview": Printed("preview --json", (Preview,), "raidtui.preview/1"),
    "problems": Printed("every command with --json, where it fails", (Problems,), "raidtui.problems/1"),
    "recover": Printed("recover --json", (Recovered,)),
    "replay": Printed("replay --json: one event per line", (Record,)),
    "replay-consent": Printed("replay --json without --erase: the plan", (Consent,), "raidtui.problems/1"),
    "replay-started": Printed("replay --json --detach: the run", (StartedRun,), "raidtui.started/1"),
    "results": Printed("results --json", (KeptResults,), "raidtui.results/1"),
    "runs": Printed("runs --json", (RunList,), "raidtui.runs/1"),
    "scenarios": Printed("scenarios --json", (ShippedScenarios,), "raidtui.scenarios/1"),
    "schema": Printed("schema --json: the list of schemas", (SchemaList,), "raidtui.schemas/1"),
    "show": Printed("show --json", (ShownResult,), "raidtui.comparison/1"),
}


def printed_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints. Objects are closed; keys that are always printed are required."""
    printed = PRINTED[name]
    tops: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    for type_ in printed.types:
        top, found = schema_of(type_)
        tops.append(top)
        definitions |= found
    for struct in _structs(printed.types):
        _complete(definitions[struct.__name__], struct)
    for type_ in printed.types:
        properties = definitions.get(getattr(type_, "__name__", ""), {}).get("properties", {})
        if "schema" in properties:
            properties["schema"]["const"] = printed.id
    if name == "compare":
        _require_columns(definitions["Compared"]["properties"]["cells"])
    top = tops[0] if len(tops) == 1 else {"anyOf": tops}
    return {"$schema": DRAFT, "title": f"raidtui {printed.describes}", **top, "$defs": dict(sorted(definitions.items()))}


def _complete(definition: dict[str, Any], struct: type[msgspec.Struct]) -> None:
    """Close the definition of a struct, require the keys that are always printed, and describe its fields."""
    config, fields = struct.__struct_config__, msgspec.structs.fields(struct)
    if config.array_like:
        properties = dict(zip((field.encode_name for field in fields), definition["prefixItems"], strict=True))
        definition |= {"minItems": len(properties), "maxItems": len(properties)}
    else:
        properties = definition["properties"]
        definition["additionalProperties"] = False
        if not config.omit_defaults:
            unset = {field.encode_name for field in fields if field.default is msgspec.UNSET}
            definition["required"] = [name for name in properties if name not in unset]
    for name, help in docstrings(struct).items():
        properties[name]["description"] = help


def _require_columns(cells: dict[str, Any]) -> None:
    line = cells["items"]
    line |= {"properties": dict.fromkeys(COLUMNS, line["additionalProperties"]), "required": list(COLUMNS)}
    line["additionalProperties"] = False


def _structs(types: tuple[Any, ...]) -> Iterator[type[msgspec.Struct]]:
    """Yield every struct that occurs in these types, each once."""
    seen: set[int] = set()
    left: list[Any] = list(inspect.multi_type_info(types))
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, inspect.StructType):
            yield one.cls
            left += [field.type for field in one.fields]
        else:
            for name in ("type", "types", "item_type", "item_types", "key_type", "value_type"):
                found = getattr(one, name, ())
                left += found if isinstance(found, tuple) else [found]


def add_schema_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", choices=(*FILES, *PRINTED), metavar="NAME",
                        help="a schema of the list; default: the list")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the list as JSON; a schema always is")


def schema_command(args: Namespace) -> int:
    """Print a schema, or the list of schemas."""
    if args.name is None:
        _list(args)
    elif args.name in FILES:
        with connect(args, root=False) as engine:
            print_json(engine.call("schema", {"of": args.name}))
    else:
        print_json(printed_schema(args.name))
    return 0


def _list(args: Namespace) -> None:
    names = FILES | {name: one.describes for name, one in PRINTED.items()}
    if args.json:
        print_json(plain(SchemaList("raidtui.schemas/1", tuple(Schema(*one) for one in names.items()))))
        return
    listing = table("NAME", "JSON SCHEMA OF", whole=("NAME",))
    for name, describes in names.items():
        listing.add_row(text(name), text(describes))
    console(args).print(listing)


COMMANDS: Final = {"schema": (add_schema_arguments, schema_command)}
