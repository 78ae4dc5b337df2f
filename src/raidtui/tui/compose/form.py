"""Form of an entry, line by line: each option, its value and its state, made from the engine's definitions. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.base.text import clean
from raidtui.model.describe import Field, Kinds, Preview, Setting
from raidtui.model.jsonio import read_json
from raidtui.model.problem import ProblemError
from raidtui.model.scenario_words import NAME_PATTERN
from raidtui.model.units import Duration, Extent, Size, VirtualExtent
from raidtui.tui.compose.document import MISSING, Path, at, groups_of, kind_of, layer_at, path_of, place_of
from raidtui.tui.compose.outline import views

_UNITS = {"size": Size, "extent": Extent, "duration": Duration}


def as_text(field: Field, value: Any) -> str:
    """Return a value as input text; empty if it is omitted."""
    if value is MISSING:
        return ""
    if field.sweep and isinstance(value, list):
        return ", ".join(as_text(_single(field), one) for one in value) + ("," if len(value) == 1 else "")
    if _by_words(field) and isinstance(value, Mapping) and (words := _named_words(value)):
        return words
    if field.many or field.type in ("list", "object"):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parse(field: Field, text: str) -> Any:
    """Return the value of an input text, MISSING if it is empty. Raises ValueError with a message for the user."""
    text = text.strip()
    if not text:
        return MISSING
    if field.sweep and "," in text:
        return _values(field, text)
    if _by_words(field) and text[:1] not in "[{" and "=" in text:
        return _by_name(text)
    if field.many or field.type in ("list", "object"):
        return _json(text)
    if field.type == "devices":
        return _json(text) if text[:1] in '[{"' else text
    if field.type == "switch":
        return _switch(text)
    if field.type in ("integer", "number"):
        return _number(field, text)
    if field.type in _UNITS:
        text = _with_unit(field, re.sub(r"\s+", "", text))
        (VirtualExtent if field.type == "extent" and field.most else _UNITS[field.type])(text)
        return text
    if field.type == "choice" and text not in field.choices:
        raise ValueError(f"one of {', '.join(field.choices)}")
    if field.pattern and not re.search(field.pattern, text):
        raise ValueError(f"such as {' or '.join(field.examples)}" if field.examples else f"it must match {field.pattern}")
    return text


def _with_unit(field: Field, text: str) -> str:
    """Return a size with its unit in full: `4k` is 4KiB, as in fio and in ZFS."""
    short = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtp])(ib)?", text, re.IGNORECASE) if field.type != "duration" else None
    return f"{short[1]}{short[2].upper()}iB" if short else text


def _by_words(field: Field) -> bool:
    """Return True for values by name that can be written as `name=value`: properties of ZFS."""
    return field.many and field.type not in ("list", "object", "devices")


def _by_name(text: str) -> dict[str, Any]:
    """Return `compression=lz4 copies=2` as values by name. Raises ValueError with a message for the user."""
    found: dict[str, Any] = {}
    for word in text.replace(",", " ").split():
        name, sign, value = word.partition("=")
        if not name or not sign or not value:
            raise ValueError(f"{word}: a name, =, and a value, such as compression=lz4")
        if name in found:
            raise ValueError(f"{name} is there twice")
        found[name] = int(value) if re.fullmatch(r"0|[1-9]\d{0,15}", value) else value
    return found


def _named_words(value: Mapping[str, Any]) -> str:
    """Return values by name as `_by_name` reads them; empty if it would read others."""
    words = " ".join(f"{name}={one}" for name, one in value.items())
    try:
        return words if json.dumps(_by_name(words)) == json.dumps(value) else ""
    except ValueError:
        return ""


def input_hint(field: Field) -> str:
    """Return a short hint of allowed input: `a size, such as 64KiB or 1MiB`."""
    parts = []
    if field.type in ("integer", "number"):
        kind = "a whole number" if field.type == "integer" else "a number"
        parts.append(f"{kind}{_limits(field)}" + (f" {field.unit}" if field.unit else ""))
    elif _by_words(field):
        parts.append("name=value with blanks between, or JSON")
    elif field.many or field.type in ("list", "object"):
        parts.append("JSON")
    elif field.type == "text":
        parts.append("text")
    else:
        parts.append({"size": "a size", "extent": "a size or a share", "duration": "a time"}.get(field.type, ""))
    if field.examples:
        parts.append(f"such as {' or '.join(field.examples[:3])}")
    if field.sweep:
        parts.append("or several with commas, for a sweep")
    return ", ".join(filter(None, parts))


def _single(field: Field) -> Field:
    return msgspec.structs.replace(field, sweep=False)


def _values(field: Field, text: str) -> list[Any]:
    """Return the values of a sweep's option, which commas separate; behind the last one a comma may stand."""
    words = text.removesuffix(",").split(",")
    values = [parse(_single(field), word) for word in words]
    if MISSING in values:
        raise ValueError("a value is missing between commas")
    if twice := next((word.strip() for number, word in enumerate(words) if values[number] in values[:number]), ""):
        raise ValueError(f"{twice} is there twice")
    return values


