"""A cheap look tells who began or ceased to use a disk, in folders like /proc and /sys."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from raidtui.inventory.waiting import pause_s
from raidtui.inventory.watch import Glance, glance

watch = sys.modules["raidtui.inventory.watch"]  # the package has a function of the same name

OWN = """22 27 0:21 / /proc rw - proc proc rw
27 1 254:1 / / rw shared:1 - ext4 /dev/vda1 rw
"""
MDSTAT = """Personalities : [raid1]
md0 : active raid1 sdc[1] sdb[0]
      1046528 blocks super 1.2 [2/2] [UU]
      [==>..................]  resync = 12.6% (131328/1046528) finish=0.5min speed=26265K/sec
unused devices: <none>
"""


class Machine(NamedTuple):
    proc: Path
    sys: Path

    def write(self, name: str, text: str) -> None:
        path = self.proc.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def process(self, pid: int, namespace: str, mounts: str = "") -> None:
        folder = self.proc / str(pid) / "ns"
        folder.mkdir(parents=True)
        (folder / "mnt").symlink_to(f"mnt:[{namespace}]")
        (self.proc / str(pid) / "mountinfo").write_text(mounts)

    def look(self) -> Glance:
        return glance(self.proc, self.sys)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "proc", tmp_path / "sys")
    made.process(1, "1", OWN)
    (made.proc / "self").symlink_to("1")
    made.write("proc/swaps", "Filename Type Size Used Priority\n/dev/vda2 partition 1048572 0 -2\n")
    made.write("proc/mdstat", MDSTAT)
    for disk in ("sda", "sdb", "sdc"):
        made.write(f"sys/class/block/{disk}/dev", "8:0")
    for name in ("md0/slaves/sdb", "md0/slaves/sdc", "dm-0/slaves/md0", "loop0/slaves"):
        (made.sys / "devices/virtual/block" / name).mkdir(parents=True)
    made.write("sys/devices/virtual/block/dm-0/dm/name", "vg-lv")
    return made


def changed(machine: Machine, change: Callable[[], object]) -> list[str]:
    """Parts that differ after the change."""
    before = machine.look()
    assert machine.look() == before
    change()
    now = machine.look()
    return [name for name, one, other in zip(Glance._fields, before, now, strict=True) if one != other]


def mount(devno: str, point: str, kind: str = "ext4", source: str = "/dev/sda") -> str:
    return f"40 27 {devno} / {point} rw - {kind} {source} rw\n"


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("mounts", lambda m: m.write("proc/1/mountinfo", OWN + mount("8:0", "/srv"))),
        ("mounts", lambda m: m.write("proc/1/mountinfo", OWN + mount("0:44", "/srv", "btrfs", "/dev/sda"))),
        ("mounts", lambda m: m.write("proc/1/mountinfo", OWN + mount("0:45", "/tank", "zfs", "tank/data"))),
        ("foreign_mounts", lambda m: m.process(812, "2", OWN + mount("8:0", "/srv"))),
        ("swaps", lambda m: m.write("proc/swaps", "Filename Type Size Used Priority\n")),
        ("arrays", lambda m: m.write("proc/mdstat", MDSTAT.replace("sdb[0]", "sdb[0](F)"))),
        ("arrays", lambda m: (m.proc / "mdstat").unlink()),
        ("devices", lambda m: m.write("sys/class/block/sdd/dev", "8:48")),
        ("stacked", lambda m: (m.sys / "devices/virtual/block/md0/slaves/sdb").rmdir()),
        ("stacked", lambda m: m.write("sys/devices/virtual/block/dm-0/dm/name", "vg-other")),
        ("stacked", lambda m: m.write("sys/devices/virtual/block/loop0/loop/backing_file", "/srv/image")),
        ("filesystems", lambda m: (m.sys / "fs/btrfs/1-2/devices/sda").mkdir(parents=True)),
        ("filesystems", lambda m: (m.sys / "fs/bcache/1-2").mkdir(parents=True)),
        ("filesystems", lambda m: (m.proc / "spl/kstat/zfs/tank").mkdir(parents=True)),
        ("shares", lambda m: m.write("sys/kernel/config/target/core/iblock_0/one/udev_path", "/dev/sda\n")),
    ],
)  # fmt: skip
def test_who_begins_or_ceases_to_use_a_disk_is_a_change(
    machine: Machine, part: str, change: Callable[[Machine], object]
) -> None:
    assert changed(machine, lambda: change(machine)) == [part]


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.write("proc/mdstat", MDSTAT.replace("12.6%", "12.9%")),
        lambda m: m.write("proc/swaps", "Filename Type Size Used Priority\n/dev/vda2 partition 1048572 4096 -2\n"),
        lambda m: m.write("proc/1/mountinfo", OWN + mount("0:60", "/run/user/0", "tmpfs", "tmpfs")),
        lambda m: m.process(900, "1", OWN),
        lambda m: m.process(901, "3", OWN.replace("/proc", "/elsewhere")),
        lambda m: (m.proc / "902").mkdir(),
    ],
    ids=["resync", "swapping", "tmpfs", "process", "namespace-without-other-disks", "process-that-ends"],
)
def test_what_merely_progresses_is_none(machine: Machine, change: Callable[[Machine], object]) -> None:
    machine.process(800, "2", OWN)
    assert changed(machine, lambda: change(machine)) == []


def test_a_container_like_others_changes_nothing_and_its_last_mount_does(machine: Machine) -> None:
    machine.process(800, "2", mount("8:0", "/data"))
    assert changed(machine, lambda: machine.process(801, "3", mount("8:0", "/data"))) == []
    assert changed(machine, lambda: shutil.rmtree(machine.proc / "800")) == []
    assert changed(machine, lambda: shutil.rmtree(machine.proc / "801")) == ["foreign_mounts"]


def test_a_source_that_can_no_longer_be_read_is_a_change(machine: Machine) -> None:
    assert changed(machine, lambda: (machine.proc / "swaps").unlink()) == ["swaps"]


def test_a_machine_without_arrays_and_virtual_devices_is_looked_at(tmp_path: Path) -> None:
    bare = Machine(tmp_path / "proc", tmp_path / "sys")
    bare.process(1, "1")
    (bare.proc / "self").symlink_to("1")
    bare.write("proc/swaps", "Filename Type Size Used Priority\n")
    (bare.sys / "class/block").mkdir(parents=True)
    assert set(bare.look()) == {frozenset()}


def test_what_costs_much_is_done_more_rarely() -> None:
    assert pause_s(0.0, share=0.001, least_s=1.0) == 1.0
    assert pause_s(1e6, share=0.001, least_s=1.0) > 1e6


class Server:
    """What a watch looks at, and how far its clock is."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.glance = Glance(*[frozenset()] * len(Glance._fields))
        self.openers: dict[int, object] = {}
        self.runs: object = ()
        self.busy = False
        self.looks = 0

    def take(self) -> Glance:
        self.looks += 1
        return self.glance


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(watch, "glance", made.take)
    monkeypatch.setattr(watch, "_openers", lambda: made.openers)
    monkeypatch.setattr(watch.Pace, "due", property(lambda self: made.now_s >= self._due))
    monkeypatch.setattr(watch.Pace, "done", lambda self, cpu_s: setattr(self, "_due", made.now_s + self._least_s))
    return made


