"""The gate on real disks: permits do not outlive a re-plug, blank means blank, recovery takes its own things only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from lab_harness import start_lab
from raidtui.lab import ssh
from raidtui.lab.control import Lab

pytestmark = pytest.mark.lab

PRELUDE = """
import json, os, sys, time
sys.path.insert(0, '/opt/raidtui')
from raidtui import gate
from raidtui.inventory import Signature, boot_id, scan
from raidtui.model.disk import fingerprint
from raidtui.model.problem import ProblemError
def prints(*serials):
    by_id = {d.id: d for d in scan()}
    return [fingerprint(by_id[s], boot_id()) for s in serials]
def refused(call):
    try:
        call()
    except ProblemError as error:
        return [[p.code, p.message] for p in error.problems]
    return []
"""


def guest(lab: Lab, code: str, timeout_s: float = 180.0) -> Any:
    """Run code in the guest; what it gave to `tell`."""
    script = PRELUDE + "def tell(x): print('\\n' + json.dumps(x))\n" + code
    return json.loads(lab.run(["/usr/bin/python3", "-I", "-c", script], timeout_s).text.splitlines()[-1])


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab(f"test-{os.getpid()}-gate")
    try:
        start_lab("gate", "4x1G,1x256M:hdd,1x1G:ssd@4096,1x2T")
        ssh.sync_code(lab.name)
        yield lab
    finally:
        lab.down()


def test_a_used_disk_is_made_blank_and_proven_so(lab: Lab) -> None:
    nvme, hdd, ssd = lab.serials[0], lab.serials[4], lab.serials[5]
    told = guest(
        lab,
        f"""
