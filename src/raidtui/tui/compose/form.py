"""Form of an entry, line by line: each option, its value and its state, made from the engine's definitions. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from raidtui.base.text import clean
from raidtui.model.describe import Field, Kinds, Preview, Setting
from raidtui.model.scenario_words import NAME_PATTERN
from raidtui.tui.compose.document import MISSING, Path, at, groups_of, kind_of, layer_at, one_of, path_of, place_of
from raidtui.tui.compose.folding import grouped
from raidtui.tui.compose.outline import views
from raidtui.tui.compose.row import Form, FormRow
from raidtui.tui.compose.value_text import as_text, parse, wrong_entries

_SCENARIO: Final = (
    Field("name", "text", "What the scenario is called, in results and file names.", required=True, pattern=NAME_PATTERN),
    Field("title", "text", "One line that says what is compared."),
    Field("why", "text", "The question that it answers."),
)
_NAME: Final = Field("name", "text", "What it is called, here and in results.", required=True)


def form(document: Mapping[str, Any], path: Path, kinds: Kinds | None, preview: Preview | None) -> Form:
    """Return the form for `path`: an entry of a section, the options of a layer, the policy, or the scenario."""
    made = _form(document, path, kinds, preview)
    return made._replace(rows=tuple(_with_errors(made.rows, document, preview)))


def _form(document: Mapping[str, Any], path: Path, kinds: Kinds | None, preview: Preview | None) -> Form:
    if not path:
        return Form("Scenario", "", tuple(_rows(_SCENARIO, document, (), {})))
    section = path[0]
    if len(path) == 1 and section != "policy":
        return Form(str(section).capitalize(), _SECTION_HELP.get(str(section), ""), ())
    if kinds is None:
        return Form(clean(path[-1]), "Waiting for the engine's list of options.", ())
    if section == "policy":
        rows = tuple(_rows(kinds.policy.fields, document, path, {}))
        return Form("Policy", kinds.policy.help, tuple(grouped("policy", rows, path)))
    if section == "roles":
        return _entry(document, path, "role", kinds.role.help, kinds.role.fields)
    if section == "hosts":
        storage = path[1] == next(iter(groups_of(document)), "")
        title, fields = ("storage server", ()) if storage else ("group of hosts", kinds.host.fields)
        return _entry(document, path, title, _STORAGE_HELP if storage else kinds.host.help, fields)
    return _stack_form(document, path, kinds, preview)


def _stack_form(document: Mapping[str, Any], path: Path, kinds: Kinds, preview: Preview | None) -> Form:
    is_load = path[0] == "workloads"
    holder = layer_at(at(document, path[:-1], None), path[:-1])
    kind = kind_of(kinds, str(path[-1]), workload=is_load) if holder else None
    if kind is None or len(path) < 3:
        return Form(clean(path[-1]), "The engine does not know this kind.", (_name_row(path[:2]),))
    settings = {s.field: s for s in _settings(path, preview)}
    name = () if len(path) > 3 else (_name_row(path[:2]),)
    title = kind.title if len(path) > 3 else f"{clean(path[1], 63)} · {kind.title}"
    rows = tuple(_rows(kind.fields, document, path, settings))
    return Form(title, kind.help, (*name, *grouped(kind.kind, rows, path)))


def _settings(path: Path, preview: Preview | None) -> tuple[Setting, ...]:
    if preview is None:
        return ()
    if path[0] == "workloads":
        return next((load.settings for load in preview.workloads if load.name == path[1]), ())
    view = views(preview).get(place_of(path))
    return view.settings if view else ()


def _entry(document: Mapping[str, Any], path: Path, title: str, help: str, fields: tuple[Field, ...]) -> Form:
    rows = (_name_row(path[:2]), *_rows(fields, document, path, {}))
    return Form(f"{clean(path[1], 63)} · {title}", help, rows)


def _name_row(entry: Path) -> FormRow:
    return FormRow(_NAME, entry, str(entry[-1]), renames=True)


def _rows(
    fields: tuple[Field, ...], document: Mapping[str, Any], path: Path, settings: Mapping[str, Setting], depth: int = 0
) -> Iterator[FormRow]:
    for field in fields:
        there = (*path, field.name)
        value = at(document, there)
        if path[:1] == ("layouts",) and field.name == "to" and (groups := tuple(groups_of(document))[1:]):
            field = msgspec.structs.replace(field, type="choice", choices=groups)
        if field.pattern.startswith("^@") and (roles := tuple(f"@{role}" for role in at(document, ("roles",), {}))):
            field = msgspec.structs.replace(field, type="choice", choices=roles)
        nested = field.type == "object" and not field.many and bool(field.fields)
        if nested and (value is MISSING or isinstance(value, Mapping)):
            yield FormRow(field, there, value, settings.get(field.name), depth, heading=True)
            yield from _rows(field.fields, document, there, {}, depth + 1)
        else:
            grows = field.type == "object" and field.many and bool(field.fields) and isinstance(value, list | type(MISSING))
            yield FormRow(field, there, value, settings.get(field.name), depth, grows=grows)
            if field.fields and isinstance(value, list | Mapping):
                yield from _members(field, document, there, value, depth + 1)


def _members(field: Field, document: Mapping[str, Any], path: Path, value: Any, depth: int) -> Iterator[FormRow]:
    for key in range(len(value)) if isinstance(value, list) else list(value):
        if isinstance(value[key], Mapping):
            title = f"{field.name}[{key}]" if isinstance(key, int) else str(key)
            heading = Field(title, "object", field.help, fields=field.fields)
            yield FormRow(heading, (*path, key), value[key], None, depth, heading=True)
            yield from _member(field.fields, document, (*path, key), value[key], depth + 1)


def _member(
    fields: tuple[Field, ...], document: Mapping[str, Any], path: Path, value: Mapping[str, Any], depth: int
) -> Iterator[FormRow]:
    """Yield the rows of an object of a list. One of several inputs, such as a vdev's, is a kind and its devices."""
    inputs = one_of(fields)
    given = [field for field in inputs if field.name in value]
    if len(given) != 1:
        yield from _rows(fields, document, path, {}, depth)
        return
    kind = Field("type", "choice", "Kind of it; the devices stay.", required=True,
                 choices=tuple(field.name for field in inputs), entries=inputs)  # fmt: skip
    yield FormRow(kind, (*path, "(type)"), given[0].name, None, depth, swaps=True)
    yield FormRow(msgspec.structs.replace(given[0], name="devices", required=True), (*path, given[0].name),
                  value[given[0].name], None, depth)  # fmt: skip
    others = [field for field in fields if field not in inputs]
    fitting = (field for field in others if field.name in value or _is_for(field, given[0], inputs))
    yield from _rows(tuple(fitting), document, path, {}, depth)