def _json(text: str) -> Any:
    try:
        return read_json(text.encode("utf-8", "surrogatepass"))
    except ProblemError as error:
        raise ValueError(f"JSON: {error.problems[0].message}") from None


def _switch(text: str) -> bool:
    if text.lower() in ("yes", "true", "on"):
        return True
    if text.lower() in ("no", "false", "off"):
        return False
    raise ValueError("yes or no")


def _number(field: Field, text: str) -> int | float:
    plain = text.replace("_", "").replace(",", "")
    try:
        value = int(plain) if field.type == "integer" else float(plain)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("a whole number" if field.type == "integer" else "a number")
    if (field.least is not None and value < field.least) or (field.most is not None and value > field.most):
        raise ValueError(f"a number{_limits(field)}")
    return int(value) if field.type == "number" and value == int(value) and "." not in plain else value


def _limits(field: Field) -> str:
    least = None if field.least is None else f"{field.least:g}"
    most = None if field.most is None else f"{int(field.most)}" if field.most == int(field.most) else f"{field.most:g}"
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f", at least {least}"
    return f", at most {most}" if most is not None else ""


_SCENARIO: Final = (
    Field("name", "text", "What the scenario is called, in results and file names.", required=True, pattern=NAME_PATTERN),
    Field("title", "text", "One line that says what is compared."),
    Field("why", "text", "The question that it answers."),
)
_NAME: Final = Field("name", "text", "What it is called, here and in results.", required=True)


class FormRow(NamedTuple):
    """One option in a form."""

    field: Field
    path: Path
    """Path of its value in the document."""
    value: Any
    """Given value; MISSING if omitted."""
    setting: Setting | None = None
    depth: int = 0
    """Nesting depth of objects."""
    heading: bool = False
    """An object whose fields follow: nothing to edit itself."""
    renames: bool = False
    """The name of the entry at `path`, not an option of it."""
    wrong: str = ""
    surely: bool = False
    """True if the error was found here, by a rule of the option alone: it does not wait for the engine."""

    @property
    def refused(self) -> str:
        """Reason why the option is not allowed here; empty if it is allowed or given anyway."""
        return self.setting.refused if self.setting and self.value is MISSING else ""

    @property
    def shown(self) -> str:
        """Given value, or the value used if it is omitted."""
        if self.value is not MISSING:
            return clean(as_text(self.field, self.value), 400)
        return clean(self.fallback, 400)

    @property
    def fallback(self) -> str:
        """Value used if the option is omitted; empty if there is none."""
        if self.setting is not None and self.setting.value and self.setting.given is None:
            words = {"true": "yes", "false": "no"} if self.field.type == "switch" else {}
            return words.get(self.setting.value, self.setting.value)
        return "" if self.field.default is None else as_text(self.field, self.field.default)


