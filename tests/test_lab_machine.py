"""A lab, for real: what comes up, what can be done to it, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab_harness import MakeLab
from raidtui.lab import life, ssh
from raidtui.lab.control import Lab
from raidtui.lab.disks import DiskSpec, parse_spec
from raidtui.lab.state import LabFiles
from raidtui.model.problem import ProblemError

pytestmark = pytest.mark.lab

GIB = 1 << 30


def names_in_order_of_serials(lab: Lab) -> list[str]:
    return [name for serial in lab.serials if (name := lab.kernel_name(serial)) is not None]


def test_disks_of_every_kind_come_up_as_asked_and_under_names_that_do_not_follow_serials(make_lab: MakeLab) -> None:
    lab = make_lab("4x8G,1x2G:nvme@4096,2x16G:hdd,2x4G:ssd")
    columns = "NAME,SERIAL,SIZE,ROTA,LOG-SEC,DISC-GRAN,WWN"
    listed = json.loads(lab.run(f"lsblk -Jbdo {columns}").text)["blockdevices"]
    seen = {disk["serial"]: disk for disk in listed}
    for disk in lab.state.disks:
        found = seen[disk.serial]
        assert found["size"] == disk.spec.size_bytes
        assert found["rota"] == (disk.spec.kind == "hdd")
        assert found["log-sec"] == disk.spec.sector_bytes
        assert (found["disc-gran"] == 0) == (disk.spec.kind == "hdd")
    assert len({disk["wwn"] for disk in listed if disk["wwn"]}) == 9
    nvme = [name for name in names_in_order_of_serials(lab) if name.startswith("nvme")]
    assert len(nvme) == 5
    assert nvme != sorted(nvme)


def test_an_unplugged_disk_is_gone_and_comes_back_with_what_it_held(lab: Lab) -> None:
    serial = lab.serials[0]
    lab.run(f"echo data | dd of=/dev/{lab.kernel_name(serial)} bs=4k count=1 conv=sync,fsync status=none")
    before = lab.disk_hash(serial)
    lab.unplug(serial)
    assert lab.kernel_name(serial) is None
    lab.plug(serial)
    lab.wait_for(f"grep -q {serial} /sys/class/nvme/nvme*/serial && udevadm settle")
    name = lab.kernel_name(serial)
    assert lab.run(f"head -c 4 /dev/{name}").text == "data"
    assert lab.disk_hash(serial) == before
    assert not lab.is_zero(serial)
    lab.run(f"blkdiscard /dev/{name}")
    assert lab.is_zero(serial)


def test_disks_plugged_in_the_other_order_swap_their_names(make_lab: MakeLab) -> None:
    lab = make_lab("2x1G")
    first, second = lab.serials
    before = lab.kernel_name(first), lab.kernel_name(second)
    lab.unplug(first)
    lab.unplug(second)
    earlier = first if before[0] != "nvme0n1" else second
    lab.plug(earlier)
    lab.wait_for(f"grep -q {earlier} /sys/class/nvme/nvme*/serial")
    lab.plug(second if earlier == first else first)
    lab.wait_for("[ $(ls -d /sys/block/nvme* | wc -l) = 2 ]")
    assert (lab.kernel_name(first), lab.kernel_name(second)) == before[::-1]


@pytest.mark.slow
def test_a_power_cut_keeps_what_was_flushed_and_the_arrays_that_are_on_the_disks(make_lab: MakeLab) -> None:
    lab = make_lab("3x1G")
    devices = " ".join(f"/dev/{name}" for name in names_in_order_of_serials(lab))
    lab.run(f"mdadm --create /dev/md0 --run --level=5 --raid-devices=3 --assume-clean --bitmap=none {devices}", 120)
    lab.run("echo flushed >/root/kept; sync /root/kept")
    lab.crash()
    assert not lab.files.pids()
    with pytest.raises(ProblemError, match="not up"):
        ssh.lab_argv(lab.name)
    lab.start()
    assert lab.run("cat /root/kept").text == "flushed\n"
    lab.wait_for("grep -q 'active.*raid5' /proc/mdstat")


def test_a_disk_can_be_added_slowed_down_and_replaced_by_a_blank_one(make_lab: MakeLab) -> None:
    lab = make_lab("1x1G")
    serial = lab.add_disk(DiskSpec(2 * GIB, "ssd"))
    lab.wait_for(f"lsblk -dno SERIAL | grep -q {serial}")
    name = lab.kernel_name(serial)
    write = f"dd if=/dev/urandom of=/dev/{name} bs=64k count=60 oflag=direct status=none"
    lab.throttle(serial, iops=10)
    slow = lab.run(write).seconds
    lab.throttle(serial)
    assert lab.run(write).seconds < slow / 2
    lab.unplug(serial)
    lab.plug(serial, like_new=True)
    assert lab.is_zero(serial)


def test_the_only_cpu_of_a_machine_and_its_disks_do_not_miss_each_other(make_lab: MakeLab) -> None:
    """A command that is missed hangs for 30 s, the kernel's time-out; this load met it within seconds."""
    lab = make_lab("1x1G", cpus=1)
    load = "--rw=randrw --bs=4k --direct=1 --ioengine=libaio --iodepth=2 --numjobs=3 --thread --time_based --runtime=8"
    lab.run(f"fio --name=load --filename=/dev/{lab.kernel_name(lab.serials[0])} {load}", 25)


