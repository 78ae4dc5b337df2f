"""A server with a hundred disks, more than busy: no disk in use is free, and every blank disk is."""

from __future__ import annotations

import json

import pytest

from lab_harness import MakeLab

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SPEC = "28x1G,36x1G:hdd,28x1G:ssd"
BLANK = 30
OCCUPY = """
set -e
D=($(lsblk -dno NAME,SERIAL | awk '$2 ~ /^RTLAB-/ && $1 != "vda" {{print "/dev/" $1}}'))
modprobe scsi_debug dev_size_mb=64 num_tgts=2 max_luns=5
udevadm settle
P=("${{D[@]:{blank}:20}}"); O=("${{D[@]:{blank}+20:10}}"); S=("${{D[@]:{blank}+30:10}}"); R=("${{D[@]:{blank}+40}}")
pvcreate -q "${{P[@]}}" > /dev/null; vgcreate -q big "${{P[@]:0:10}}" > /dev/null
for d in "${{O[@]}}"; do setsid sleep 3600 < $d > /dev/null 2>&1 & done
for d in "${{S[@]}}"; do mkswap -q $d; done
for d in "${{R[@]}}"; do dd if=/dev/urandom of=$d bs=64K count=1 seek=8192 status=none; done
udevadm settle
for n in 1 2 3 4; do setsid sh -c 'while :; do :; done' > /dev/null 2>&1 < /dev/null & done
for d in "${{P[@]:0:4}}"; do
  setsid sh -c "while :; do dd if=$d of=/dev/null bs=1M iflag=direct; done" > /dev/null 2>&1 < /dev/null &
done
setsid sh -c 'while :; do for d in /dev/sd*; do smartctl -i $d; done; pvs; done' > /dev/null 2>&1 < /dev/null &
printf '%s\\n' "${{D[@]:0:{blank}}}"
"""


def test_a_hundred_disks_under_load_are_told_apart(make_lab: MakeLab) -> None:
    lab = make_lab(SPEC)
    blank = set(lab.run(["bash", "-c", OCCUPY.format(blank=BLANK)], 300.0).text.split())
    assert len(blank) == BLANK
    for _ in range(2):
        finished = lab.raidtui("disks", "--json", timeout_s=900.0, check=True)
        print(f"raidtui disks took {finished.seconds:.1f} s")
        disks = json.loads(finished.out)["disks"]
        assert len(disks) > 100
        debug = {f"/dev/{disk['name']}" for disk in disks if disk["model"] == "scsi_debug"}
        assert len(debug) == 10
        free = {f"/dev/{disk['name']}" for disk in disks if not disk.get("reasons")}
        wrong = {disk["name"]: disk["reasons"] for disk in disks if f"/dev/{disk['name']}" in (blank | debug) - free}
        assert free == blank | debug, (free - blank - debug, wrong)
