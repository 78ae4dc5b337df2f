"""Descriptions of every kind of layer and workload with all options, made from the structs that read scenario files."""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from raidtui.load.catalog import engines
from raidtui.model.describe import Kind, Kinds
from raidtui.model.fields import doc_of, fields_of
from raidtui.model.scenario import Policy, Role
from raidtui.stack.catalog import all_layers

KINDS_SCHEMA: Final = "raidtui.kinds/1"


@cache
def describe() -> Kinds:
    """Return the kinds of layers and workloads that this engine knows."""
    layers = tuple(
        Kind(kind, layer.title, doc_of(layer.spec), layer.fields, layer.offers) for kind, layer in all_layers().items()
    )
    workloads = tuple(
        Kind(kind, engine.title, doc_of(engine.spec), fields_of(engine.spec), takes=engine.takes)
        for kind, engine in engines().items()
    )
    return Kinds(
        KINDS_SCHEMA,
        layers,
        workloads,
        _plain("role", Role),
        _plain("policy", Policy),
        tuple(preset for engine in engines().values() for preset in engine.presets),
    )


def _plain(kind: str, struct: type[msgspec.Struct]) -> Kind:
    return Kind(kind, kind, doc_of(struct), fields_of(struct))
