"""Hosts on the screen Compose: groups in the outline, their form, `to` of an export, and the drawing across hosts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from compose_pilot import at_line, at_option, opened, previewed
from made_compose import DISKS, DOCUMENT, IDS, known
from made_compose import previewed as preview_of
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until

from raidtui.engine.compose.preview import preview
from raidtui.model.describe import PreviewRequest
from raidtui.tui.compose import edit
from raidtui.tui.compose.document import at, exported_to
from raidtui.tui.compose.drawing import Scene, drawing
from raidtui.tui.compose.figures import figures
from raidtui.tui.compose.form import form
from raidtui.tui.compose.lists import ascii_signs
from raidtui.tui.compose.outline import outline
from raidtui.tui.draft import Draft

RAID10 = {"md": {"level": "raid10", "on": "@data"}}
EXPORTED: dict[str, Any] = {
    **DOCUMENT,
    "name": "two-clients",
    "title": "RAID10 for two clients",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 4}},
    "layouts": {"local": RAID10, "nvme-tcp": {"nvmeof": {"on": RAID10, "to": "clients"}},
                "iscsi": {"iscsi": {"on": RAID10, "to": "clients"}}},
}  # fmt: skip
DRAFT = Draft(EXPORTED, {"data": IDS[:4]})
ALONE = Draft(DOCUMENT, {})
THERE = {each.id: each for each in DISKS}


def lines(draft: Draft) -> dict[str, str]:
    return {line.words: line.note for line in outline(draft, known(), preview_of(draft), THERE)}


def drawn(layout: str, width: int = 60) -> list[str]:
    view = next(view for view in preview_of(DRAFT).layouts if view.name == layout)
    return [line.plain for line in drawing(view, Scene(THERE, DRAFT.bind, EXPORTED["hosts"]), width)]


def test_each_group_has_a_line_and_what_is_on_it():
    found = lines(DRAFT)
    assert found["storage"].startswith("storage server")
    assert found["clients"] == "2 hosts, load nvme-tcp, iscsi"
    assert found["data"] == "4 disks of storage"
    assert "to clients" in found["nvme-tcp"]
    assert "Hosts" not in lines(ALONE), "a scenario on one server is as before"


def test_a_group_whose_own_disks_layouts_stand_on_builds_and_loads_these():
    assert lines(NODES)["nodes"] == "3 hosts, build and load mirrors, bare"


def test_a_group_is_added_behind_the_storage_server_renamed_and_removed():
    added = edit.add_hosts(ALONE, "clients")
    assert added.draft.document["hosts"] == {"storage": {}, "clients": {"count": 2}}
    assert added.path == ("hosts", "clients")
    with pytest.raises(ValueError, match="already"):
        edit.add_hosts(added.draft, "clients")
    with pytest.raises(ValueError, match="a group's name"):
        edit.add_hosts(ALONE, "Big Hosts")
    renamed = edit.rename(DRAFT, ("hosts", "clients"), "load").draft
    assert [exported_to(renamed.document, name) for name in ("local", "nvme-tcp", "iscsi")] == ["", "load", "load"]
    with pytest.raises(ValueError, match="storage server"):
        edit.remove(DRAFT, ("hosts", "storage"))
    assert "hosts" not in edit.remove(added.draft, ("hosts", "clients")).draft.document


def test_the_count_is_an_option_and_to_is_a_choice_of_groups():
    rows = {row.field.name: row for row in form(EXPORTED, ("hosts", "clients"), known(), None).rows}
    assert rows["count"].value == 2
    assert [row.field.name for row in form(EXPORTED, ("hosts", "storage"), known(), None).rows] == ["name"]
    to = {row.field.name: row for row in form(EXPORTED, ("layouts", "nvme-tcp", "nvmeof"), known(), None).rows}["to"]
    assert (to.field.type, to.field.choices, to.value) == ("choice", ("clients",), "clients")


def test_the_drawing_goes_from_the_clients_over_the_network_to_the_storage_server():
    found = drawn("nvme-tcp")
    where = {word: next(n for n, line in enumerate(found) if word in line)
             for word in ("target nvme-tcp", "clients-1, clients-2", "network, NVMe/TCP", "── storage", "nvmeof", "md")}
    assert list(where.values()) == sorted(where.values()), found
    assert any("network, iSCSI" in line for line in drawn("iscsi"))
    assert not any("network" in line for line in drawn("local"))
    assert {len(line) for line in found} == {60}
    view = next(view for view in preview_of(DRAFT).layouts if view.name == "iscsi")
    plain = "".join(ascii_signs(line).plain for line in drawing(view, Scene(THERE, DRAFT.bind, EXPORTED["hosts"]), 40))
    assert plain.replace("…", "").isascii()


ON_NODES: dict[str, Any] = {
    **DOCUMENT,
    "name": "nodes",
    "title": "RAID10 on each of three nodes",
    "hosts": {"storage": {}, "nodes": {"count": 3}},
    "roles": {"osd": {"count": 4, "host": "nodes"}},
    "layouts": {"mirrors": {"md": {"level": "raid10", "on": "@osd"}}, "bare": {"disk": {"on": "@osd"}}},
}
NODES = Draft(ON_NODES, {f"nodes-{n}:osd": tuple(f"nodes-{n}:{disk}" for disk in IDS[:4]) for n in (1, 2, 3)})
SEEN = {f"nodes-{n}": tuple(DISKS) for n in (1, 2, 3)}


def of_nodes(draft: Draft, there: dict[str, tuple[Any, ...]], width: int = 76) -> tuple[str, str]:
    """Return drawing and figures of the layout `mirrors`."""
    request = PreviewRequest(json.dumps(draft.document), dict(draft.bind), there=there)
    (view,) = [view for view in preview(request, DISKS).layouts if view.name == "mirrors"]
    disks = THERE | {f"{host}:{disk.id}": disk for host, found in there.items() for disk in found}
    scene = Scene(disks, draft.bind, draft.document["hosts"])
    return tuple("\n".join(line.plain for line in lines) for lines in (drawing(view, scene, width), figures(view, width)))


def test_a_layout_on_disks_of_hosts_is_drawn_with_sizes_once_these_were_seen():
    drawn, told = of_nodes(NODES, SEEN)
    assert "── on each of nodes-1 … nodes-3 ─" in drawn
    assert all(f"nodes-{n}:{disk}" in drawn for n in (1, 2, 3) for disk in IDS[:4])
    assert "missing" not in drawn
    assert "3.5 TiB" in drawn.splitlines()[0]
    assert "on each of 3 hosts" in told
    gone, _ = of_nodes(NODES, {**SEEN, "nodes-2": tuple(DISKS[1:])})
    assert gone.count("✗ missing") == 1


def test_before_the_disks_of_hosts_were_seen_the_drawing_is_there_and_says_what_is_lacking():
    drawn, told = of_nodes(Draft(ON_NODES, {}), {})
    assert "on each of nodes-1 … nodes-3" in drawn
    assert "4 disks, not chosen" in drawn
    assert "TiB" not in drawn
    assert "h on the screen Disks" in " ".join(told.split())
    assert "missing" not in of_nodes(NODES, {})[0]


def test_disks_that_are_seen_of_a_host_come_into_the_preview(shop):
    async def talk(pilot):
        app = pilot.app
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "mirrors")
        await previewed(pilot, screen)
        assert screen.preview.layouts[0].size_bytes is None
        app.see_disks_there(SEEN)
        await until(pilot, lambda: screen.preview.layouts[0].size_bytes)
        assert screen.preview.seconds
        screen.focus_pane("preview")
        await previewed(pilot, screen)
        await pilot.pause(0.1)
        await same_picture(pilot, "compose-nodes-120")

    drive(shop.app(NODES), talk, (120, 40))


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (LARGE, "200")])
def test_looks(shop, size, name):
    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "nvme-tcp")
        if size == SMALL:
            screen.focus_pane("preview")
        await previewed(pilot, screen)
        await until(pilot, lambda: pilot.app.disks is not None)
        await pilot.pause(0.1)
        await same_picture(pilot, f"compose-hosts-{name}")

    drive(shop.app(DRAFT), talk, size)


def test_hosts_are_added_and_chosen_by_keys(shop):
    document = {**DOCUMENT, "layouts": {"nvme-tcp": {"nvmeof": {"on": RAID10}}}}

    async def talk(pilot):
        app = pilot.app
        screen = await opened(pilot)
        await pilot.press("h", "enter")
        await until(pilot, lambda: app.draft.document.get("hosts"))
        assert screen.here == ("hosts", "clients")
        await at_line(pilot, screen, "layouts", "nvme-tcp")
        await at_option(pilot, screen, "to")
        await pilot.press("right")
        await until(pilot, lambda: at(app.draft.document, ("layouts", "nvme-tcp", "nvmeof", "to"), "") == "clients")
        await at_line(pilot, screen, "hosts", "storage")
        await pilot.press("x")
        assert "storage" in app.draft.document["hosts"], "the storage server stays"

    drive(shop.app(Draft(document, {"data": IDS[:4]})), talk)
