"""Who has a disk open, read from a folder like /proc."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from raidtui.inventory.openers import read_openers

DISK = os.makedev(259, 7)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    node = tmp_path / "disk"
    try:
        os.mknod(node, 0o600 | stat.S_IFBLK, DISK)
    except PermissionError:
        pytest.skip("only root makes device nodes")
    return node


def process(proc: Path, pid: int, exe: str, parent: int, node: Path | None = None) -> Path:
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "exe").symlink_to(exe)
    (folder / "comm").write_text(f"{Path(exe).name}\n")
    (folder / "stat").write_text(f"{pid} (a) name) S {parent} 1 1 0")
    if node is not None:
        (folder / "fd" / "3").symlink_to(node)
    return folder


def test_a_program_that_has_a_disk_open_is_named(tmp_path: Path, disk: Path) -> None:
    process(tmp_path / "proc", 10, "/usr/bin/qemu", 1, disk)
    (opener,) = read_openers(tmp_path / "proc")[DISK]
    assert opener.pid == 10


def test_udev_itself_is_not(tmp_path: Path, disk: Path) -> None:
    process(tmp_path / "proc", 10, "/usr/lib/systemd/systemd-udevd", 1, disk)
    assert read_openers(tmp_path / "proc") == {}


def test_a_program_of_udevs_is_waited_for(tmp_path: Path, disk: Path) -> None:
    process(tmp_path / "proc", 10, "/usr/lib/systemd/systemd-udevd", 1)
    probe = process(tmp_path / "proc", 11, "/usr/lib/udev/probe-bcache", 10, disk)
    assert read_openers(tmp_path / "proc", patience_s=0.0)[DISK][0].pid == 11
    timer = threading.Timer(0.3, (probe / "fd" / "3").unlink)
    timer.start()
    assert read_openers(tmp_path / "proc", patience_s=60.0) == {}
    timer.join()


def test_a_program_that_looks_at_disks_is_waited_for(tmp_path: Path, disk: Path) -> None:
    looker = process(tmp_path / "proc", 11, "/usr/sbin/lvm", 1, disk)
    timer = threading.Timer(0.3, (looker / "fd" / "3").unlink)
    timer.start()
    assert read_openers(tmp_path / "proc", patience_s=60.0) == {}
    timer.join()


def test_a_program_that_only_seems_to_look_is_told_in_the_end(tmp_path: Path, disk: Path) -> None:
    process(tmp_path / "proc", 11, "/usr/sbin/smartctl", 1, disk)
    assert [o.pid for o in read_openers(tmp_path / "proc", patience_s=0.5)[DISK]] == [11]


def test_lookers_that_take_turns_are_no_users(tmp_path: Path, disk: Path) -> None:
    """A monitoring script that asks every disk in turn never leaves a moment without one."""
    first = process(tmp_path / "proc", 11, "/usr/sbin/smartctl", 1, disk)

    def next_turn() -> None:
        process(tmp_path / "proc", 12, "/usr/sbin/smartctl", 1, disk)
        (first / "fd" / "3").unlink()

    timer = threading.Timer(0.3, next_turn)
    timer.start()
    assert read_openers(tmp_path / "proc", patience_s=60.0) == {}
    timer.join()


def test_one_looker_that_goes_from_disk_to_disk_is_no_user(tmp_path: Path, disk: Path) -> None:
    looker = process(tmp_path / "proc", 11, "/usr/sbin/smartd", 1, disk)
    other = tmp_path / "other"
    os.mknod(other, 0o600 | stat.S_IFBLK, DISK + 1)

    def next_disk() -> None:
        (looker / "fd" / "4").symlink_to(other)
        (looker / "fd" / "3").unlink()

    timer = threading.Timer(0.3, next_disk)
    timer.start()
    assert read_openers(tmp_path / "proc", patience_s=60.0) == {}
    timer.join()


def test_a_user_is_told_while_lookers_come_and_go(tmp_path: Path, disk: Path) -> None:
    process(tmp_path / "proc", 10, "/usr/bin/qemu", 1, disk)
    looker = process(tmp_path / "proc", 11, "/usr/sbin/lvm", 1, disk)
    timer = threading.Timer(0.3, (looker / "fd" / "3").unlink)
    timer.start()
    assert [o.pid for o in read_openers(tmp_path / "proc", patience_s=60.0)[DISK]] == [10]
    timer.join()


def command_line(folder: Path, *words: str) -> None:
    (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")


def test_a_tool_of_raidtuis_own_is_no_user_even_where_it_cannot_be_ended(tmp_path: Path, disk: Path) -> None:
    proc = tmp_path / "proc"
    process(proc, 11, "/usr/sbin/lvm", os.getpid(), disk)
    engine = process(proc, 20, "/usr/bin/python3.13", 1)
    command_line(engine, "/usr/bin/python3", "-I", "/opt/raidtui/raidtui/__main__.py", "engine")
    process(proc, 21, "/usr/bin/timeout", 20)
    process(proc, 22, "/usr/sbin/zpool", 21, disk)
    assert read_openers(proc, patience_s=60.0) == {}


def test_what_a_run_of_raidtuis_does_to_a_disk_is_told(tmp_path: Path, disk: Path) -> None:
    proc = tmp_path / "proc"
    process(proc, 11, "/usr/bin/fio", os.getpid(), disk)
    assert [o.pid for o in read_openers(proc)[DISK]] == [11]


def test_an_ordinary_users_program_of_such_a_name_is_told_at_once(tmp_path: Path, disk: Path) -> None:
    folder = process(tmp_path / "proc", 11, "/home/u/lvm", 1, disk)
    os.chown(folder, 1000, 1000)
    assert [o.pid for o in read_openers(tmp_path / "proc", patience_s=60.0)[DISK]] == [11]
