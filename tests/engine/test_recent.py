"""Previews at every keystroke do not look at every disk again, and still see soon what changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from test_planning import disk

from raidtui import inventory
from raidtui.engine import disk_list
from raidtui.model.disk import Disk


class Machine:
    """Disks that count how often they were looked at, and a clock."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.looks = 0
        self.disks: tuple[Disk, ...] = (disk(1),)
        self.looked = threading.Event()

    def scan(self, held: object = None) -> tuple[Disk, ...]:
        self.looks += 1
        self.looked.set()
        return self.disks


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    monkeypatch.setattr(inventory, "scan", made.scan)
    monkeypatch.setattr(disk_list.runs, "held_disks", dict)
    monkeypatch.setattr(disk_list.time, "monotonic", lambda: made.now_s)
    monkeypatch.setattr(disk_list, "_newest", None)
    yield made
    with disk_list._again:
        pass


def test_disks_that_were_just_seen_are_not_looked_at_again(machine: Machine) -> None:
    assert disk_list.recent() == (disk(1),)
    machine.now_s += disk_list.FRESH_S / 2
    disk_list.recent()
    assert machine.looks == 1


def test_a_list_that_somebody_asked_for_serves_previews_too(machine: Machine) -> None:
    disk_list.look()
    machine.disks = (disk(1), disk(2))
    disk_list.look()
    assert disk_list.recent() == (disk(1), disk(2))
    assert machine.looks == 2


def test_an_older_list_is_given_at_once_and_looked_at_again_meanwhile(machine: Machine) -> None:
    disk_list.recent()
    machine.disks, machine.now_s = (), machine.now_s + disk_list.FRESH_S
    machine.looked.clear()
    assert disk_list.recent() == (disk(1),)
    assert machine.looked.wait(10)
    with disk_list._again:
        pass
    assert disk_list.recent() == ()


def test_a_list_of_long_ago_is_not_given(machine: Machine) -> None:
    disk_list.recent()
    machine.disks, machine.now_s = (), machine.now_s + disk_list.STALE_S
    assert disk_list.recent() == ()


def test_who_asks_while_somebody_looks_gets_a_look_that_began_after_that(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more look serves all of them: none gets what was seen before he asked."""
    begun, go_on = threading.Event(), threading.Event()
    plain = machine.scan

    def slow(held: object = None) -> tuple[Disk, ...]:
        seen = plain()
        begun.set()
        assert go_on.wait(10)
        return seen

    monkeypatch.setattr(inventory, "scan", slow)
    first = threading.Thread(target=disk_list.look)
    first.start()
    assert begun.wait(10)
    machine.disks = (disk(1), disk(2))
    found: list[tuple[Disk, ...]] = []
    late = [threading.Thread(target=lambda: found.append(disk_list.look().disks)) for _ in range(3)]
    for one in late:
        one.start()
    time.sleep(0.2)  # all three wait for their turn
    go_on.set()
    for one in (first, *late):
        one.join(10)
    assert found == [(disk(1), disk(2))] * 3
    assert machine.looks == 2
