"""Edits of a draft: pure functions that return the next draft and the name of the change; kinds that can be added."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from raidtui.model.describe import Field, Kind, Kinds, Preset
from raidtui.model.disk import host_of, on_host, plain_role
from raidtui.model.scenario_words import NAME_PATTERN
from raidtui.tui.compose.document import (
    MISSING,
    Layer,
    Path,
    at,
    device_fields,
    drop,
    exported_to,
    group_fields,
    groups_of,
    layer_at,
    main_input,
    put,
    rekey,
    shift,
)
from raidtui.tui.compose.row import FormRow
from raidtui.tui.compose.usual import LAYERS, begins_with
from raidtui.tui.draft import Draft, without_disks, without_role, wrong_role_name

BELOW: Final = object()
"""Placeholder in a new layer's options for the layer's input."""
_USUAL_COUNT: Final = {"data": 4}
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Change(NamedTuple):
    """The next draft, the name of the change ("add raid5"), and its path."""

    draft: Draft
    what: str
    path: Path


def add_role(draft: Draft, name: str) -> Change:
    """Add a role without disks, of the usual count for its name. Raises ValueError if the name is taken or invalid."""
    count = _USUAL_COUNT.get(name, 1)
    check_name(draft, ("roles", name))
    path: Path = ("roles", name)
    return _changed(draft, path, {"count": count, "where": {}}, f"add role {name}")


def add_hosts(draft: Draft, name: str) -> Change:
    """Add a group of two hosts, behind the storage server. Raises ValueError if the name is taken or invalid."""
    check_name(draft, ("hosts", name))
    groups = {**(groups_of(draft.document) or {"storage": {}}), name: {"count": 2}}
    return _changed(draft, ("hosts",), groups, f"add hosts {name}")._replace(path=("hosts", name))


def add_layout(draft: Draft, kind: Kind, given: Mapping[str, Any], word: str = "") -> Change:
    """Add a layout of one layer, named `word` (`raid5`), over the most likely role."""
    name = free_name(draft, "layouts", word or _kind_name(kind, given))
    role = likely_role(draft)
    options = first_options(kind, given, f"@{role}" if role else MISSING)
    done = _changed(draft, ("layouts", name), {kind.kind: options}, f"add layout {name}")
    return _with_inputs(done, kind, (*done.path, kind.kind))


def add_preset(draft: Draft, preset: Preset) -> Change:
    name = free_name(draft, "workloads", preset.name)
    options = copy.deepcopy(dict(preset.options))
    return _changed(draft, ("workloads", name), {preset.kind: options}, f"add workload {name}")


def add_workload(draft: Draft, kind: Kind, given: Mapping[str, Any]) -> Change:
    name = free_name(draft, "workloads", _kind_name(kind, given))
    return _changed(draft, ("workloads", name), {kind.kind: first_options(kind, given)}, f"add workload {name}")


def put_on_top(draft: Draft, path: Path, kind: Kind, given: Mapping[str, Any]) -> Change:
    """Put a layer on top of the layer whose options are at `path`."""
    below = {str(path[-1]): at(draft.document, path, {})}
    made = {kind.kind: first_options(kind, given, below)}
    done = _changed(draft, path[:-1], made, f"put {_kind_name(kind, given)} on {path[-1]}")
    return _with_inputs(done, kind, (*path[:-1], kind.kind))._replace(path=(*path[:-1], kind.kind))


def put_below(draft: Draft, into: Path, kind: Kind, given: Mapping[str, Any]) -> Change:
    """Put a layer into the input at `into`; the previous sources become its input."""
    role = likely_role(draft)
    below = at(draft.document, into, f"@{role}" if role else MISSING)
    made = {kind.kind: first_options(kind, given, below)}
    done = _changed(draft, into, made, f"put {_kind_name(kind, given)} below, as {into[-1]}")
    return _with_inputs(done, kind, (*into, kind.kind))._replace(path=(*into, kind.kind))


def _with_inputs(change: Change, kind: Kind, options: Path) -> Change:
    """Give the other inputs that a new layer requires (the cache of a bcache) a role that its layout does not use."""
    draft = change.draft
    for field in device_fields(kind):
        there = (*options, field.name)
        if field.required and at(draft.document, there) is MISSING and (role := spare_role(draft, options, field.name)):
            draft = draft._replace(document=put(draft.document, there, f"@{role}"))
    return change._replace(draft=draft)


def remove(draft: Draft, path: Path) -> Change:
    """Remove an entry of a section, an input, or one of several sources of an input."""
    if path[0] == "roles":
        return Change(without_role(draft, str(path[1])), f"remove role {path[1]}", path[:1])
    if path[0] == "hosts":
        return _remove_hosts(draft, str(path[1]))
    document = drop(draft.document, path)
    if len(path) > 2 and isinstance(path[-1], int) and at(document, path[:-1]) == []:
        document = drop(document, path[:-1])
    return Change(draft._replace(document=document), f"remove {path[-1]}", path[:-1])


def _remove_hosts(draft: Draft, name: str) -> Change:
    """Remove a group of hosts, and with the last one the storage server's. Raises ValueError for the storage server."""
    storage, *others = groups_of(draft.document)
    if name == storage:
        raise ValueError(f"{name} is the storage server: remove the other groups instead")
    document = drop(draft.document, ("hosts", name) if others != [name] else ("hosts",))
    return Change(draft._replace(document=document), f"remove hosts {name}", ("hosts",) if others != [name] else ())


