"""Layers as a document has them: `{"md": {…}}` over roles (`"@data"`) and other layers. Tolerates anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from raidtui.model.describe import Field, Kind, Kinds
from raidtui.tui.compose.paths import Path, has


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


def main_input(kinds: Kinds | None, kind: str) -> str:
    """The input that a layer stands on first: its first device field."""
    known = kind_of(kinds, kind)
    fields = device_fields(known) if known else ()
    return next((field.name for field in fields if field.required), fields[0].name if fields else "on")


def inputs(kinds: Kinds | None, layer: Layer) -> Iterator[tuple[str, list[Source]]]:
    """Every input that is given, with what stands in it, in the order of the layer's fields."""
    known = kind_of(kinds, layer.kind)
    names = [field.name for field in device_fields(known)] if known else _looking_like_inputs(layer.options)
    for name in names:
        if name in layer.options:
            yield name, list(sources(layer.options[name], (*layer.path, name)))


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


def owner(document: Any, path: Path) -> Path:
    """The options of the layer that a path within a layout is in: the deepest `{"kind": {…}}` on its way."""
    found: Path = ()
    value = document
    for depth, step in enumerate(path):
        if depth >= 2:
            layer = layer_at(value, path[:depth])
            if layer is not None and step == layer.kind:
                found = layer.path
        if not has(value, step):
            break
        value = value[step]
    return found
