"""`raidtui build` keeps what it built, also when a recovery follows; a build that is killed before is undone."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

LAYOUTS: dict[str, Any] = {
    "raid6-xfs": {"filesystem": {"type": "xfs", "on": {"md": {"level": "raid6", "on": "@data", "chunk": "64KiB"}}}},
    "raid5-ext4": {"filesystem": {"type": "ext4", "on": {"lvm": {"type": "raid5", "on": "@data", "size": "50%"}}}},
    "raidz2": {"zpool": {"vdevs": [{"raidz2": "@data"}], "dataset": {"properties": {"compression": "lz4"}}}},
    "btrfs": {"filesystem": {"type": "btrfs", "on": "@data", "subvolume": "home"}},
    "zvol": {"zpool": {"vdevs": [{"mirror": ["@data"]}], "volume": {"size": "50%"}}},
    "mirror": {"md": {"level": "raid1", "on": {"partition": {"on": "@data", "use": "60%"}}}},
    "linear": {"lvm": {"type": "linear", "on": "@data", "size": "50%"}},
    "xfs": {"filesystem": {"type": "xfs", "on": {"lvm": {"type": "linear", "on": "@data", "size": "50%"}}}},
}  # fmt: skip
EVERYDAY = ("raid6-xfs",)
ALIKE = {"raid6-xfs": "mirror", "mirror": "mirror", "raidz2": "zvol", "zvol": "zvol", "raid5-ext4": "linear",
         "btrfs": "xfs"}  # fmt: skip
"""A layout of two disks that wants the same name, or the same mount point."""
IDENTITY = {
    "raid6-xfs": ("cat /sys/block/$(basename $(readlink -f /dev/md/tank))/md/level", "raid6"),
    "raid5-ext4": ("lvm vgs --noheadings -o vg_autoactivation tank", "enabled"),
    "raidz2": ("zpool get -Ho value cachefile,failmode tank | paste -sd' '; zpool list -vHP tank | grep -c disk/by-id/",
               "- wait\n4"),
    "btrfs": ("findmnt -no OPTIONS /srv/tank | grep -o subvol=/home", "subvol=/home"),
    "zvol": ("zfs get -Ho value volsize tank/vol | tr -dc '[:digit:]' | head -c 1 | wc -c", "1"),
    "mirror": ("cat /sys/block/$(basename $(readlink -f /dev/md/tank))/md/level", "raid1"),
}
UNDO = (
    "mountpoint -q /srv/tank && umount /srv/tank; zpool destroy tank 2>/dev/null; lvm vgremove -qqy tank 2>/dev/null; "
    "mdadm --stop /dev/md/tank 2>/dev/null; rmdir /srv/tank 2>/dev/null; for disk in {disks}; do "
    "for part in $disk[p]?[0-9]*; do [ -b $part ] && wipefs -qa $part; done; sgdisk -Z $disk > /dev/null 2>&1; "
    "wipefs -qa $disk; blkdiscard -f $disk; done; udevadm settle; true"
)


def scenario(tmp_path: Path, layout: str, disks: int) -> str:
    path = tmp_path / f"{layout}.json"
    workloads = {"w": {"fio": {"rw": "randread", "bs": "4KiB", "runtime": "3s"}}}
    path.write_text(json.dumps({"schema": "raidtui.scenario/1", "name": "kept", "roles": {"data": {"count": disks}},
                                "layouts": {layout: LAYOUTS[layout]}, "workloads": workloads}))  # fmt: skip
    return str(path)


def asked(lab: Lab, tmp_path: Path, layout: str, serials: list[str]) -> list[str]:
    named = ",".join(serials)
    return ["build", scenario(tmp_path, layout, len(serials)), "--name", "tank", "--bind", f"data={named}",
            "--erase", named]  # fmt: skip


def undo(lab: Lab, serials: list[str]) -> None:
    lab.run(UNDO.format(disks=" ".join(f"/dev/{lab.kernel_name(serial)}" for serial in serials)), 240.0)


ALL = [pytest.param(one, marks=[] if one in EVERYDAY else pytest.mark.slow) for one in IDENTITY]


@pytest.mark.parametrize("layout", ALL)
def test_it_stays_and_nothing_takes_it_away(lab: Lab, tmp_path: Path, layout: str) -> None:
    count = 2 if layout == "mirror" else 4
    serials, others = list(lab.serials[:count]), list(lab.serials[count:])
    try:
        built = raidtui(lab, *asked(lab, tmp_path, layout, serials))
        assert built.returncode == 0, built.stderr + built.stdout
        assert "Kept     /" in built.stdout
        command, found = IDENTITY[layout]
        assert lab.run(command, 60.0).text.strip() == found
        if has_files := layout not in ("zvol", "mirror"):
            lab.run("test $(findmnt -no FSTYPE /srv/tank) && echo kept > /srv/tank/home && sync", 60.0)
        # A recovery of everything has nothing to do, and the disks are somebody's now.
        assert raidtui(lab, "recover").returncode == 0
        told = json.loads(raidtui(lab, "disks", "--json").stdout)["disks"]
        assert all(disk["reasons"] for disk in told if disk["id"] in serials)
        if has_files:
            assert lab.run("cat /srv/tank/home", 60.0).text == "kept\n"
        again = raidtui(lab, *asked(lab, tmp_path, ALIKE[layout], others[:2]))
        assert again.returncode == 3, again.stderr
        assert "name-taken" in again.stderr or "mount-taken" in again.stderr
        assert all(lab.is_zero(serial) for serial in others)
    finally:
        undo(lab, lab.serials)


@pytest.mark.slow
def test_a_build_that_is_killed_is_undone(lab: Lab, tmp_path: Path) -> None:
    serials = list(lab.serials[:4])
    process, run = start_and_await(lab, "fs.make", *asked(lab, tmp_path, "raid6-xfs", serials))
    lab.run(f"kill -9 $(cat /var/lib/raidtui/runs/{run}/runner.lock)")
    process.communicate(timeout=120)
    recovered = raidtui(lab, "recover", run)
    assert recovered.returncode == 0, recovered.stderr
    assert all(lab.is_zero(serial) for serial in serials)


@pytest.mark.slow
def test_what_is_kept_survives_a_kill_before_the_run_has_ended(lab: Lab, tmp_path: Path) -> None:
    serials = list(lab.serials[:4])
    kill = (
        "before=$(ls /var/lib/raidtui/runs | tail -1); until cd /var/lib/raidtui/runs; do sleep 0.02; done; "
        "until run=$(ls | tail -1); [ x$run != x$before ] && "
        "grep -q '\"outcome\":\"kept\"' $run/journal.jsonl; do sleep 0.02; done; kill -9 $(cat $run/runner.lock)"
    )
    try:
        lab.run(f"setsid sh -c {shlex.quote(kill)} < /dev/null > /dev/null 2>&1 &")
        built = raidtui(lab, *asked(lab, tmp_path, "raid6-xfs", serials))
        assert built.returncode == 5, built.stderr + built.stdout
        assert "kept-half" in built.stderr
        assert raidtui(lab, "recover").returncode == 0
        assert lab.run(IDENTITY["raid6-xfs"][0]).text == "raid6\n"
        assert lab.run("blkid -o value -s TYPE /dev/md/tank").text == "xfs\n"
    finally:
        undo(lab, lab.serials)
