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
"""Stands where nothing is given; None is a value."""


def at(document: Any, path: Path, otherwise: Any = MISSING) -> Any:
    """What is at `path`, or `otherwise` where there is no such place."""
    found = document
    for step in path:
        if not has(found, step):
            return otherwise
        found = found[step]
    return found


def has(holder: Any, step: str | int) -> bool:
    """Whether an object has this key, or a list this index."""
    if isinstance(holder, Mapping):
        return step in holder
    return isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder)


def put(document: Any, path: Path, value: Any) -> Any:
    """A copy with `value` at `path`; objects that are missing on the way are made. MISSING takes the place away."""
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
    """A copy without what is at `path`; the same where nothing is there."""
    if not path or at(document, path) is MISSING:
        return document
    holder = at(document, path[:-1])
    if isinstance(holder, list):
        less: Any = [entry for index, entry in enumerate(holder) if index != path[-1]]
    else:
        less = {key: entry for key, entry in holder.items() if key != path[-1]}
    return put(document, path[:-1], less)


def rekey(document: Any, path: Path, new: str) -> Any:
    """A copy in which the last key of `path` is `new`, in the same order. Raises ValueError where it is taken."""
    holder = at(document, path[:-1])
    old = path[-1]
    if not isinstance(holder, Mapping) or old not in holder or new == old:
        return document
    if new in holder:
        raise ValueError(f"there is already a {new!r}")
    return put(document, path[:-1], {new if key == old else key: entry for key, entry in holder.items()})


def shift(document: Any, path: Path, by: int) -> Any:
    """A copy in which the entry at `path` stands `by` places further among its like; the same at either end."""
    holder = at(document, path[:-1])
    if not isinstance(holder, Mapping) or path[-1] not in holder:
        return document
    keys = list(holder)
    here = keys.index(path[-1])
    there = min(max(here + by, 0), len(keys) - 1)
    keys.insert(there, keys.pop(here))
    return put(document, path[:-1], {key: holder[key] for key in keys})


def place_of(path: Path) -> str:
    """As problems name it: `$.layouts.raid5.md.on[0]`."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def path_of(document: Any, place: str) -> Path:
    """The path that a place names, as far as the document has it; names may have dots, the longest that fits is taken.

    A last key that the document lacks is kept: it may be the name of a field that is left out. What is wrong with the
    disks chosen for a role (`--bind data`) is at the role.
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
    """The first step of `rest` that `here` has, and what follows it; (None, rest) where it has none."""
    if isinstance(here, Mapping) and rest[0] == ".":
        fitting = [key for key in here if isinstance(key, str) and _begins(rest[1:], key)]
        if fitting:
            key = max(fitting, key=len)
            return key, rest[1 + len(key) :]
    if isinstance(here, list) and rest[0] == "[":
        number, _, after = rest[1:].partition("]")
        if number.isdecimal() and int(number) < len(here):
            return int(number), after
    return None, rest


def _begins(rest: str, key: str) -> bool:
    return rest.startswith(key) and rest[len(key) : len(key) + 1] in ("", ".", "[")


def common(one: Path, other: Sequence[str | int]) -> int:
    """How many steps two paths share from the top."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


class Layer(NamedTuple):
    """One layer of a document. `path` leads to its options."""

    kind: str
    path: Path
    options: Mapping[str, Any]


class Source(NamedTuple):
    """What stands in a layer's input: a layer, or text such as a role."""

    path: Path
    layer: Layer | None
    text: str


def layer_at(value: Any, path: Path) -> Layer | None:
    """`value`, which is at `path`, as a layer; None where it is none."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, options),) = value.items()
        if isinstance(kind, str) and isinstance(options, Mapping):
            return Layer(kind, (*path, kind), options)
    return None


def kind_of(kinds: Kinds | None, name: str, *, workload: bool = False) -> Kind | None:
    """The definition of a kind, or None where the engine does not know it (or has not said yet)."""
    known = () if kinds is None else (kinds.workloads if workload else kinds.layers)
    return next((kind for kind in known if kind.kind == name), None)


def device_fields(kind: Kind) -> tuple[Field, ...]:
    return tuple(field for field in kind.fields if field.type == "devices")


def group_fields(kind: Kind) -> tuple[Field, ...]:
    """Options that are lists of objects with device fields of their own: the vdevs of a pool."""
    return tuple(
        field
        for field in kind.fields
        if field.type == "object" and field.many and any(inner.type == "devices" for inner in field.fields)
    )


def main_input(kinds: Kinds | None, layer: Layer) -> Path:
    """Where the input is that a layer stands on first, given or not."""
    given = next((path for path, _ in inputs(kinds, layer)), None)
    if given is not None:
        return given
    known = kind_of(kinds, layer.kind)
    fields = device_fields(known) if known else ()
    name = next((field.name for field in fields if field.required), fields[0].name if fields else "on")
    return (*layer.path, name)


def inputs(kinds: Kinds | None, layer: Layer) -> Iterator[tuple[Path, list[Source]]]:
    """Every input that is given, by its path, with what stands in it, in the order of the layer's fields."""
    known = kind_of(kinds, layer.kind)
    for field in known.fields if known else ():
        value = layer.options.get(field.name, MISSING)
        path = (*layer.path, field.name)
        if field.type == "devices" and value is not MISSING:
            yield path, list(sources(value, path))
        elif known is not None and field in group_fields(known) and isinstance(value, list):
            yield from _grouped(field, value, path)
    for name in () if known else _looking_like_inputs(layer.options):
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


def _looking_like_inputs(options: Mapping[str, Any]) -> list[str]:
    """Where the engine has not said what the inputs are: what mentions a role or holds a layer."""
    return [name for name, value in options.items() if any(s.layer or s.text.startswith("@") for s in sources(value, ()))]


def walk(kinds: Kinds | None, layer: Layer) -> Iterator[Layer]:
    """This layer and all below it, the topmost first."""
    yield layer
    for _, below in inputs(kinds, layer):
        for source in below:
            if source.layer is not None:
                yield from walk(kinds, source.layer)
