"""What an engine says of its kinds: every option as the struct that reads it has it, and presets that it accepts itself."""

from __future__ import annotations

import json
from typing import get_type_hints

import msgspec
import pytest

from raidtui.engine.compose.schema import describe
from raidtui.load.catalog import engines
from raidtui.load.engine import Engine
from raidtui.model.convert import decode, encode
from raidtui.model.describe import Field, Kind, Kinds, Preset
from raidtui.model.fields import fields_of
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import Layer

KINDS = describe()
EVERY_KIND = [*KINDS.layers, *KINDS.workloads, KINDS.role, KINDS.policy]


def field(kind: Kind, name: str) -> Field:
    return next(found for found in kind.fields if found.name == name)


def layer(kind: str) -> Kind:
    return next(found for found in KINDS.layers if found.kind == kind)


def test_every_layer_and_every_workload_is_described() -> None:
    assert [kind.kind for kind in KINDS.layers] == list(all_layers())
    assert [kind.kind for kind in KINDS.workloads] == list(engines())


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.kind)
def test_every_option_says_what_it_is(kind: Kind) -> None:
    assert kind.title
    assert kind.help
    for found in kind.fields:
        assert found.help, found.name
        for inner in found.fields:
            assert inner.help, f"{found.name}.{inner.name}"


def test_types_limits_choices_and_defaults_are_those_of_the_struct() -> None:
    md, fio = layer("md"), next(kind for kind in KINDS.workloads if kind.kind == "fio")
    assert field(md, "level").choices == ("raid0", "raid1", "raid4", "raid5", "raid6", "raid10")
    assert field(md, "level").required
    assert field(md, "journal").type == "devices"
    assert field(md, "metadata").default == "1.2"
    depth = field(fio, "iodepth")
    assert (depth.type, depth.least, depth.most, depth.default) == ("integer", 1, 4096, 1)
    assert field(fio, "rwmixread").unit == "%"
    assert field(fio, "size").type == "extent"
    assert field(fio, "runtime").type == "duration"
    assert field(fio, "direct").type == "switch"
    assert "zipf" in field(fio, "random_distribution").pattern
    where = field(KINDS.role, "where")
    assert where.type == "object"
    assert [inner.name for inner in where.fields][:2] == ["transport", "kind"]
    assert field(KINDS.policy, "cooldown").default == "0s"


def test_only_what_offers_a_device_can_be_stood_on() -> None:
    assert layer("md").offers == "block"
    assert layer("disk").offers == ""


@pytest.mark.parametrize("preset", KINDS.presets, ids=lambda preset: preset.name)
def test_a_preset_passes_the_engines_own_check(preset: Preset) -> None:
    engine = engines()[preset.kind]
    spec = decode(engine.spec, preset.options)
    assert engine.check(spec, "$") == []
    assert engine.describe(spec)


def test_presets_have_names_of_their_own() -> None:
    names = [preset.name for preset in KINDS.presets]
    assert len(set(names)) == len(names)
    assert {"fsync-write-4k-t1q1", "seq-write-4m-q32", "rand-write-4k-t4q128", "oltp-8k-70-30"} <= set(names)


@pytest.mark.parametrize("offer", [*all_layers().values(), *engines().values()], ids=lambda offer: offer.kind)
def test_examples_are_what_a_scenario_may_have(offer: Layer | Engine) -> None:
    types = get_type_hints(offer.spec, include_extras=True)
    for found in fields_of(offer.spec):
        for example in found.examples:
            decode(types[found.name], int(example) if found.type == "integer" else example)


def test_it_survives_the_wire() -> None:
    assert msgspec.json.decode(encode(KINDS), type=Kinds) == KINDS
    json.loads(encode(KINDS))


def test_lists_objects_and_numbers_or_words_have_a_field_type() -> None:
    class Inner(msgspec.Struct):
        depth: int
        """How deep."""

    struct = msgspec.defstruct("Odd", [("many", list[str]), ("named", dict[str, int]), ("either", int | str)])
    found = {f.name: (f.type, f.many) for f in fields_of(struct)}
    assert found == {"many": ("text", True), "named": ("integer", True), "either": ("text", False)}
    assert fields_of(Inner)[0].help == "How deep."
