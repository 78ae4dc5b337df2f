"""The list of disks follows what happens: a look after every change, whoever looked, and every so often anyway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from test_planning import disk

from raidtui import inventory
from raidtui.engine import disk_list
from raidtui.inventory import Change
from raidtui.model.disk import Disk, Reason
from raidtui.model.protocol import DiskList

MOUNTED = Reason("mounted", "mounted on /srv")


class Server:
    """Disks, a clock, and what is heard of them."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.disks: tuple[Disk, ...] = (disk(1), disk(2))
        self.looks = 0
        self.heard: tuple[Change, ...] = ()
        self.at_work = False

    def scan(self, held: object = None) -> tuple[Disk, ...]:
        self.looks += 1
        return self.disks

    def watch(self, *_: object) -> Iterator[tuple[Change, ...]]:
        yield ()
        while True:
            heard, self.heard = self.heard, ()
            yield heard


class Watched:
    """The stream, one second at a time."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.shown: list[DiskList] = []
        self._seconds = 0
        self._stream = disk_list.watch_disks(self._stopped)
        self.shown.append(next(self._stream))

    def _stopped(self) -> bool:
        """Asked once a second."""
        self._seconds -= 1
        self.server.now_s += 1
        return self._seconds < 0

    def go_on(self, seconds: int, *heard: Change) -> list[DiskList]:
        """What is shown in so many seconds, if this is heard at once. The stream ends with them."""
        self.server.heard, self._seconds = heard, seconds
        return list(self._stream)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(inventory, "scan", made.scan)
    monkeypatch.setattr(inventory, "watch", made.watch)
    monkeypatch.setattr(inventory, "boot_id", lambda: "boot")
    monkeypatch.setattr(disk_list.runs, "held_disks", dict)
    monkeypatch.setattr(disk_list.runs, "any_at_work", lambda: made.at_work)
    monkeypatch.setattr(disk_list.time, "monotonic", lambda: made.now_s)
    monkeypatch.setattr(disk_list, "_cpu_s", lambda: 0.0)
    monkeypatch.setattr(disk_list, "_newest", None)
    return made


def test_a_list_says_when_it_was_looked_at_and_when_the_next_look_follows(server: Server) -> None:
    first = Watched(server).shown[0]
    assert first.at.endswith("+00:00")
    assert (first.age_s, first.again_s) == (0.0, disk_list.AGAIN_S)


@pytest.mark.parametrize("change", [Change("use", "mounts"), Change("change", "nvme0n1"), Change("use", "runs")])
def test_a_look_follows_each_change(server: Server, change: Change) -> None:
    watched = Watched(server)
    server.disks = (disk(1, reasons=(MOUNTED,)), disk(2))
    shown = watched.go_on(10, change)
    assert [[d.free for d in found.disks] for found in shown] == [[False, True]]
    assert server.looks == 2


def test_a_disk_that_went_is_gone_before_the_others_are_looked_at(server: Server) -> None:
    watched = Watched(server)
    name = server.disks[0].name
    server.disks = (disk(2),)
    shown = watched.go_on(10, Change("remove", name))
    assert [len(found.disks) for found in shown] == [1, 1]
    assert server.looks == 2


def test_after_every_look_the_users_are_compared_with_those_that_it_saw(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a mount that a look saw and that is gone before the next cheap look would be shown until the next look."""
    told: list[object] = []

    def watch(*_: object) -> Iterator[tuple[Change, ...]]:
        told.append((yield ()))
        told.append((yield (Change("use", "mounts"),)))
        while True:
            told.append((yield ()))

    monkeypatch.setattr(inventory, "watch", watch)
    watched = Watched(server)
    watched.go_on(5)
    assert [bool(one) for one in told] == [True, False, False, True, False, False]


def test_without_any_change_there_is_a_look_every_so_often(server: Server) -> None:
    shown = Watched(server).go_on(100)
    assert len(shown) == 3
    assert server.looks == 4


def test_while_a_run_measures_there_are_fewer(server: Server) -> None:
    server.at_work = True
    watched = Watched(server)
    assert watched.shown[0].again_s == disk_list.AT_WORK_S
    assert watched.go_on(int(disk_list.AT_WORK_S) - 1) == []


def test_on_a_restless_server_looks_have_pauses_between_them(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def restless(*_: object) -> Iterator[tuple[Change, ...]]:
        yield ()
        while True:
            yield (Change("use", "mounts"),)

    monkeypatch.setattr(inventory, "watch", restless)
    watched = Watched(server)
    looks = server.looks
    watched.go_on(60)
    assert server.looks - looks <= 60 / disk_list._BETWEEN_S


def test_a_look_that_somebody_else_asked_for_is_shown_too(server: Server) -> None:
    watched = Watched(server)
    server.disks = (disk(1),)
    disk_list.look()
    (shown,) = watched.go_on(2)
    assert [d.id for d in shown.disks] == [disk(1).id]
    assert server.looks == 2


def test_previews_need_no_look_of_their_own_while_nothing_changes(server: Server) -> None:
    watched = Watched(server)
    watched.go_on(20)
    assert disk_list.recent() == server.disks
    assert server.looks == 1


def test_an_event_is_read_by_who_knows_nothing_of_its_age(server: Server) -> None:
    class Old(msgspec.Struct):
        schema: str
        host: str
        boot_id: str
        disks: tuple[Any, ...]

    assert len(msgspec.json.decode(msgspec.json.encode(Watched(server).shown[0]), type=Old).disks) == 2
