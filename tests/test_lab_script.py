"""Scripts of `raidtui plan --as bash` build their layouts on a real kernel, and refuse disks that are not blank."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab_runs import raidtui
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LAYOUTS: dict[str, Any] = {
    "raid10-xfs": {"filesystem": {"type": "xfs", "on": {"md": {"level": "raid10", "on": "@data", "chunk": "64KiB"}}}},
    "lvm-raid5": {"lvm": {"type": "raid5", "on": "@data", "stripe_size": "64KiB"}},
    "raidz2": {"zpool": {"vdevs": [{"raidz2": "@data"}], "properties": {"ashift": 12},
                         "dataset": {"properties": {"compression": "lz4", "atime": "off"}}}},
}  # fmt: skip
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "for-good",
    "roles": {"data": {"count": 6}},
    "layouts": LAYOUTS,
    "workloads": {"w": {"fio": {"rw": "write", "bs": "1MiB", "runtime": "3s", "filesize": "64MiB"}}},
}
FOUND = {
    "raid10-xfs": ("findmnt -no FSTYPE /srv/data; cat /sys/block/md*/md/level; grep -c /srv/data /etc/fstab; "
                   "grep -c /dev/md/data /etc/mdadm/mdadm.conf", ["xfs", "raid10", "1", "1"]),
    "lvm-raid5": ("lvm lvs --noheadings -o segtype,data_stripes data/volume", ["raid5 5"]),
    "raidz2": ("zpool list -Ho health data; zpool status data | grep -c -- -part1; zfs get -Ho value mountpoint data/fs; "
               "findmnt -no FSTYPE /srv/data", ["ONLINE", "6", "/srv/data", "zfs"]),
}  # fmt: skip
UNDO = {
    "raid10-xfs": "umount /srv/data; mdadm --stop /dev/md/data; sed -i '\\#/srv/data#d' /etc/fstab; "
                  "sed -i '\\#/dev/md/data#d' /etc/mdadm/mdadm.conf",
    "lvm-raid5": "lvm vgremove -qqy data",
    "raidz2": "zpool destroy data",
}  # fmt: skip
BLANK = "for disk in {disks}; do sgdisk -Z $disk > /dev/null; wipefs -qa $disk; blkdiscard -f $disk; done; udevadm settle"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_printed_script_builds_the_layout_and_refuses_to_do_it_twice(lab: Lab, layout: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCENARIO))
    printed = raidtui(lab, "plan", str(tmp_path / "s.json"), "--layout", layout, "--as", "bash")
    assert printed.returncode == 0, printed.stderr
    disks = " ".join(f"/dev/{lab.kernel_name(serial)}" for serial in lab.serials)
    try:
        built = _run(lab, printed.stdout)
        assert built.returncode == 0, built.stderr + built.stdout
        command, lines = FOUND[layout]
        assert [" ".join(line.split()) for line in lab.run(command, 120.0).text.splitlines()] == lines
        again = _run(lab, printed.stdout)
        assert again.returncode == 1
        assert "error: /dev/disk/by-id/" in again.stderr
    finally:
        lab.run(UNDO[layout], 240.0, check=False)
        lab.run(BLANK.format(disks=disks), 240.0)


def _run(lab: Lab, script: str) -> subprocess.CompletedProcess[str]:
    ran = lab.run("bash -s", 600.0, input_bytes=script.encode(), check=False)
    return subprocess.CompletedProcess((), ran.code, ran.out.decode(), ran.err.decode())
