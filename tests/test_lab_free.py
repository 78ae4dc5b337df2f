"""`raidtui free` in the lab: what nobody uses is erased after consent, and what somebody uses is never touched."""

from __future__ import annotations

import json

import pytest

from lab_runs import raidtui
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

LEFT = {
    "stale array": ("mdadm --create /dev/md99 --run --level=1 --raid-devices=2 --metadata=1.2 --bitmap=none {0} {1} && "
                    "udevadm settle && mdadm --stop /dev/md99", "md-superblock"),
    "exported pool": ("zpool create -f old {0} && zpool export old", "zfs-exported"),
    "partition table": ("sgdisk -n 1:0:+64M {0} > /dev/null && udevadm settle && mkfs.ext4 -q -F {0}*1", "partitions"),
    "unknown data": ("head -c 3M /dev/urandom | dd of={0} bs=1M seek=1 conv=fsync status=none", "unknown-data"),
}
USED = {
    "mounted": ("mkfs.ext4 -q -F {0} && mkdir -p /mnt/x && mount {0} /mnt/x", "umount /mnt/x", "mounted"),
    "active array": ("mdadm --create /dev/md99 --run --level=1 --raid-devices=2 --metadata=1.2 --bitmap=none {0} {1}",
                     "mdadm --stop /dev/md99", "md-active"),
    "imported pool": ("zpool create -f live {0}", "zpool destroy live", "zfs-imported"),
    "volume group": ("lvm vgcreate -qqy live {0}", "lvm vgremove -qqy live", "lvm-vg"),
}


def paths(lab: Lab) -> list[str]:
    return [f"/dev/{lab.kernel_name(serial)}" for serial in lab.serials]


def prepare(lab: Lab, command: str) -> None:
    lab.run(f"{command.format(*paths(lab))} && udevadm settle", 120.0)


def wipe(lab: Lab) -> None:
    lab.run("udevadm settle; mdadm --stop --scan", check=False)
    for path in paths(lab)[:2]:
        parts = f"for part in {path}p?[0-9]; do [ -b $part ] && wipefs -qa $part; done"
        lab.run(f"{parts}; wipefs -qa {path}; blkdiscard -f {path}", check=False)
    lab.run("udevadm settle")


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=() if what == "exported pool" else pytest.mark.slow) for what in LEFT]
)
def test_what_is_left_on_a_disk_is_shown_and_erased_after_consent(lab: Lab, what: str) -> None:
    command, code = LEFT[what]
    serial = lab.serials[0]
    try:
        prepare(lab, command)
        before = lab.disk_hash(serial)
        shown = raidtui(lab, "free", serial, "--json")
        assert shown.returncode == 3, shown.stderr
        assert code in [reason["code"] for reason in json.loads(shown.stdout)["disk"]["reasons"]]
        wrong = raidtui(lab, "free", serial, "--erase", lab.serials[1])
        assert (wrong.returncode, "free-consent" in wrong.stderr) == (3, True)
        assert lab.disk_hash(serial) == before, "nothing was written without consent"
        done = raidtui(lab, "free", serial, "--erase", serial, "--json")
        assert done.returncode == 0, done.stderr
        saved = json.loads(done.stdout)["saved"]
        assert lab.run(f"stat -c %s {saved}/first.img {saved}/last.img").text.split() == ["4194304", "4194304"]
        assert lab.is_zero(serial)
        again = raidtui(lab, "free", serial)
        assert (again.returncode, "free-already" in again.stderr) == (2, True)
    finally:
        wipe(lab)


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=() if what == "active array" else pytest.mark.slow) for what in USED]
)
def test_what_somebody_uses_is_refused_and_untouched(lab: Lab, what: str) -> None:
    command, undo, code = USED[what]
    serial = lab.serials[0]
    try:
        prepare(lab, command)
        for words in (("free", serial), ("free", serial, "--erase", serial)):
            refused = raidtui(lab, *words)
            assert (refused.returncode, f"[{code}]" in refused.stderr) == (3, True), refused.stderr
            assert "not-freeable" in refused.stderr
        lab.run(undo)
    finally:
        lab.run(undo, check=False)
        wipe(lab)
