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
