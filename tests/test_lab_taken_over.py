"""What somebody keeps on the disks of a run, in its gaps or after it died, is never taken away; while it runs, few can."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

HIS = "head -c 1048576 /dev/zero | tr '\\0' 'h'"
"""A megabyte that no tool knows for anything."""
KEPT = f"[ $({HIS} | sha256sum | cut -c1-64) = $(head -c 1048576 %s | sha256sum | cut -c1-64) ]"
LONG = {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "32MiB", "runtime": "300s"}}
STRIPED = {"lvm": {"type": "striped", "on": "@data"}}
RAID1 = {"md": {"level": "raid1", "on": "@data"}}
ON_MD = {"lvm": {"type": "linear", "on": RAID1}}
TAKEN_OVER = {
    "another group on its disks": (STRIPED, "$A,$B", "lvm vgcreate -An data $A $B --devices $A,$B"),
    "its disk in another group": (
        STRIPED, "$A,$B", "lvm vgcreate -An data $C --devices $C; lvm vgextend -An data $A --devices $A,$C"
    ),
    "another group on its array": (ON_MD, "$M", "lvm vgcreate -An data $M --devices $M"),
}  # fmt: skip
"""The run's layout, what its group is on, and what somebody does with that once the group is removed."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("taken", "3x1100M")
    try:
        yield lab
    finally:
        lab.down()


def killed(lab: Lab, tmp_path: Path, layout: dict[str, Any], disks: int) -> str:
    """A run that measures this layout, and is killed with its server's processes. Returns its name."""
    serials = ",".join(lab.serials[:disks])
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps({
        "schema": "raidtui.scenario/1", "name": "killed", "roles": {"data": {"count": disks}},
        "layouts": {"one": layout}, "workloads": {"write": LONG}, "policy": {"initial_sync": "skip-if-zeroed"},
    }))  # fmt: skip
    words = ("replay", str(path), "--bind", f"data={serials}", "--erase", serials)
    process, run = start_and_await(lab, "measure", *words)
    lab.run("pkill -KILL -f '__main__.py runner'; pkill -KILL -x fio; pkill -KILL -f '__main__.py engine'", check=False)
    process.communicate(timeout=60)
    lab.wait_for("! pgrep -x fio", 60)
    return run


def in_guest(lab: Lab, script: str) -> None:
    """As root, with the paths of the disks in A, B and C, and of the run's array in M."""
    names = zip("ABC", (lab.kernel_name(serial) for serial in lab.serials), strict=True)
    lab.run("set -e; " + "; ".join(f"{letter}=/dev/{name}" for letter, name in names if name)
            + "; M=$(ls -d /dev/md/rt* 2>/dev/null | head -1); " + script, 120)  # fmt: skip