def test_each_change_of_users_is_told_once_and_by_name(server: Server) -> None:
    users = watch._Users(lambda: server.runs, lambda: server.busy)
    assert users.changes() == ()
    for change, told in (
        (lambda: setattr(server, "glance", server.glance._replace(swaps=frozenset({("/dev/sda",)}))), "swaps"),
        (lambda: setattr(server, "runs", ("one",)), "runs"),
        (lambda: setattr(server, "openers", {7: [812]}), "open files"),
    ):
        change()
        server.now_s += 10
        assert users.changes() == (watch.Change("use", told),)
        server.now_s += 10
        assert users.changes() == ()


def test_between_two_looks_nothing_is_read(server: Server) -> None:
    users = watch._Users(lambda: server.runs, lambda: server.busy)
    users.changes()
    users.changes()
    assert server.looks == 1


def test_after_a_scan_users_are_looked_at_at_once(server: Server) -> None:
    users = watch._Users(lambda: server.runs, lambda: server.busy)
    users.changes()
    server.runs, server.openers = ("one",), {7: [812]}
    assert users.changes() == ()
    assert users.changes(at_once=True) == (watch.Change("use", "runs"),), "open files cost more: they have time"


def test_while_a_run_measures_open_files_are_left_alone(server: Server) -> None:
    users = watch._Users(lambda: server.runs, lambda: server.busy)
    users.changes()
    server.busy, server.openers = True, {7: [812]}
    server.now_s += 10
    assert users.changes() == ()
    server.busy = False
    server.now_s += 10
    assert users.changes() == (watch.Change("use", "open files"),)


def test_open_files_that_are_not_to_be_seen_end_no_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: object) -> object:
        raise PermissionError(13, "Permission denied", "/proc/1/maps")

    monkeypatch.setattr(watch, "read_openers", refused)
    assert watch._openers() is None
