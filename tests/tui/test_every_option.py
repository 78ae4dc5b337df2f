"""Every option of every layer, workload, role and of the policy: what a form shows is read back as the same value."""

from __future__ import annotations

import pytest
from made_compose import DISKS, known, previewed

from raidtui.tui.compose.edit import add_layout, layer_offers, put_on_top, takes_layer
from raidtui.tui.compose.fill import filled, short_roles
from raidtui.tui.compose.pick import fitting
from raidtui.tui.compose.value_text import as_text, parse
from raidtui.tui.draft import EMPTY, Draft
from raidtui.tui.screens.compose import layer_entry

KINDS = known()
SIZES = ("4k", "1m", "10GiB", "512B", "1.5TiB")


def _fields(fields, above):
    for field in fields:
        yield f"{above}.{field.name}", field
        yield from _fields(field.fields, f"{above}.{field.name}")


EVERY = [pair for kind in (*KINDS.layers, *KINDS.workloads, KINDS.role, KINDS.policy)
         for pair in _fields(kind.fields, kind.kind)]  # fmt: skip


def _values(field):
    """Values that the option may have, as the engine describes it."""
    one = []
    if field.type == "choice":
        one += field.choices
    elif field.type == "switch":
        one += [True, False]
    elif field.type in ("integer", "number"):
        least = field.least if field.least is not None else 0
        one += [int(least) + 1 if field.least is None or least == int(least) else least]
        one += [] if field.most is None else [int(field.most)]
    elif field.type in ("size", "extent"):
        one += ["64KiB", "1MiB"]
    elif field.type == "duration":
        one += ["90s", "2m"]
    elif field.type == "devices":
        one += ["@data", ["@data", "@journal"], {"md": {"level": "raid0", "on": "@data"}}]
    elif field.type in ("object", "list"):
        one += [{"a": 1}]
    if field.type not in ("object", "list"):
        examples = map(int, field.examples) if field.type == "integer" else field.examples
        one += [value for value in (field.default, *examples) if value is not None]
    if field.entries:
        named = {entry.name: (*entry.choices, *entry.examples, "12")[0] for entry in field.entries if entry.name[-1] != "@"}
        return [{name: int(value) if value.isdecimal() else value for name, value in named.items()}]
    if field.many and field.type == "choice" and not field.by_name:
        return [list(field.choices), [field.choices[-1]]]
    if field.many:
        texts = {f"n{number}": value for number, value in enumerate(one)}
        return [list(one), texts, {"compression": "lz4", "copies": 2}, {"a": "12"}, {"a": "with blanks"}, {"a": True}]
    return [*one, list(dict.fromkeys(one))] if field.sweep and len(set(map(str, one))) > 1 else one


def test_every_option_has_values_to_be_tried():
    assert len(EVERY) > 300
    assert [name for name, field in EVERY if not _values(field) and field.type != "text"] == []


@pytest.mark.parametrize("part", range(4))
def test_what_is_shown_is_read_back(part):
    for name, field in EVERY[part::4]:
        for value in _values(field):
            assert parse(field, as_text(field, value)) == value, name


def test_short_units_and_properties_are_taken_as_people_write_them():
    of_sizes = [field for _, field in EVERY if field.type == "size" and not field.many]
    assert [parse(of_sizes[0], text) for text in SIZES] == ["4KiB", "1MiB", "10GiB", "512B", "1.5TiB"]
    properties = next(field for name, field in EVERY if name == "zpool.volume.properties")
    assert parse(properties, "compression=lz4, copies=2") == {"compression": "lz4", "copies": 2}
    with pytest.raises(ValueError, match="such as compression=lz4"):
        parse(properties, "compression=lz4 copies")
    assert parse(properties, "dedup=sha256,verify,copies=2") == {"dedup": "sha256,verify", "copies": 2}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("zvol", {"raidz1", "mirror", "stripe"}), ("jbod", {"raid0", "disk", "lvm", "stripe"}), ("encryption", {"luks"}),
        ("write cache", {"lvm", "bcache"}), ("raid10", {"raid10", "mirror"}), ("raid6", {"raid6", "raidz2"}),
        ("dedup", {"lvm", "raidz1"}), ("compression", {"lvm", "btrfs", "raidz1"}), ("checksum", {"integrity", "btrfs"}),
        ("nvme over fabrics", {"nvmeof"}), ("ssd cache", {"bcache"}), ("snapshot", {"lvm", "btrfs"}),
        ("mdadm mirror", {"raid1", "raid10"}), ("slog", {"mirror"}),
    ],
)  # fmt: skip
def test_layers_are_found_by_everyday_words(words, found):
    offers = layer_offers(KINDS, takes_layer)
    seen = [offers[number].words for number in fitting([layer_entry(offer) for offer in offers], words)]
    assert found <= set(seen)
    assert len(seen) < len(offers) / 2 or words in ("write cache", "dedup", "compression", "checksum", "snapshot")
    if words in [offer.words for offer in offers]:
        assert seen[0] == words


MISSING_ONE = {"xfs", "ext4", "f2fs", "luks", "integrity", "bcache"}
"""New layouts over a role of several disks that lack something: these layers take one device, or need a second one."""


def test_a_new_layout_is_valid_or_says_the_one_thing_that_is_missing():
    roles = {"data": {"count": 6, "where": {}}}
    draft = Draft({**EMPTY.document, "roles": roles}, {"data": tuple(disk.id for disk in DISKS)})
    for offer in layer_offers(KINDS, takes_layer):
        made = add_layout(draft, offer.kind, offer.given, offer.words).draft
        view = previewed(made).layouts[0]
        said = [problem.message for problem in view.problems]
        assert len(said) == (1 if offer.words in MISSING_ONE else 0), (offer.words, said)


def test_a_new_layer_on_another_one_is_valid_or_says_the_one_thing_that_is_missing():
    roles = {"data": {"count": 6, "where": {}}, "cache": {"count": 1, "where": {}}}
    bare = {**EMPTY.document, "roles": roles, "layouts": {"a": {"md": {"level": "raid0", "on": "@data"}}}}
    for offer in layer_offers(KINDS, takes_layer):
        made = put_on_top(Draft(bare), ("layouts", "a", "md"), offer.kind, offer.given).draft
        said = [problem.message for problem in previewed(made).layouts[0].problems]
        assert len(said) <= 1, (offer.words, said)
        if offer.words in ("xfs", "ext4", "luks", "integrity", "bcache", "lvm", "stripe", "nvmeof"):
            assert not said, (offer.words, said)


def test_roles_are_filled_with_free_disks_alike():
    draft = Draft({**EMPTY.document, "roles": {"data": {"count": 4, "where": {}}, "log": {"count": 9, "where": {}}}},
                  {"data": (DISKS[2].id,)})  # fmt: skip
    made, lacking = filled(draft, DISKS, list(short_roles(draft)))
    assert made.bind["data"][0] == DISKS[2].id
    assert len(made.bind["data"]) == 4
    assert lacking == {"log": 9 - len(made.bind["log"])}
    assert not set(made.bind["data"]) & set(made.bind["log"])
    free = {disk.id for disk in DISKS if disk.free}
    assert {id_ for ids in made.bind.values() for id_ in ids} <= free