def test_a_disk_that_fails_writes_still_reads(make_lab: MakeLab) -> None:
    lab = make_lab("1x1G")
    [serial] = lab.serials
    lab.unplug(serial)
    lab.plug(serial, fails="write")
    lab.wait_for(f"grep -q {serial} /sys/class/nvme/nvme*/serial && udevadm settle")
    name = lab.kernel_name(serial)
    assert lab.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", check=False).code == 0
    assert lab.run(f"dd if=/dev/urandom of=/dev/{name} bs=4k count=1 oflag=direct", check=False).code != 0


def test_a_stopped_machine_answers_again_when_it_goes_on(make_lab: MakeLab) -> None:
    lab = make_lab("")
    lab.pause()
    with pytest.raises(Exception, match="no answer"):
        lab.run("true", 2)
    lab.resume()
    assert lab.run("echo on").text == "on\n"


def test_two_labs_stand_side_by_side_and_share_neither_disks_nor_randomness(make_lab: MakeLab) -> None:
    one, two = make_lab("1x1G"), make_lab("1x1G")
    assert one.serials != two.serials
    for command in ("cat /etc/machine-id", "head -c 16 /dev/urandom | od -An -tx1", "uuidgen"):
        assert one.run(command).text != two.run(command).text
    one.down()
    assert two.run("echo here").text == "here\n"


def test_the_guests_clock_is_right_and_no_unit_failed(lab: Lab) -> None:
    before = time.time()
    guest = float(lab.run("date +%s.%N").text)
    # It is set when the machine is resumed; a busy host makes that late by seconds, never by a minute.
    assert before - 30 < guest < time.time() + 30
    assert lab.run("systemctl --failed --no-legend").text == ""


def test_the_guest_has_every_tool_and_library_that_raidtui_uses(lab: Lab) -> None:
    tools = (
        "mdadm lvm vdoformat make-bcache zpool zfs fio iostat nvme smartctl sg_inq wipefs mkfs.xfs mkfs.btrfs strace lsof"
    )
    assert lab.run(f"for t in {tools}; do command -v $t >/dev/null || echo $t; done").text == ""
    assert lab.run("/usr/lib/postgresql/17/bin/pg_test_fsync --version").code == 0
    check = "import gi; gi.require_version('BlockDev','3.0'); import msgspec, pyudev, blivet, libzfs_core, dasbus, parted"
    lab.run(["python3", "-c", check], 120)
    modules = (
        "raid0 raid1 raid10 raid456 zfs dm-cache dm-writecache dm-vdo bcache dm-delay dm-flakey scsi_debug nvmet null_blk"
    )
    assert lab.run(f"for m in {modules}; do modprobe -n $m || echo $m; done", 120).text == ""
    assert lab.run("systemd-run --wait --pipe --quiet echo transient").text == "transient\n"


def test_the_guest_reaches_nothing_outside(lab: Lab) -> None:
    assert lab.run("timeout 3 bash -c '</dev/tcp/10.0.2.2/22'", check=False).code != 0


def test_the_code_is_sent_when_it_changed_and_only_then(lab: Lab) -> None:
    ssh.sync_code(lab.name)
    assert not ssh.sync_code(lab.name)
    lab.run("ln -sfn 0000000000000000/raidtui /opt/raidtui/raidtui")
    assert ssh.sync_code(lab.name)
    assert not ssh.sync_code(lab.name)
    assert re.match(r"raidtui \d", lab.run("raidtui --version").text)


def test_what_is_shipped_here_is_shipped_there(lab: Lab) -> None:
    shipped = sorted(path.stem for path in (Path(__file__).parents[1] / "scenarios").glob("*.json"))
    listed = lab.raidtui("scenarios").text.splitlines()[1:]
    assert sorted(line.split()[0] for line in listed if not line.startswith(" ")) == shipped


def test_up_on_a_lab_that_runs_changes_nothing(lab: Lab) -> None:
    said: list[str] = []
    before = lab.state
    assert life.up(lab.name, parse_spec("1x1G"), said.append).disks == before.disks
    assert any("already" in line for line in said)


def test_nothing_is_left_after_down_and_down_again_is_fine(make_lab: MakeLab) -> None:
    lab = make_lab("2x1G")
    pid = lab.files.pids()[0]
    lab.run("true")
    lab.down()
    process = Path(f"/proc/{pid}/status")
    assert not process.exists() or "State:\tZ" in process.read_text()
    assert not lab.files.folder.exists()
    assert not lab.files.sockets.exists()
    assert (
        str(lab.files.folder)
        not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    )
    # By process: another lab may have got the port by now.
    assert f"pid={pid}," not in subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=False).stdout
    lab.down()
    assert life.status(lab.name) is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("after_s", [1.2, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (0.4, 2.2))])
def test_an_up_that_was_ended_leaves_nothing_that_down_or_up_cannot_clean(after_s: float, number: int) -> None:
    name = f"test-{os.getpid()}-ended"
    files = LabFiles(name)
    script = (
        "import argparse, sys; from raidtui.cli import lab; p = argparse.ArgumentParser(); "
        "lab.add_parser(p.add_subparsers()); a = p.parse_args(sys.argv[1:]); sys.exit(a.handler(a))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, "lab", "up", name, "--disks", "2x1G"], stderr=subprocess.DEVNULL
    )
    time.sleep(after_s)
    child.send_signal(number)
    child.wait(30)
    try:
        if number == signal.SIGTERM:
            assert not files.exists()
            assert not files.pids()
        else:
            assert Lab(name).up(parse_spec("1x1G")).run("echo up").text == "up\n"
    finally:
        life.down(name)
    assert not files.exists()
    assert not files.pids()
