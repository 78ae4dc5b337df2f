"""Read and change a scenario document: its paths, entries and layers. Documents are copied, never changed in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from raidtui.model.describe import Field, Kind, Kinds

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top: `("layouts", "raid5", "md", "on", 0)`."""


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final = _Missing.MISSING
"""Marks an omitted value; None is a value."""


def at(document: Any, path: Path, otherwise: Any = MISSING) -> Any:
    """Return the value at `path`, or `otherwise` if the path does not exist."""
    found = document
    for step in path:
        if not has(found, step):
            return otherwise
        found = found[step]
    return found


def has(holder: Any, step: str | int) -> bool:
    """Return True if the object has this key, or the list this index."""
    if isinstance(holder, Mapping):
        return step in holder
    return isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder)


def put(document: Any, path: Path, value: Any) -> Any:
    """Return a copy with `value` at `path`. Missing parent objects are created; MISSING removes the path."""
    if value is MISSING:
        return drop(document, path)
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(document, list) and isinstance(step, int):
        copy = list(document)
        if step < len(copy):
            copy[step] = put(copy[step], rest, value)
        else:
            copy.append(put({}, rest, value))
        return copy
    base = dict(document) if isinstance(document, Mapping) else {}
    return {**base, str(step): put(base.get(str(step), {}), rest, value)}


def drop(document: Any, path: Path) -> Any:
    """Return a copy without `path`; the same document if the path does not exist."""
    if not path or at(document, path) is MISSING:
        return document
    holder = at(document, path[:-1])
    if isinstance(holder, list):
        less: Any = [entry for index, entry in enumerate(holder) if index != path[-1]]
    else:
        less = {key: entry for key, entry in holder.items() if key != path[-1]}
    return put(document, path[:-1], less)


def rekey(document: Any, path: Path, new: str) -> Any:
    """Return a copy with the last key of `path` renamed to `new`, in the same order. Raises ValueError if `new` exists."""
    holder = at(document, path[:-1])
    old = path[-1]
    if not isinstance(holder, Mapping) or old not in holder or new == old:
        return document
    if new in holder:
        raise ValueError(f"there is already a {new!r}")
    return put(document, path[:-1], {new if key == old else key: entry for key, entry in holder.items()})


def shift(document: Any, path: Path, by: int) -> Any:
    """Return a copy with the entry at `path` moved by `by` places within its section, at most to either end."""
    holder = at(document, path[:-1])
    if not isinstance(holder, Mapping) or path[-1] not in holder:
        return document
    keys = list(holder)
    here = keys.index(path[-1])
    there = min(max(here + by, 0), len(keys) - 1)
    keys.insert(there, keys.pop(here))
    return put(document, path[:-1], {key: holder[key] for key in keys})


def place_of(path: Path) -> str:
    """Return the path as problems write it: `$.layouts.raid5.md.on[0]`."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def path_of(document: Any, place: str) -> Path:
    """Return the path of a problem's place, as far as the document has it. Keys may contain dots: the longest match counts.

    A last key that the document lacks is kept: it may name an omitted field. Problems with the disks chosen for a role
    (`--bind data`) belong to the role.
    """
    if place.startswith("--bind "):
        return ("roles", place.removeprefix("--bind "))
    found: list[str | int] = []
    rest, here = place.removeprefix("$"), document
    while rest:
        step, rest = _next(here, rest)
        if step is None:
            key = rest[1:]
            if rest[:1] == "." and key and "." not in key and "[" not in key:
                found.append(key)
            break
        found.append(step)
        here = here[step]
    return tuple(found)


def _next(here: Any, rest: str) -> tuple[str | int | None, str]:
    """Return the first step of `rest` that exists in `here`, and the remainder; (None, rest) if there is none."""
    if isinstance(here, Mapping) and rest[0] == ".":
        fitting = [key for key in here if isinstance(key, str) and _is_key(rest[1:], key)]
        if fitting:
            key = max(fitting, key=len)
            return key, rest[1 + len(key) :]
    if isinstance(here, list) and rest[0] == "[":
        number, _, after = rest[1:].partition("]")
        if number.isdecimal() and int(number) < len(here):
            return int(number), after
    return None, rest


def _is_key(rest: str, key: str) -> bool:
    return rest.startswith(key) and rest[len(key) : len(key) + 1] in ("", ".", "[")


def shared_steps(one: Path, other: Sequence[str | int]) -> int:
    """Return the number of leading steps that two paths share."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def groups_of(document: Any) -> Mapping[str, Any]:
    """Return the groups of hosts by name; the first is the storage server. Empty if it is the only host."""
    found = at(document, ("hosts",), {})
    return found if isinstance(found, Mapping) else {}


