"""Mounts as the kernel lists them: ids, options, and nothing taken for what it is not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from raidtui.inventory.mounts import parse_mountinfo
from raidtui.model.problem import ProblemError
from raidtui.stack import mounts

LINES = r"""27 1 254:0 / / rw,noatime shared:1 - ext4 /dev/vda rw,errors=remount-ro
90 31 9:127 / /run/raidtui/mnt/rtabca rw,nosuid,nodev,noexec,noatime - xfs /dev/md127 rw,attr2,inode64,sunit=128
91 31 0:45 / /run/with\040blank rw - btrfs /dev/nvme0n1 rw,compress=zstd:3,subvol=/
"""


def test_a_line_is_read_with_its_id_and_both_kinds_of_options() -> None:
    root, xfs, btrfs = parse_mountinfo(LINES)
    assert (xfs.id, xfs.devno, xfs.point, xfs.kind) == (90, os.makedev(9, 127), "/run/raidtui/mnt/rtabca", "xfs")
    assert {"nosuid", "nodev", "noexec", "sunit=128"} <= set(xfs.options)
    assert btrfs.point == "/run/with blank"
    assert root.source == "/dev/vda"


def test_a_name_with_another_kind_of_line_break_is_one_mount() -> None:
    (mount,) = parse_mountinfo("27 1 254:0 / /srv/a\x0cb\u2028c rw - ext4 /dev/vda rw\n")
    assert mount.point == "/srv/a\x0cb\u2028c"


@pytest.mark.parametrize("line", ["27 1 254:0 / /", "27 1 254:0 / / rw ext4 /dev/vda rw", "a - b"])
def test_what_is_no_line_is_not_passed_over(line: str) -> None:
    with pytest.raises(ValueError, match="not a mountinfo line"):
        parse_mountinfo(line)


def test_a_folder_that_is_no_mount_is_not_taken_for_one(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as error:
        mounts.open_root(str(tmp_path))
    assert error.value.problems[0].code == "mount"
    with pytest.raises(ProblemError):
        mounts.open_root(str(tmp_path / "none"))
    (tmp_path / "link").symlink_to("/proc")
    with pytest.raises(ProblemError):
        mounts.open_root(str(tmp_path / "link"))


def test_what_is_mounted_is_recognised_by_its_id() -> None:
    root = mounts.open_root("/proc")
    try:
        assert mounts.insist(root, "/proc").kind == "proc"
        with pytest.raises(ProblemError):
            mounts.insist(root, "/dev")
    finally:
        os.close(root)


def test_users_of_a_mount_are_named(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "600"], cwd=tmp_path)
    try:
        (user,) = mounts.users_of(str(tmp_path))
        assert user == f"pid {process.pid} (sleep) works in it"
    finally:
        process.kill()
        process.wait()
