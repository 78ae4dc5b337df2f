"""Layers as a document has them: `{"md": {…}}` over roles (`"@data"`) and other layers. Tolerates anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from raidtui.model.describe import Field, Kind, Kinds
from raidtui.tui.compose.paths import MISSING, Path, has


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