def exported_to(document: Any, layout: str) -> str:
    """Return the group of hosts that a layout is exported to; empty if the storage server measures it itself."""
    layer = layer_at(at(document, ("layouts", layout), None), ("layouts", layout))
    group = layer.options.get("to") if layer else None
    return group if isinstance(group, str) else ""


class Layer(NamedTuple):
    """One layer of a document. `path` leads to its options."""

    kind: str
    path: Path
    options: Mapping[str, Any]


class Source(NamedTuple):
    """One source in a layer's input: a layer, or text such as a role."""

    path: Path
    layer: Layer | None
    text: str


def layer_at(value: Any, path: Path) -> Layer | None:
    """Return the `value` at `path` as a layer; None if it is not one."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, options),) = value.items()
        if isinstance(kind, str) and isinstance(options, Mapping):
            return Layer(kind, (*path, kind), options)
    return None


def kind_of(kinds: Kinds | None, name: str, *, workload: bool = False) -> Kind | None:
    """Return the definition of a kind; None if it is unknown or the engine has not answered yet."""
    known = () if kinds is None else (kinds.workloads if workload else kinds.layers)
    return next((kind for kind in known if kind.kind == name), None)


def device_fields(kind: Kind) -> tuple[Field, ...]:
    return tuple(field for field in kind.fields if field.type == "devices")


def group_fields(kind: Kind) -> tuple[Field, ...]:
    """Return the options that are lists of objects with device fields, such as the vdevs of a pool."""
    return tuple(
        field
        for field in kind.fields
        if field.type == "object" and field.many and any(inner.type == "devices" for inner in field.fields)
    )


def one_of(fields: Sequence[Field]) -> tuple[Field, ...]:
    """Return the inputs of which an object has exactly one, such as the kinds of a vdev; none if it may have several."""
    found = tuple(field for field in fields if field.type == "devices" and not field.required)
    return found if len(found) > 1 else ()


def main_input(kinds: Kinds | None, layer: Layer) -> Path:
    """Return the path of a layer's first input, given or not."""
    given = next((path for path, _ in inputs(kinds, layer)), None)
    if given is not None:
        return given
    known = kind_of(kinds, layer.kind)
    fields = device_fields(known) if known else ()
    name = next((field.name for field in fields if field.required), fields[0].name if fields else "on")
    return (*layer.path, name)


def inputs(kinds: Kinds | None, layer: Layer) -> Iterator[tuple[Path, list[Source]]]:
    """Yield the path and the sources of every given input, in the order of the layer's fields."""
    known = kind_of(kinds, layer.kind)
    for field in known.fields if known else ():
        value = layer.options.get(field.name, MISSING)
        path = (*layer.path, field.name)
        if field.type == "devices" and value is not MISSING:
            yield path, list(sources(value, path))
        elif known is not None and field in group_fields(known) and isinstance(value, list):
            yield from _grouped(field, value, path)
    for name in () if known else _probable_inputs(layer.options):
        yield (*layer.path, name), list(sources(layer.options[name], (*layer.path, name)))


def _grouped(field: Field, groups: list[Any], path: Path) -> Iterator[tuple[Path, list[Source]]]:
    for index, group in enumerate(groups):
        for inner in field.fields:
            if inner.type == "devices" and has(group, inner.name):
                there = (*path, index, inner.name)
                yield there, list(sources(group[inner.name], there))


def sources(value: Any, path: Path) -> Iterator[Source]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from sources(entry, (*path, index)) if not isinstance(entry, list) else ()
        return
    layer = layer_at(value, path)
    yield Source(path, layer, "" if layer else str(value))


def _probable_inputs(options: Mapping[str, Any]) -> list[str]:
    """Return the options that mention a role or hold a layer, for kinds that the engine has not described."""
    return [name for name, value in options.items() if any(s.layer or s.text.startswith("@") for s in sources(value, ()))]