def remove_layer(draft: Draft, kinds: Kinds | None, path: Path) -> Change:
    """Remove one layer; its input takes its place. A layout's only layer is removed with its layout."""
    layer = Layer(str(path[-1]), path, at(draft.document, path, {}))
    below = at(draft.document, main_input(kinds, layer))
    holder = path[:-1]
    if len(holder) == 2 and layer_at(below, holder) is None:
        return remove(draft, holder)
    return Change(draft._replace(document=put(draft.document, holder, below)), f"remove {path[-1]}", holder)


def rename(draft: Draft, path: Path, new: str) -> Change:
    """Rename an entry of a section; a role's uses and disks follow. Raises ValueError like `check_name`."""
    section, old = str(path[0]), str(path[1])
    if new != old:
        check_name(draft, (section, new))
    document, bind = rekey(draft.document, (section, old), new), dict(draft.bind)
    if section == "roles":
        document = put(document, ("layouts",), _replaced(at(document, ("layouts",), {}), f"@{old}", f"@{new}"))
        bind = {on_host(host_of(role), new) if plain_role(role) == old else role: ids for role, ids in draft.bind.items()}
    if section == "hosts":
        for layout in at(document, ("layouts",), {}):
            if exported_to(document, layout) == old:
                kind = next(iter(at(document, ("layouts", layout))))
                document = put(document, ("layouts", layout, kind, "to"), new)
    return Change(Draft(document, bind), f"rename {old} to {new}", (section, new))


def duplicate(draft: Draft, path: Path) -> Change:
    """Copy an entry, right after it and under a new name. A role's copy has no disks."""
    section, name = str(path[0]), str(path[1])
    new = free_name(draft, section, name)
    entries: dict[str, Any] = {}
    for key, entry in at(draft.document, (section,), {}).items():
        entries[key] = entry
        if key == name:
            entries[new] = copy.deepcopy(entry)
    return Change(draft._replace(document=put(draft.document, (section,), entries)), f"duplicate {name}", (section, new))


def move(draft: Draft, path: Path, by: int) -> Change:
    """Move an entry of a section up or down."""
    document = shift(draft.document, path[:2], by)
    return Change(draft._replace(document=document), f"move {path[1]} {'up' if by < 0 else 'down'}", path)


def set_value(draft: Draft, path: Path, value: Any) -> Change:
    """Give one option another value; MISSING leaves it out."""
    what = f"leave out {path[-1]}" if value is MISSING else f"set {path[-1]}"
    return _changed(draft, path, copy.deepcopy(value), what)


def add_object(draft: Draft, path: Path, field: Field, given: Mapping[str, Any] = _NOTHING) -> Change:
    """Add an object that is left out, with what it needs, or one more to a list of them."""
    there = at(draft.document, path)
    if field.many:
        path = (*path, len(there) if isinstance(there, list) else 0)
    role = spare_role(draft, path, field.name) or (likely_role(draft) if given else None)
    below = f"@{role}" if role else MISSING
    made = _least(field.fields, _replaced(given, BELOW, below), below)
    if "role" in made and below is not MISSING:
        made["role"] = below
    document = put(draft.document, path[:-1], []) if path[-1] == 0 and field.many else draft.document
    return _changed(draft._replace(document=document), path, made, f"add {field.name}")


def give(draft: Draft, row: FormRow, value: Any) -> Change:
    """Give the option of a form's row another value. Raises ValueError if it is a name that is taken or invalid."""
    if row.renames:
        return rename(draft, row.path, value)
    if row.swaps:
        document = rekey(draft.document, (*row.path[:-1], row.value), value)
        return Change(draft._replace(document=document), f"make {row.value} {value}", row.path[:-1])
    if value is MISSING and isinstance(row.path[-1], int):
        return remove(draft, row.path)
    return set_value(draft, row.path, value)


def take_disk_out(draft: Draft, role: str, disk: str) -> Change:
    """Remove a disk from a role. A role without disks stays only if a layout uses it."""
    return Change(without_disks(draft, [disk]), f"take {disk} out of {role}", ("roles", role))


def check_name(draft: Draft, path: Path) -> None:
    """Raise ValueError with `name_error`."""
    if error := name_error(draft, path):
        raise ValueError(error)


def name_error(draft: Draft, path: Path) -> str:
    """Return why an entry cannot have this name; empty if it can."""
    section, name = str(path[0]), str(path[1])
    if section in ("roles", "hosts") and (wrong := wrong_role_name(name)):
        return wrong.replace("a role's", "a group's") if section == "hosts" else wrong
    if not re.match(NAME_PATTERN, name):
        return "a name has up to 63 small letters, digits and . _ + -, and begins with a letter or digit"
    return f"there is already a {name!r}" if name in at(draft.document, (section,), {}) else ""