def _is_for(field: Field, given: Field, inputs: tuple[Field, ...]) -> bool:
    """Return False for an option of other kinds only: its help begins with their name, as `draid: data disks`."""
    kind = field.help.partition(":")[0]
    return not any(other.name.startswith(kind) for other in inputs) or given.name.startswith(kind)


def _with_errors(rows: tuple[FormRow, ...], document: Mapping[str, Any], preview: Preview | None) -> Iterator[FormRow]:
    places = [(path_of(document, problem.place), problem) for problem in preview.problems] if preview else []
    for row in rows:
        inner = row.field.sweep or row.field.by_name
        own = [problem for place, problem in places if place == row.path or (inner and place[:-1] == row.path)]
        found = [clean(problem.message) for problem in own if not row.renames]
        holder = row.renames or at(document, row.path[:-1]) is not MISSING
        missing = row.field.required and row.value is MISSING and not row.heading and holder
        refused = clean(row.setting.refused) if row.setting and row.value is not MISSING else ""
        own_rule = "a value is required" if missing and not row.refused else _own_rule(row, document)
        wrong = found[0] if found else own_rule or refused
        yield row._replace(wrong=wrong, surely=bool(own_rule))


def _own_rule(row: FormRow, document: Mapping[str, Any]) -> str:
    """Return what is wrong with a value by the rules of its option alone; empty if nothing is."""
    field, value = row.field, row.value
    if row.heading or row.renames or row.swaps or value is MISSING:
        return ""
    if field.type == "devices":
        known = at(document, ("roles",), {})
        named = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        unknown = next((one for one in named if one.removeprefix("@") not in known), "")
        return f"there is no role {clean(unknown)}" if unknown else ""
    if isinstance(value, list | Mapping) and not field.sweep:
        return clean(wrong_entries(field, value), 300)
    try:
        parse(field, as_text(field, value))
    except ValueError as error:
        return clean(error, 200)
    return ""


_STORAGE_HELP: Final = "The storage server: it has the disks, builds the layouts, and exports them to the groups below it."
_SECTION_HELP: Final = {
    "hosts": "The first group is the storage server; each other one is hosts that load what it exports. Press h to add "
    "one, and choose it as `to` of an export. The screen Plan asks for their addresses.",
    "roles": "A role is a name that stands for some disks. Press r to add one; its disks are chosen on the screen Disks.",
    "layouts": "A layout is what gets built: layers over roles. Press l to add one by its lowest layer.",
    "workloads": "A workload is one load on every layout. Press w to add one.",
}