serials = {[nvme, hdd, ssd]!r}
permits = gate.admit('r1', prints(*serials))
out = []
for p in permits:
    fd = p.open_for_writing()
    for at in (0, 64 << 20, p.disk.size_bytes // 2, p.disk.size_bytes - (1 << 20)):
        os.pwrite(fd, os.urandom(1 << 20), at)
    os.fsync(fd); os.close(fd)
    again = refused(lambda: gate.readmit([p]))
    steps = []
    result = gate.make_blank(p, lambda done, size: steps.append(done))
    out.append([again, result, steps[-1], gate.is_blank(p)])
gate.readmit(permits)
for p in permits: p.close()
tell([out, [[r.code for r in d.reasons] for d in scan() if d.id in serials], gate.holders()])
""",
    )
    results, reasons, holders = told
    for (again, result, last, blank), serial in zip(results, (nvme, hdd, ssd), strict=True):
        assert [code for code, _ in again] == ["unknown-data"]
        assert result["bytes"] == last == lab.disk(serial).spec.size_bytes
        assert result["samples"] >= 64
        assert blank is True
        assert lab.is_zero(serial)
    assert [r[1]["method"] for r in results] == ["discard", "written zeroes", "written zeroes"]
    assert reasons == [[], [], []]
    assert holders == {}


def test_blanking_is_refused_while_something_claims_the_disk(lab: Lab) -> None:
    told = guest(
        lab,
        f"""
[p] = gate.admit('r1', prints({lab.serials[1]!r}))
p.let_go()
fd = os.open(p.disk.path, os.O_RDONLY | os.O_EXCL)
busy = refused(lambda: gate.make_blank(p))
os.close(fd)
tell([busy, refused(lambda: gate.make_blank(p, cancelled=lambda: True))])
""",
    )
    assert [[code for code, _ in problems] for problems in told] == [["busy"], ["cancelled"]]


def test_a_disk_that_a_filesystem_got_since_the_plan_is_refused(lab: Lab) -> None:
    told = guest(
        lab,
        f"""
import subprocess
want = prints(*{lab.serials[1:3]!r})
path = [d.path for d in scan() if d.id == want[1].id][0]
subprocess.run(['mkfs.ext4', '-qF', path], check=True)
first = refused(lambda: gate.admit('r1', want))
ours = Signature('ext4', os.popen('blkid -po value -s UUID ' + path).read().strip())
permits = gate.admit_for_recovery('r1', want[1:], [ours]).permits
gate.make_blank(permits[0]); permits[0].close()
for p in gate.admit('r1', want): p.close()
tell(first)
""",
    )
    assert [code for code, _ in told] == ["filesystem"]
    assert lab.serials[2] not in told[0][1]


def test_a_permit_does_not_outlive_the_disk_and_does_not_fit_its_replacement(lab: Lab) -> None:
    one, two = lab.serials[2:4]
    holder = PRELUDE + (
        f"""
permits = gate.admit('r1', prints({one!r}, {two!r}))
before = [[p.disk.name, p.alive()] for p in permits]
def wait(name):
    while not os.path.exists('/tmp/' + name): time.sleep(0.05)
open('/tmp/admitted', 'w')
wait('unplugged')
gone = [[p.alive(), refused(p.path), refused(p.open_for_writing), refused(lambda: gate.readmit([p]))] for p in permits]
open('/tmp/seen', 'w')
wait('plugged')
back = [[p.alive(), refused(p.path), refused(p.open_for_writing), refused(lambda: gate.make_blank(p))] for p in permits]
old = [p.fingerprint for p in permits]
for p in permits: p.close()
again = refused(lambda: gate.admit('r1', old))
recovered = [p.disk.id for p in gate.admit_for_recovery('r1', old, []).permits]
json.dump([before, gone, back, again, recovered], open('/tmp/told.tmp', 'w')); os.rename('/tmp/told.tmp', '/tmp/told')
"""
    )
    lab.run(["bash", "-c", f"cat > /tmp/holder.py <<'END'\n{holder}\nEND\n"])
    lab.run("setsid /usr/bin/python3 -I /tmp/holder.py > /tmp/holder.log 2>&1 < /dev/null &")
    lab.wait_for("test -e /tmp/admitted")
    lab.unplug(one)
    lab.unplug(two)
    lab.run("touch /tmp/unplugged")
    lab.wait_for("test -e /tmp/seen")
    lab.plug(two)
    lab.plug(one)
    lab.run("udevadm settle; touch /tmp/plugged")
    try:
        lab.wait_for("test -e /tmp/told", 120)
    finally:
        print(lab.run("cat /tmp/holder.log").text)
    before, gone, back, again, recovered = json.loads(lab.run("cat /tmp/told").text)
    assert [alive for _, alive in before] == [True, True]
    for alive, *refusals in gone:
        assert alive is False
        assert all(problems and problems[0][0] == "disk-gone" for problems in refusals)
    for alive, *refusals in back:
        assert alive is False
        assert all(problems and problems[0][0] in ("disk-gone", "disk-changed") for problems in refusals)
    assert [code for code, _ in again] == ["disk-changed", "disk-changed"]
    assert recovered == [one, two]
    assert lab.is_zero(one)
    assert lab.is_zero(two)


def test_hot_plug_is_told(lab: Lab) -> None:
    code = """
from raidtui.inventory import watch
told = open('/tmp/changes', 'w')
for changes in watch(tick_s=0.2):
    print('.', flush=True) if not changes else None
    for c in changes: told.write(f'{c.action} {c.name}\\n'); told.flush()
"""
    lab.run(["bash", "-c", f"cat > /tmp/watch.py <<'END'\n{PRELUDE}{code}\nEND\n"])
    lab.run("setsid /usr/bin/python3 -I /tmp/watch.py > /tmp/watch.log 2>&1 < /dev/null &")
    lab.wait_for("test -s /tmp/watch.log")
    lab.unplug(lab.serials[0])
    lab.wait_for("grep -q '^remove nvme' /tmp/changes")
    lab.plug(lab.serials[0])
    lab.wait_for("grep -q '^add nvme' /tmp/changes")


def test_a_small_piece_of_data_on_a_large_disk_is_found_by_the_long_look_and_never_missed_again(lab: Lab) -> None:
    told = guest(
        lab,
        f"""
from raidtui.inventory import search
serial = {lab.serials[6]!r}
[disk] = [d for d in scan() if d.id == serial]
blank = disk.look
fd = os.open(disk.path, os.O_WRONLY)
at = int.from_bytes(os.urandom(4)) * 4096 % (disk.size_bytes - (1 << 30)) + (512 << 20)
for n in range(128): os.pwrite(fd, b'x' * (1 << 20), at + (n << 20))
os.fsync(fd); os.close(fd)
[found] = search([disk], 300)
def codes(): return [r.code for d in scan() if d.id == serial for r in d.reasons]
again = [codes() for _ in range(3)]
fd = os.open(disk.path, os.O_WRONLY)
for n in range(128): os.pwrite(fd, bytes(1 << 20), at + (n << 20))
os.fsync(fd); os.close(fd)
tell([[blank.places, blank.gap_bytes], [r.code for r in found.reasons], again, codes()])
""",
        400.0,
    )
    (places, gap), found, again, gone = told
    assert places >= 128
    assert gap > 8 << 30
    assert found == ["unknown-data"]
    assert again == [["unknown-data"]] * 3
    assert gone == []


def test_all_of_what_a_thin_disk_says_is_allocated_is_read(lab: Lab) -> None:
    told = guest(
        lab,
        """
import subprocess
def run(*argv): subprocess.run(argv, check=True)
run('modprobe', 'scsi_debug', 'dev_size_mb=256', 'lbpu=1', 'lbprz=1', 'add_host=1')
def thin():
    run('udevadm', 'settle')
    found = [d for d in scan() if d.model == 'scsi_debug']
    return found[0] if found else time.sleep(0.2) or thin()
empty = thin()
fd = os.open(empty.path, os.O_WRONLY | os.O_SYNC)
os.pwrite(fd, b'x' * 4096, 150 << 20); os.close(fd)
run('udevadm', 'settle')
from raidtui.inventory import search
[full] = search([empty], 30)
run('blkdiscard', empty.path)
after = thin()
out = [[d.look and [d.look.gap_bytes, d.look.allocated_bytes], [r.code for r in d.reasons]] for d in (empty, full, after)]
run('modprobe', '-r', 'scsi_debug')
tell(out)
""",
    )
    assert told == [[[0, 0], []], [None, ["unknown-data"]], [[0, 0], []]]


def test_udev_is_waited_for_by_ones_own_disk_while_others_have_events_without_end(lab: Lab) -> None:
    told = guest(
        lab,
        """
import subprocess, threading
from raidtui.inventory.udev import wait_for_udev
mine, other = [d.name for d in scan() if d.free][:2]
storm = subprocess.Popen(f'while :; do echo change > /sys/class/block/{other}/uevent; sleep 0.1; done', shell=True)
try:
    found = [wait_for_udev([mine], 60) for _ in range(3)]
    settled = subprocess.run(['udevadm', 'settle', '--timeout=3']).returncode
finally:
    storm.kill(); storm.wait()
tell([found, settled != 0, wait_for_udev(['nosuchdisk'], 60)])
""",
        400,
    )
    assert told == [[True, True, True], True, True]
