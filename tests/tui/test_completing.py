"""Names and values of properties, and other known words, complete what is typed into an option; wrong ones are refused."""

from __future__ import annotations

import pytest
from compose_pilot import at_line, at_option, lines, opened, typed
from made_compose import BOUND, known
from pilot import SMALL, drive

from raidtui.model.describe import Field
from raidtui.tui.compose.completing import completions
from raidtui.tui.compose.edit import put_on_top, set_value
from raidtui.tui.compose.value_text import input_hint, parse
from raidtui.tui.draft import Draft

KINDS = known()
ZPOOL = next(kind for kind in KINDS.layers if kind.kind == "zpool")


def field_of(*names: str) -> Field:
    fields = ZPOOL.fields
    for name in names[:-1]:
        fields = next(field for field in fields if field.name == name).fields
    return next(field for field in fields if field.name == names[-1])


OF_POOL, OF_VOLUME, OF_DATASET = field_of("properties"), field_of("volume", "properties"), field_of("dataset", "properties")


def words(field: Field, text: str, cursor: int | None = None) -> list[str]:
    return [word.text for word in completions(field, text, len(text) if cursor is None else cursor).words]


def test_every_property_has_a_line_on_what_it_does():
    for field in (OF_POOL, OF_VOLUME, OF_DATASET):
        assert len(field.entries) > 9
        assert [entry.name for entry in field.entries if not entry.help.endswith(".") or len(entry.help) > 60] == []


def test_names_are_those_of_the_place():
    assert words(OF_VOLUME, "")[:2] == ["compression=", "volblocksize="]
    assert words(OF_VOLUME, "vol") == ["volblocksize=", "volmode=", "volthreading=", "snapdev="]  # its line has "volume"
    assert "recordsize=" not in words(OF_VOLUME, "")
    assert "recordsize=" in words(OF_DATASET, "")
    assert "compression=" not in words(OF_DATASET, "compression=lz4 comp")
    assert words(OF_DATASET, "compression=lz4 rec")[0] == "recordsize="
    assert words(OF_POOL, "feat")[0] == "feature@"
    assert "mountpoint=" not in words(OF_DATASET, "")


def test_values_are_those_of_the_property():
    assert words(OF_DATASET, "sync=") == ["standard", "always", "disabled"]
    assert words(OF_DATASET, "compression=zstd-fast-10")[:3] == ["zstd-fast-10", "zstd-fast-100", "zstd-fast-1000"]
    assert words(OF_DATASET, "recordsize=1")[0] == "1K"
    assert words(OF_DATASET, "recordsize=")[-1] == "16M"
    assert words(OF_POOL, "feature@draid=") == ["enabled", "disabled"]
    assert words(OF_POOL, "ashift=1") == ["12", "13"]
    assert words(OF_POOL, "ashift=2") == []
    assert "none" not in words(OF_VOLUME, "volmode=")


def test_a_word_is_put_in_at_the_cursor():
    text = "sync=al copies=2"
    found = completions(OF_VOLUME, text, 7)
    assert found.begun
    assert found.taken(text, 0) == ("sync=always copies=2", 11)
    assert not completions(OF_VOLUME, "sync=always", 11).begun


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        (OF_DATASET, "compresion=lz4", "there is no compresion here; did you mean compression?"),
        (OF_VOLUME, "recordsize=16K", "there is no recordsize here"),
        (OF_DATASET, "sync=sometimes", "sync cannot be sometimes; it is one of standard, always, disabled"),
        (OF_DATASET, "recordsize=3K", "recordsize cannot be 3K"),
        (OF_DATASET, "mountpoint=/srv", "there is no mountpoint here"),
        (OF_POOL, "ashift=20", "ashift: a number from 9 to 16"),
        (OF_POOL, "feature@draid=maybe", "it is one of enabled, disabled"),
        (OF_POOL, "feature@=enabled", "there is no feature@ here"),
        (OF_POOL, '{"ashift": 3}', "ashift: a number from 9 to 16"),
        (field_of("mirrored"), "log cache", "cache is none of log, special, dedup"),
        (field_of("mirrored"), "log log", "log is there twice"),
        (field_of("mirrored_per"), "cache=2", "there is no cache here"),
        (field_of("mirrored_per"), "log=1", "log: a number from 2 to 255"),
    ],
)  # fmt: skip
def test_a_wrong_name_or_value_is_refused_with_what_is_possible(field, text, said):
    with pytest.raises(ValueError, match=r"\w") as refused:
        parse(field, text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (OF_DATASET, "recordsize=131072", {"recordsize": 131072}),
        (OF_DATASET, "recordsize=128KiB", {"recordsize": "128KiB"}),
        (OF_DATASET, "acltype=posixacl", {"acltype": "posixacl"}),
        (OF_POOL, "ashift=12 feature@draid=enabled", {"ashift": 12, "feature@draid": "enabled"}),
        (OF_POOL, "compatibility=openzfs-2.1-linux", {"compatibility": "openzfs-2.1-linux"}),
        (field_of("mirrored"), "log special", ["log", "special"]),
        (field_of("mirrored"), '["log"]', ["log"]),
        (field_of("mirrored_per"), "log=2", {"log": 2}),
    ],
)  # fmt: skip
def test_what_zfs_takes_is_taken(field, text, value):
    assert parse(field, text) == value


def test_other_known_words_complete_too():
    layout = next(field for kind in KINDS.layers if kind.kind == "md" for field in kind.fields if field.name == "layout")
    assert words(layout, "far") == ["far2", "far3"]
    assert words(field_of("mirrored"), "log ") == ["special", "dedup"]
    assert "log, special, dedup" in input_hint(field_of("mirrored"))


def pool() -> Draft:
    change = put_on_top(BOUND, ("layouts", "raid5", "md"), ZPOOL, {"vdevs": [{"stripe": "@data"}], "dataset": {}})
    return set_value(change.draft, ("layouts", "raid5", "zpool", "dataset"), {"size": "50%"}).draft


def test_properties_are_typed_with_a_list_of_names_and_values(shop):
    app = shop.app(pool())
    there = ("layouts", "raid5", "zpool", "dataset", "properties")

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        screen.focus_pane("form")
        screen.query_one("#form").go_to(there)
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        shown = lines(screen, "#choices")
        assert shown[0].startswith("compression=")
        assert "Compress what is written." in shown[0]
        await typed(pilot, "comp")
        await pilot.press("enter")
        assert screen.query_one("#typed").value == "compression="
        await typed(pilot, "lz4")
        await pilot.press("space")
        await typed(pilot, "rec")
        await pilot.press("tab", "down", "down")
        await pilot.press("enter")
        assert screen.query_one("#typed").value == "compression=lz4 recordsize=1K"
        await pilot.press("enter")
        document = app.draft.document["layouts"]["raid5"]["zpool"]["dataset"]
        assert document["properties"] == {"compression": "lz4", "recordsize": "1K"}

    drive(app, talk, SMALL)


def test_a_wrong_property_is_refused_in_the_field(shop):
    app = shop.app(pool())

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        screen.focus_pane("form")
        screen.query_one("#form").go_to(("layouts", "raid5", "zpool", "properties"))
        await pilot.pause()
        await pilot.press("enter")
        await typed(pilot, "ashift=2")
        assert "ashift: a number from 9 to 16" in screen.query_one("#wrong").render().plain
        await pilot.press("enter")
        assert screen.query_one("#typed").has_focus
        assert "properties" not in app.draft.document["layouts"]["raid5"]["zpool"]
        await pilot.press("escape")
        await at_option(pilot, screen, "arc_max")

    drive(app, talk, SMALL)
