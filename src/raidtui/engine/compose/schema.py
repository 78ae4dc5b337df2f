"""Descriptions of scenario files, made from the types that read them: all kinds with their options, and JSON Schemas."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from raidtui.engine.compose.reading import catalog
from raidtui.load.catalog import engines
from raidtui.model.convert import schema_of
from raidtui.model.describe import Field, Kind, Kinds
from raidtui.model.fields import doc_of, fields_of
from raidtui.model.hosts import HostGroup
from raidtui.model.problem import Refusal, fail
from raidtui.model.result import Result
from raidtui.model.scenario import Policy, Role
from raidtui.model.scenario_words import NAME_PATTERN, ROLE_NAME, ROLE_PATTERN, SCHEMA
from raidtui.model.sweep import MOST_VALUES, SWEPT
from raidtui.model.table import Table
from raidtui.stack.catalog import all_layers

NO_SCHEMA: Final = Refusal(
    "no-schema", "No such schema", "Schemas exist for scenarios, results and tables.", "`raidtui schema scenario`"
)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(of: str) -> dict[str, Any]:
    """`scenario`, `result` or `table`. Raises ProblemError (`no-schema`)."""
    if of == "scenario":
        return _scenario()
    if of == "result":
        top, definitions = schema_of(Result)
        return {"$schema": _DRAFT, "title": "raidtui result", **top, "$defs": definitions}
    if of == "table":
        top, definitions = schema_of(Table)
        return {"$schema": _DRAFT, "title": "raidtui table", **top, "$defs": definitions}
    raise fail(NO_SCHEMA, f"there is no schema of {of[:40]!r}", remedy="Known: scenario, result, table.")


def _scenario() -> dict[str, Any]:
    definitions: dict[str, Any] = {}

    def of(type_: type) -> dict[str, Any]:
        found, more = schema_of(type_)
        definitions.update(more)
        return found

    known = catalog()
    definitions["layer"] = _one_of({kind: of(spec) for kind, spec in known.layers.items()})
    definitions["workload"] = _one_of({kind: of(spec) for kind, spec in known.workloads.items()})
    for kind, options in SWEPT.items():
        allowed = definitions[known.workloads[kind].__name__]["properties"]
        for option in options:
            allowed[option] = _or_list(allowed[option])
    device = {"anyOf": [{"type": "string", "pattern": ROLE_PATTERN}, {"$ref": "#/$defs/layer"}]}
    definitions["operand"] = {
        "description": 'Block devices: a role ("@data"), another layer, or a list of them.',
        "anyOf": [*device["anyOf"], {"type": "array", "items": device, "minItems": 1, "maxItems": 64}],
    }

    def section(entry: dict[str, Any], names: str = NAME_PATTERN) -> dict[str, Any]:
        return {
            "type": "object", "minProperties": 1, "propertyNames": {"pattern": names}, "additionalProperties": entry,
        }  # fmt: skip

    return {
        "$schema": _DRAFT,
        "title": "raidtui scenario",
        "type": "object",
        "additionalProperties": False,
        "required": ["schema", "name", "roles", "layouts", "workloads"],
        "properties": {
            "schema": {"const": SCHEMA},
            "name": {"type": "string", "pattern": NAME_PATTERN},
            "title": {"type": "string", "maxLength": 200},
            "why": {"type": "string", "maxLength": 1000},
            "roles": {**section(of(Role), f"^{ROLE_NAME}$"), "minProperties": 0},
            "layouts": section({"$ref": "#/$defs/layer"}),
            "workloads": section({"$ref": "#/$defs/workload"}),
            "policy": of(Policy),
            "hosts": section(of(HostGroup), f"^{ROLE_NAME}$"),
        },
        "$defs": definitions,
    }


def _or_list(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an option that may be a list, which makes a sweep."""
    about: dict[str, Any] = {key: value[key] for key in ("description", "default") if key in value}
    one = {key: entry for key, entry in value.items() if key not in about}
    items = [kind for kind in one["anyOf"] if kind != {"type": "null"}] if "anyOf" in one else [one]
    many = {"type": "array", "items": items[0], "minItems": 1, "maxItems": MOST_VALUES, "uniqueItems": True}
    return {"anyOf": [*one.get("anyOf", [one]), many], **about}


def _one_of(kinds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """An object with exactly one key, which names the kind."""
    return {
        "oneOf": [
            {"type": "object", "additionalProperties": False, "required": [kind], "properties": {kind: entry}}
            for kind, entry in kinds.items()
        ]
    }


KINDS_SCHEMA: Final = "raidtui.kinds/1"


@cache
def describe() -> Kinds:
    """Return the kinds of layers and workloads that this engine knows."""
    layers = tuple(
        Kind(kind, layer.title, doc_of(layer.spec), layer.fields, layer.offers) for kind, layer in all_layers().items()
    )
    workloads = tuple(
        Kind(kind, engine.title, doc_of(engine.spec), _with_sweeps(kind, fields_of(engine.spec)), takes=engine.takes)
        for kind, engine in engines().items()
    )
    return Kinds(
        KINDS_SCHEMA,
        layers,
        workloads,
        _plain("role", Role),
        _plain("host", HostGroup),
        _plain("policy", Policy),
        tuple(preset for engine in engines().values() for preset in engine.presets),
    )


def _with_sweeps(kind: str, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of a workload, with those marked that may be lists."""
    swept = SWEPT.get(kind, ())
    return tuple(msgspec.structs.replace(field, sweep=True) if field.name in swept else field for field in fields)


def _plain(kind: str, struct: type[msgspec.Struct]) -> Kind:
    return Kind(kind, kind, doc_of(struct), fields_of(struct))