def free_name(draft: Draft, section: str, wish: str) -> str:
    """Return `wish`, or `wish-2` and so on if it is taken."""
    taken = at(draft.document, (section,), {})
    strange = r"[^a-z0-9_-]+" if section in ("roles", "hosts") else r"[^a-z0-9._+-]+"
    base = re.sub(strange, "-", wish.lower()).strip("-._+") or "new"
    if section == "roles" and not base[0].isalpha():
        base = f"role-{base}"
    longest = 31 if section in ("roles", "hosts") else 63
    base = re.sub(r"-\d{1,3}$", "", base) if base in taken else base
    name, number = base[:longest], 1
    while name in taken:
        number += 1
        name = f"{base[: longest - 5]}-{number}"
    return name


def likely_role(draft: Draft) -> str | None:
    """Return the most likely role of a new layer: `data`, else the role with the most disks."""
    roles = at(draft.document, ("roles",), {})
    counts = {name: count if isinstance(count := at(role, ("count",), 0), int) else 0 for name, role in roles.items()}
    return "data" if "data" in counts else max(counts, key=lambda name: counts[name], default=None)


def spare_role(draft: Draft, path: Path, wish: str) -> str | None:
    """Return the role for another input of a layout: one named like it, else one that the layout does not use yet."""
    roles = at(draft.document, ("roles",), {})
    used = set(_texts(at(draft.document, path[:2], {})))
    free = [name for name in roles if f"@{name}" not in used]
    return next((name for name in free if name in wish or wish in name), free[0] if free else None)


def _texts(value: Any) -> Iterator[str]:
    for one in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from [one] if isinstance(one, str) else _texts(one)


def first_options(kind: Kind, given: Mapping[str, Any], below: Any = MISSING) -> dict[str, Any]:
    """Return the options of a new layer or workload: the chosen ones, its input, and required ones.

    `BELOW` in the chosen options is replaced by the input.
    """
    chosen = _replaced(given, BELOW, below)
    if chosen != dict(given):
        below = MISSING
    return _least(kind.fields, chosen, below)


def _least(fields: tuple[Field, ...], chosen: Mapping[str, Any], below: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for field in fields:
        if field.name in chosen:
            options[field.name] = chosen[field.name]
        elif not field.required or field.many:
            continue
        elif field.type == "devices":
            options |= {} if below is MISSING else {field.name: below}
            below = MISSING
        elif field.type == "choice":
            options[field.name] = field.choices[0]
        elif field.type == "integer":
            options[field.name] = int(field.least or 1)
        elif field.type == "object":
            options[field.name] = _least(field.fields, {}, MISSING)
        elif field.examples:
            options[field.name] = field.examples[0]
    return options


def _kind_name(kind: Kind, given: Mapping[str, Any]) -> str:
    return next((value for value in given.values() if isinstance(value, str)), kind.kind)


def _changed(draft: Draft, path: Path, value: Any, what: str) -> Change:
    return Change(draft._replace(document=put(draft.document, path, value)), what, path)


def _replaced(value: Any, old: object, new: Any) -> Any:
    """Return a copy of nested data with `new` in place of `old`. Keys whose value becomes MISSING are left out."""
    if isinstance(value, Mapping):
        inner = {key: _replaced(entry, old, new) for key, entry in value.items()}
        return {key: entry for key, entry in inner.items() if entry is not MISSING}
    if isinstance(value, list):
        return [_replaced(entry, old, new) for entry in value]
    return new if value == old else value


class KindOffer(NamedTuple):
    """A kind to add, with the options that the choice implies."""

    kind: Kind
    given: Mapping[str, Any]
    words: str


def layer_offers(kinds: Kinds, fits: Callable[[Kind], bool] = lambda kind: True) -> list[KindOffer]:
    """Return every fitting layer, the most used first; one with a required choice (`level`) once for each value."""
    found = [offer for kind in kinds.layers if fits(kind) for offer in _offers(kind)]
    place = {key: number for number, key in enumerate(LAYERS)}
    return sorted(found, key=lambda offer: place.get((offer.kind.kind, offer.words), len(place)))


def load_offers(kinds: Kinds) -> list[Preset | KindOffer]:
    """Return the workload presets, then every workload kind without preset values."""
    return [*kinds.presets, *(offer for kind in kinds.workloads for offer in _offers(kind))]


def takes_layer(kind: Kind) -> bool:
    """Return True if the kind has device inputs."""
    return bool(device_fields(kind) or group_fields(kind))


def _offers(kind: Kind) -> list[KindOffer]:
    groups = next((field for field in group_fields(kind) if field.required), None)
    if groups is not None:
        names = [field.name for field in groups.fields if field.type == "devices"]
        return [KindOffer(kind, {groups.name: [{name: BELOW}], **begins_with(kind.kind, name)}, name) for name in names]
    chosen = next((field for field in kind.fields if field.type == "choice" and field.required), None)
    if chosen is None:
        return [KindOffer(kind, {}, kind.kind)]
    return [KindOffer(kind, {chosen.name: choice}, choice) for choice in chosen.choices]