class Form(NamedTuple):
    """A titled list of options."""

    title: str
    help: str
    rows: tuple[FormRow, ...]


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
        return Form("Policy", kinds.policy.help, tuple(_rows(kinds.policy.fields, document, path, {})))
    if section == "roles":
        return _entry(document, path, "role", kinds.role.help, kinds.role.fields, {})
    if section == "hosts":
        storage = path[1] == next(iter(groups_of(document)), "")
        title, fields = ("storage server", ()) if storage else ("group of hosts", kinds.host.fields)
        return _entry(document, path, title, _STORAGE_HELP if storage else kinds.host.help, fields, {})
    return _stack_form(document, path, kinds, preview)


def _stack_form(document: Mapping[str, Any], path: Path, kinds: Kinds, preview: Preview | None) -> Form:
    is_load = path[0] == "workloads"
    holder = layer_at(at(document, path[:-1], None), path[:-1])
    kind = kind_of(kinds, str(path[-1]), workload=is_load) if holder else None
    if kind is None or len(path) < 3:
        return Form(clean(path[-1]), "The engine does not know this kind.", (_name_row(path[:2]),))
    settings = {s.field: s for s in _settings(path, preview)}
    if len(path) > 3:
        return Form(kind.title, kind.help, tuple(_rows(kind.fields, document, path, settings)))
    return _entry(document, path, kind.title, kind.help, kind.fields, settings)


def _settings(path: Path, preview: Preview | None) -> tuple[Setting, ...]:
    if preview is None:
        return ()
    if path[0] == "workloads":
        return next((load.settings for load in preview.workloads if load.name == path[1]), ())
    view = views(preview).get(place_of(path))
    return view.settings if view else ()


def _entry(
    document: Mapping[str, Any], path: Path, title: str, help: str, fields: tuple[Field, ...], settings: dict[str, Setting]
) -> Form:
    rows = (_name_row(path[:2]), *_rows(fields, document, path, settings))
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
        nested = field.type == "object" and not field.many and bool(field.fields)
        if nested and (value is MISSING or isinstance(value, Mapping)):
            yield FormRow(field, there, value, settings.get(field.name), depth, heading=True)
            yield from _rows(field.fields, document, there, {}, depth + 1)
        else:
            yield FormRow(field, there, value, settings.get(field.name), depth)
            if field.fields and isinstance(value, list | Mapping):
                yield from _members(field, document, there, value, depth + 1)


def _members(field: Field, document: Mapping[str, Any], path: Path, value: Any, depth: int) -> Iterator[FormRow]:
    for key in range(len(value)) if isinstance(value, list) else list(value):
        if isinstance(value[key], Mapping):
            title = f"{field.name}[{key}]" if isinstance(key, int) else str(key)
            heading = Field(title, "object", field.help, fields=field.fields)
            yield FormRow(heading, (*path, key), value[key], None, depth, heading=True)
            yield from _rows(field.fields, document, (*path, key), {}, depth + 1)


def _with_errors(rows: tuple[FormRow, ...], document: Mapping[str, Any], preview: Preview | None) -> Iterator[FormRow]:
    places = [(path_of(document, problem.place), problem) for problem in preview.problems] if preview else []
    for row in rows:
        own = [problem for place, problem in places if place == row.path or (row.field.sweep and place[:-1] == row.path)]
        found = [clean(problem.message) for problem in own if not row.heading and not row.renames]
        missing = row.field.required and row.value is MISSING and not row.heading
        refused = clean(row.setting.refused) if row.setting and row.value is not MISSING else ""
        own_rule = "a value is required" if missing and not row.refused else _own_rule(row, document)
        wrong = found[0] if found else own_rule or refused
        yield row._replace(wrong=wrong, surely=bool(own_rule))


def _own_rule(row: FormRow, document: Mapping[str, Any]) -> str:
    """Return what is wrong with a value by the rules of its option alone; empty if nothing is."""
    field, value = row.field, row.value
    if row.heading or row.renames or value is MISSING:
        return ""
    if field.type == "devices":
        known = at(document, ("roles",), {})
        named = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        unknown = next((one for one in named if one.removeprefix("@") not in known), "")
        return f"there is no role {clean(unknown)}" if unknown else ""
    if isinstance(value, list | Mapping) and not field.sweep:
        return ""
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