def recover(lab: Lab, *words: str) -> tuple[int, list[str], str]:
    """Its exit code, the codes of what it could not do, and everything it printed."""
    ran = raidtui(lab, "recover", *words, "--json")
    found = json.loads(ran.stdout)["runs"]
    return ran.returncode, [problem["code"] for run in found for problem in run.get("problems", ())], ran.stdout


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=() if how == "its disk in another group" else pytest.mark.slow) for how in TAKEN_OVER]
)
def test_a_group_that_somebody_made_of_a_dead_runs_disks_is_not_touched(lab: Lab, tmp_path: Path, how: str) -> None:
    layout, ours, does = TAKEN_OVER[how]
    killed(lab, tmp_path, layout, 2)
    his = "--devices $A,$C" if "$C" in does else f"--devices {ours}"
    on = ours.partition(",")[0]
    in_guest(lab, f"vg=$(lvm vgs --noheadings -o vg_name --devices {ours} | tr -d ' '); "
                  f"lvm vgremove -y $vg --devices {ours}; {does}; lvm lvcreate -An -Wn -n mine -l 1 data {on} {his}; "
                  f"{HIS} | dd of=/dev/data/mine oflag=direct bs=1M; lvm vgchange -an data {his}")  # fmt: skip
    code, problems, said = recover(lab)
    assert (code, problems) == (6, ["lvm-foreign"]), said
    in_guest(lab, f"lvm vgchange -ay data {his}; {KEPT % '/dev/data/mine'}")
    in_guest(lab, f"lvm vgremove -y data {his}; blkdiscard -f -z $C")
    code, problems, said = recover(lab)
    assert (code, problems) == (0, []), said
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
def test_a_volume_that_a_crash_left_suspended_is_taken_away(lab: Lab, tmp_path: Path) -> None:
    killed(lab, tmp_path, STRIPED, 2)
    in_guest(lab, "dmsetup suspend $(basename /dev/mapper/rt*-volume)")
    began = time.monotonic()
    code, problems, said = recover(lab)
    assert (code, problems) == (0, []), said
    print(f"recovered in {time.monotonic() - began:.1f} s")
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
def test_a_filesystem_in_a_partition_of_an_idle_array_is_not_touched(lab: Lab, tmp_path: Path) -> None:
    killed(lab, tmp_path, {"zpool": {"vdevs": [{"stripe": RAID1}], "volume": {"size": "256MiB"}}}, 2)
    in_guest(lab, f"zpool destroy -f $(zpool list -H -o name); P=$(readlink -f $M)p1; mkfs.ext4 -qF -L his $P; "
                  f"mount $P /mnt; {HIS} > /mnt/file; umount /mnt")  # fmt: skip
    code, problems, said = recover(lab)
    assert (code, problems) == (6, ["leftover-foreign"]), said
    in_guest(lab, f"P=$(readlink -f $M)p1; mount $P /mnt; {KEPT % '/mnt/file'}; umount /mnt; wipefs -qa $P")
    code, problems, said = recover(lab)
    assert (code, problems) == (0, []), said
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
def test_a_filesystem_that_somebody_made_on_an_idle_array_is_not_touched(lab: Lab, tmp_path: Path) -> None:
    killed(lab, tmp_path, RAID1, 2)
    in_guest(lab, f"mkfs.ext4 -qF -L his $M; mount $M /mnt; {HIS} > /mnt/file; umount /mnt")
    code, problems, said = recover(lab)
    assert (code, problems) == (6, ["leftover-foreign"]), said
    assert "ext4 his" in said
    run = json.loads(said)["runs"][0]["run"]
    code, problems, said = recover(lab, run, "--without", ",".join(lab.serials[:2]))
    assert (code, problems) == (0, []), said
    in_guest(lab, f"mount $M /mnt; {KEPT % '/mnt/file'}; umount /mnt; mdadm --stop $M; "
                  "for d in $A $B; do mdadm --zero-superblock $d; blkdiscard -f -z $d; done")  # fmt: skip
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
def test_a_disk_that_recover_gave_back_is_not_taken_again_for_the_sake_of_another(lab: Lab, tmp_path: Path) -> None:
    killed(lab, tmp_path, RAID1, 3)
    lab.unplug(lab.serials[2])
    code, problems, said = recover(lab)
    assert (code, problems) == (6, ["disk-missing"]), said
    assert "made blank" in said
    in_guest(lab, f"{HIS} | dd of=$A oflag=direct bs=1M")
    lab.plug(lab.serials[2])
    code, problems, said = recover(lab)
    assert (code, problems) == (0, []), said
    assert lab.is_zero(lab.serials[2])
    in_guest(lab, f"{KEPT % '$A'}; blkdiscard -f -z $A")
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
def test_a_disk_that_is_gone_for_good_can_be_given_up(lab: Lab, tmp_path: Path) -> None:
    run = killed(lab, tmp_path, RAID1, 3)
    gone = lab.serials[2]
    lab.unplug(gone)
    assert recover(lab)[:2] == (6, ["disk-missing"])
    wrong = raidtui(lab, "recover", run, "--without", lab.serials[0])
    assert wrong.returncode == 2, wrong.stderr
    assert f"It left something on: {gone}" in wrong.stderr
    code, problems, said = recover(lab, run, "--without", gone)
    assert (code, problems) == (0, []), said
    lab.plug(gone)
    assert recover(lab)[2].count('"run":') == 0
    in_guest(lab, "mdadm --stop --scan; udevadm settle; mdadm --zero-superblock $C; blkdiscard -f -z $C")
    assert all(lab.is_zero(serial) for serial in lab.serials)


def test_a_disk_that_a_run_never_wrote_to_is_never_taken_for_its_own(lab: Lab, tmp_path: Path) -> None:
    first, second = lab.serials[:2]
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps({
        "schema": "raidtui.scenario/1", "name": "two", "roles": {"first": {"count": 1}, "second": {"count": 1}},
        "layouts": {"one": {"disk": {"on": "@first"}}, "two": {"disk": {"on": "@second"}}},
        "workloads": {"write": {"fio": {**LONG["fio"], "runtime": "10s"}}},
    }))  # fmt: skip
    words = ("replay", str(path), "--bind", f"first={first}", "--bind", f"second={second}", "--erase", f"{first},{second}")
    process, run = start_and_await(lab, "measure", *words)
    in_guest(lab, f"{HIS} | dd of=$B oflag=direct bs=1M")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 4, out + err
    assert "unknown-data" in err
    assert recover(lab)[0] == 0
    assert recover(lab, run)[0] == 0
    in_guest(lab, f"{KEPT % '$B'}; blkdiscard -f -z $B")
    assert all(lab.is_zero(serial) for serial in lab.serials)


