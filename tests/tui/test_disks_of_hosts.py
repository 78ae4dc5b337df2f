"""The hosts of the draft on the screen Disks: asked once, one block for each, their disks only shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pictures import same_picture
from pilot import SMALL, drive, until

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made

from raidtui.model.disk import Reason
from raidtui.model.host_view import LOOKING, HostList, HostView
from raidtui.model.network import Interface, LinkEnd, RdmaPort
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList
from raidtui.tui.disks.hosts import HostSeen
from raidtui.tui.disks.table import DiskTable
from raidtui.tui.draft import EMPTY, Draft, chosen_for, with_role, without_role

HOSTS = {"clients": ("root@c1", "root@c2", "root@c3")}
DRAFT = Draft({**EMPTY.document, "hosts": {"storage": {}, "clients": {"count": 3}}})
ROOT = made.disk(9, id="C1-ROOT", serial="C1-ROOT", reasons=(Reason("system-disk", "the running system stands on it",
                                                                   system=True),))  # fmt: skip
STORAGE = HostView(ref="storage", host="stor1", kernel="6.12.48", cpus=32, memory_bytes=128 << 30,
                   networks=(Interface("ens1f0", "", "mlx5_core", True, 100_000, 9000),))  # fmt: skip
FIRST = HostView(
    ref="clients-1", address="root@c1", host="client-one", kernel="6.12.48", fio="3.39", cpus=16, memory_bytes=64 << 30,
    own_address="10.10.1.2", link=LinkEnd("eth1", 9000, "mlx5_0/1"),
    networks=(Interface("eth0", "", "igb", True, 1000, 1500), Interface("eth1", "", "mlx5_core", True, 25_000, 9000)),
    rdma=(RdmaPort("mlx5_0", 1, "Ethernet", "eth1", "mlx5_core", True, 25_000),), disks=(made.disk(1), ROOT),
)  # fmt: skip
UNREACHED = Problem("host-unreachable", "raidtui could not be started on clients-2: ssh: connect to host c2 port 22: No "
                    "route to host", "clients-2", "Make `ssh root@c2 true` work from root's account on the storage server, "
                    "without a question.", 3)  # fmt: skip
SECOND = HostView(ref="clients-2", address="root@c2", problems=(UNREACHED,))
THIRD = HostView(ref="clients-3", address="root@c3", host="client-three", kernel="6.12.48", fio="3.39", waits_for=LOOKING)


@pytest.fixture
def show(stage):
    def run(talk, *, size=SMALL, hosts=HOSTS, answer=None):
        disks = DiskList("raidtui.disks/1", "stor1", "boot", (made.disk(1), made.disk(2)))
        events = (STORAGE, FIRST, SECOND, THIRD)
        given = answer or {"events": events, "until": "never", "then": []}
        stage.answers(watch_disks={"events": [disks], "until": "never", "then": []}, hosts=given, disks={"result": disks})
        app = stage.app()
        tell, app.notices = app.notify, []
        app.notify = lambda words, **options: (app.notices.append(words), tell(words, **options))

        async def whole(pilot):
            await until(pilot, lambda: app.disks is not None)
            app.hosts = dict(hosts)
            app.change_draft(DRAFT, "a test")
            await talk(pilot, app)

        drive(app, whole, size)

    return run


async def answered(pilot, app):
    await until(pilot, lambda: app.screen._bar is not None and app.screen._bar._views.get("clients-3") == THIRD)


async def away_and_back(pilot, app):
    for key, mode in (("5", "results"), ("1", "disks")):
        await pilot.press(key)
        await until(pilot, lambda mode=mode: app.current_mode == getattr(app.screen, "MODE", "") == mode)


def table(app) -> DiskTable:
    return app.screen.query_one(DiskTable)


def title(app) -> str:
    return str(app.screen.query_one("#disk-list").border_title)


def test_a_key_goes_from_host_to_host_and_the_table_has_the_disks_of_each(show, stage):
    async def talk(pilot, app):
        await answered(pilot, app)
        assert stage.requests("hosts") == [{"method": "hosts", "params": {"hosts": {"clients": list(HOSTS["clients"])}}}]
        assert "Disks of" not in title(app)
        await pilot.press("space", "h")
        assert list(table(app).row_keys) == ["clients-1:S64GNE0R100001", "clients-1:C1-ROOT"]
        assert title(app).startswith("Disks of clients-1 ")
        assert not table(app).selected, "a disk with the same serial is another disk"
        await pilot.press("h")
        assert table(app).empty.startswith("clients-2 was not seen")
        await pilot.press("h")
        assert table(app).empty.startswith("clients-3 has not answered yet")
        await pilot.press("h")
        assert table(app).selected == {"S64GNE0R100001"}, "the choice on the storage server is kept"
        await pilot.press("H")
        assert app.screen._bar.marked == THIRD

    show(talk)


def test_disks_of_other_hosts_get_roles_of_their_group(show):
    async def talk(pilot, app):
        await answered(pilot, app)
        await pilot.press("r", "enter")
        assert app.draft.bind == {"data": ("S64GNE0R100001",)}
        await pilot.press("h", "r", "ctrl+u", *"own", "enter")
        assert app.draft.bind["clients-1:own"] == ("clients-1:S64GNE0R100001",)
        assert app.draft.document["roles"]["own"] == {"count": 1, "host": "clients"}
        assert [entry.role for entry in app.screen._entries.values()] == ["own", ""]
        await pilot.press("H")
        assert [entry.role for entry in app.screen._entries.values()] == ["data", ""]
        await pilot.press("h", "x")
        assert list(app.draft.bind) == ["data"]
        assert list(app.draft.document["roles"]) == ["data"]

    show(talk)


def test_a_role_has_disks_of_one_group_alone():
    of_hosts = with_role(with_role(DRAFT, "own", ["clients-1:A"], "clients-1"), "own", ["clients-2:B"], "clients-2")
    assert of_hosts.bind == {"clients-1:own": ("clients-1:A",), "clients-2:own": ("clients-2:B",)}
    assert chosen_for(of_hosts, "own") == ("clients-1:A", "clients-2:B")
    here = with_role(of_hosts, "own", ["C"])
    assert here.bind == {"own": ("C",)}
    assert here.document["roles"] == {"own": {"count": 1}}
    assert with_role(here, "own", ["clients-1:A"], "clients-1").bind == {"clients-1:own": ("clients-1:A",)}
    assert without_role(of_hosts, "own").bind == {}


def test_hosts_are_asked_again_when_others_are_named_or_with_the_key(show, stage):
    answer = {"events": (STORAGE, FIRST), "result": HostList("raidtui.hosts/1", (STORAGE, FIRST))}

    async def talk(pilot, app):
        await until(pilot, lambda: len(stage.requests("hosts")) == 1)
        await away_and_back(pilot, app)
        await pilot.pause(0.2)
        assert len(stage.requests("hosts")) == 1
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(stage.requests("hosts")) == 2)
        app.hosts = {"clients": ("root@c1",)}
        await away_and_back(pilot, app)
        await until(pilot, lambda: len(stage.requests("hosts")) == 3)
        assert stage.requests("hosts")[-1]["params"] == {"hosts": {"clients": ["root@c1"]}}

    show(talk, answer=answer)


def test_a_run_that_goes_on_is_not_disturbed_by_itself(show, stage):
    async def talk(pilot, app):
        await pilot.pause(0.2)
        assert not stage.requests("hosts")
        app.hosts, app.run_words = dict(HOSTS), "write-hole 1/3"
        await away_and_back(pilot, app)
        await pilot.pause(0.2)
        assert not stage.requests("hosts")
        await pilot.press("h")
        await answered(pilot, app)

    show(talk, hosts={})


def test_hosts_without_names_are_asked_for(show, stage):
    async def talk(pilot, app):
        await pilot.press("h")
        assert type(app.screen).__name__ == "AskText"
        await pilot.press(*"root@c1", "enter")
        await until(pilot, lambda: stage.requests("hosts"))
        assert app.hosts == {"clients": ("root@c1",)}

    show(talk, hosts={})


def test_an_engine_that_cannot_ask_says_why(show):
    async def talk(pilot, app):
        await until(pilot, lambda: app.screen._bar is not None and app.screen._bar._problems)
        await pilot.press("h")
        assert table(app).empty.startswith("clients-1 was not seen")

    show(talk, answer={"failure": [Problem("engine-busy", "the engine answers as many requests as it takes", exit=2)]})


@pytest.mark.parametrize(("name", "size"), [("disks-hosts-80", SMALL), ("disks-hosts-120", (120, 40))])
def test_the_screen_at_each_size(show, name, size):
    async def talk(pilot, app):
        await answered(pilot, app)
        await pilot.press("h")
        await same_picture(pilot, name)
        await pilot.press("h")
        await same_picture(pilot, f"{name}-unreachable")

    show(talk, size=size)


def test_the_marked_one_of_many_hosts_is_in_view_and_disks_stay_while_a_host_is_asked_again(show, stage):
    many = tuple(f"root@c{number}" for number in range(1, 31))
    events = [STORAGE, *(HostView(ref=f"clients-{n}", address=one, host=f"c{n}", kernel="6", disks=(made.disk(n),))
                         for n, one in enumerate(many, 1))]  # fmt: skip

    async def talk(pilot, app):
        await until(pilot, lambda: app.screen._bar is not None and len(app.screen._bar._views) == 31)
        bar = app.screen._bar
        await pilot.press("H")
        assert bar.marked.ref == "clients-30"
        line = bar._switch().plain
        assert line.startswith("… ")
        assert "clients-30" in line[:76]
        bar.look(bar.asked)
        bar.take(HostSeen(bar._number, HostView(ref="clients-30", address="root@c30", waits_for=LOOKING)))
        assert (bar.marked.waits_for, len(bar.marked.disks)) == (LOOKING, 1)
        await pilot.press("h")
        assert not bar._switch().plain.startswith("…")

    show(talk, hosts={"clients": many}, answer={"events": events, "until": "never", "then": []})