EXT4 = "truncate -s 64M /tmp/his; mkfs.ext4 -qFL his /tmp/his; dd if=/tmp/his of=%s bs=1M count=1 oflag=direct"
EXT4_KEPT = "cmp -n 1048576 /tmp/his %s"
BTRFS = (
    "truncate -s 256M /tmp/hers; mkfs.btrfs -qf /tmp/hers; dd if=/tmp/hers of=%s bs=4k skip=16 seek=16 count=1 oflag=direct"
)
BTRFS_KEPT = "cmp -n 4096 -i 65536 /tmp/hers %s"
"""A superblock of btrfs lies where md, LVM and a partition table have nothing."""


def short(lab: Lab, tmp_path: Path, layout: dict[str, Any], disks: int, seconds: int) -> tuple[str, ...]:
    """The words that replay this layout on so many disks."""
    serials = ",".join(lab.serials[:disks])
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps({
        "schema": "raidtui.scenario/1", "name": "short", "roles": {"data": {"count": disks}}, "layouts": {"one": layout},
        "workloads": {"write": {"fio": {**LONG["fio"], "runtime": f"{seconds}s"}}},
        "policy": {"initial_sync": "skip-if-zeroed"},
    }))  # fmt: skip
    return "replay", str(path), "--bind", f"data={serials}", "--erase", serials


@pytest.mark.slow
def test_a_disk_is_nobody_elses_while_another_is_measured_and_what_dd_puts_there_is_kept(lab: Lab, tmp_path: Path) -> None:
    words = short(lab, tmp_path, {"disk": {"on": "@data", "mode": "each"}}, 3, 10)
    process, run = start_and_await(lab, "measure", *words)
    in_guest(lab, EXT4 % "$C")
    in_guest(lab, """
        for claim in "mkfs.ext4 -qF $C" "wipefs -a $C" "lvm pvcreate -y --devices $C $C" "zpool create -f his $C" \\
                "mdadm --create /dev/md/his --run --level=1 --raid-devices=2 missing $C"; do
            if $claim > /tmp/said 2>&1; then echo "$claim was done"; exit 9; fi
            grep -qEi 'busy|in use|exclusively' /tmp/said || { echo "$claim:"; cat /tmp/said; exit 8; }
        done""")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 5, out + err
    assert "disk-taken" in err
    in_guest(lab, EXT4_KEPT % "$C")
    assert [lab.is_zero(serial) for serial in lab.serials] == [True, True, False]
    assert recover(lab, run)[0] == 0
    in_guest(lab, f"{EXT4_KEPT % '$C'}; blkdiscard -f -z $C")


@pytest.mark.parametrize(
    "layout",
    [
        RAID1,
        pytest.param(STRIPED, marks=pytest.mark.slow),
        pytest.param({"zpool": {"vdevs": [{"mirror": "@data"}], "volume": {"size": "256MiB"}}}, marks=pytest.mark.slow),
    ],
    ids=["md", "lvm", "zfs"],
)
def test_what_somebody_put_on_a_member_is_kept_when_its_layer_is_taken_away(
    lab: Lab, tmp_path: Path, layout: dict[str, Any]
) -> None:
    first, second = lab.serials[:2]
    process, run = start_and_await(lab, "measure", *short(lab, tmp_path, layout, 2, 5))
    in_guest(lab, BTRFS % "$A")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 6, out + err
    assert "disk-taken" in err
    assert lab.is_zero(second)
    assert recover(lab, run, "--without", first)[:2] == (0, [])
    in_guest(lab, f"{BTRFS_KEPT % '$A'}; blkdiscard -f -z $A; blockdev --rereadpt $A")
    assert lab.is_zero(first)


@pytest.mark.slow
def test_a_disk_that_is_somebody_elses_keeps_no_other_from_being_given_back(lab: Lab, tmp_path: Path) -> None:
    run = killed(lab, tmp_path, {"disk": {"on": "@data", "mode": "together"}}, 3)
    in_guest(lab, f"mkfs.ext4 -qF -L his $B; mount $B /mnt; {HIS} > /mnt/file")
    code, _, said = recover(lab)
    found = json.loads(said)["runs"][0]
    outcomes = {disk["disk"]: disk["outcome"] for disk in found["disks"]}
    assert (code, outcomes) == (6, dict(zip(lab.serials, ("blank", "left", "blank"), strict=True))), said
    assert {problem["place"] for problem in found["problems"]} == {lab.serials[1]}
    assert any(f"--without {lab.serials[1]}" in problem["remedy"] for problem in found["problems"])
    assert [lab.is_zero(serial) for serial in lab.serials] == [True, False, True]
    in_guest(lab, f"{KEPT % '/mnt/file'}; umount /mnt")
    assert recover(lab, run, "--without", lab.serials[1])[:2] == (0, [])
    in_guest(lab, f"mount $B /mnt; {KEPT % '/mnt/file'}; umount /mnt; blkdiscard -f -z $B")
    assert all(lab.is_zero(serial) for serial in lab.serials)
