"""Every state in which a disk is not free is seen on a real kernel, with its own reason; blank disks are free."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from lab_harness import start_lab
from raidtui.lab import ssh
from raidtui.lab.control import Lab

pytestmark = pytest.mark.lab

PARTITION = (  # no partitioning tool needed: an MBR with one Linux partition from 1 MiB
    """python3 -c "import sys,struct; d=open(sys.argv[1],'r+b'); d.seek(446); """
    """d.write(struct.pack('<8BII',0,0,0,0,131,0,0,0,2048,900000)); d.seek(510); d.write(bytes([0x55,0xaa]))" $A"""
    """; blockdev --rereadpt $A; udevadm settle; P=$(lsblk -lnpo NAME $A | sed -n 2p)"""
)
HOLD = "setsid sleep 600 < {} > /dev/null 2>&1 &"
HOLDER = """
import array, ctypes, mmap, os, socket, sys, threading, time

way, path = sys.argv[1:]
libc = ctypes.CDLL(None)


def opened():
    return os.open(path, os.O_RDONLY)


def own_table():
    libc.unshare(0x400)  # CLONE_FILES
    opened()
    time.sleep(600)


if way == "mapping":
    file = opened()
    kept = mmap.mmap(file, 4096, prot=mmap.PROT_READ, trackfd=False)
    os.close(file)
elif way == "socket":
    kept = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    file = opened()
    kept[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
    os.close(file)
elif way == "ring":
    ring = libc.syscall(425, 4, (ctypes.c_char * 120)())  # io_uring_setup
    file = opened()
    assert libc.syscall(427, ring, 2, (ctypes.c_int * 2)(-1, file), 2) == 0  # IORING_REGISTER_FILES
    os.close(file)
elif way == "thread":
    threading.Thread(target=own_table, daemon=True).start()
    time.sleep(0.5)
open("/srv/holds", "w").close()
time.sleep(600)
"""
BLKPG = """
import ctypes, fcntl, os, sys


class Partition(ctypes.Structure):
    _fields_ = [("start", ctypes.c_longlong), ("length", ctypes.c_longlong), ("number", ctypes.c_int),
                ("names", ctypes.c_char * 128)]


class Argument(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_int), ("flags", ctypes.c_int), ("bytes", ctypes.c_int), ("data", ctypes.c_void_p)]


part = Partition(2048 * 512, 100000 * 512, 1, b"")
disk = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(disk, 0x1269, Argument(1, 0, ctypes.sizeof(part), ctypes.addressof(part)))  # BLKPG_ADD_PARTITION
"""
"""As `addpart`, which the lab's image does not have."""
NVMET = "/sys/kernel/config/nvmet/subsystems"
FORMER_POOL = (  # as `zpool` makes it: partition 1 from 1 MiB to 8 MiB before the end, of which then only its tail is left
    "zpool create -f {0} $A; zpool export {0}; udevadm settle; dd if=/dev/zero of=$A bs=1M count=4 status=none;"
    " dd if=/dev/zero of=$A bs=512 seek=$(($(blockdev --getsz $A) - 34)) count=34 status=none; blockdev --rereadpt $A"
)


def hidden(way: str) -> str:
    return f"rm -f /srv/holds; setsid python3 -I /srv/holder {way} $A > /dev/null 2>&1 < /dev/null & wait_for /srv/holds"


class State(NamedTuple):
    """How a disk gets into a state, and what must be said of it."""

    code: str
    says: str
    """Part of the message; `{name}` is the disk's kernel name."""
    commands: str
    """Shell lines; $A, $B, $C, $D are the disks, the first of which is looked at."""
    disks: int = 1
    others: tuple[str, ...] = ()
    """Codes that the disks after the first must have."""


def stale(metadata: str) -> State:
    """udev is waited for before the stop: what it was told of the creation would have it assemble the array again."""
    return State(
        "md-superblock",
        f"linux_raid_member {metadata}",
        f"mdadm --create /dev/md/s{metadata} -n2 -l1 -e{metadata} --assume-clean -R $A missing;"
        f" udevadm settle; mdadm --stop /dev/md/s{metadata}",
    )


STATES = {
    # These need an NVMe disk: the first ones taken are.
    "nvme-generic": State("open", "by /dev/ng", HOLD.format("/dev/ng${A#/dev/nvme}")),
    "nvme-controller": State("open", "by /dev/nvme", HOLD.format("${A%n1}")),
    "shared-nvme-controller": State(
        "shared",
        "NVMe-oF controller of whole",
        f"mkdir {NVMET}/whole; echo -n ${{A%n1}} > {NVMET}/whole/passthru/device_path;"
        f" echo 1 > {NVMET}/whole/passthru/enable",
    ),
    "shared-nvme": State(
        "shared",
        "NVMe-oF namespace of one",
        f"mkdir -p {NVMET}/one/namespaces/1; echo 1 > {NVMET}/one/attr_allow_any_host;"
        f" echo $A > {NVMET}/one/namespaces/1/device_path; echo 1 > {NVMET}/one/namespaces/1/enable;"
        f" mkdir /sys/kernel/config/nvmet/ports/1; echo loop > /sys/kernel/config/nvmet/ports/1/addr_trtype;"
        f" ln -s {NVMET}/one /sys/kernel/config/nvmet/ports/1/subsystems/one; nvme connect -t loop -n one",
    ),
    "shared-not-enabled": State(
        "shared",
        "NVMe-oF namespace of two",
        f"mkdir -p {NVMET}/two/namespaces/1; echo $A > {NVMET}/two/namespaces/1/device_path",
    ),
    "shared-lio": State(
        "shared",
        "LIO backstore lun",
        "L=/sys/kernel/config/target/core/fileio_0/lun; mkdir -p $L;"
        " echo fd_dev_name=$A,fd_dev_size=1073741824 > $L/control; echo 1 > $L/enable",
    ),
    "open-by-mapping": State("open", "(python3), mapped into memory", hidden("mapping")),
    "open-on-socket": State("open", "(python3), sent over a socket", hidden("socket")),
    "open-in-ring": State("open", "(python3), registered with io_uring", hidden("ring")),
    "open-in-thread": State("open", "(python3)", hidden("thread")),
    "zfs-former-partition": State("zfs-exported", "pold", FORMER_POOL.format("pold")),
    "zfs-uberblocks": State(
        "zfs-exported",
        "zfs_member uberblock",
        FORMER_POOL.format("pring") + "; for at in 8116 8118; do"
        " dd if=/dev/zero of=$A bs=128K seek=$at count=1 status=none; done",
    ),
    "zfs-last-labels": State(
        "zfs-exported",
        "pfile",
        "truncate -s 1G /srv/vdev; zpool create pfile /srv/vdev; zpool export pfile;"
        " dd if=/srv/vdev of=$A bs=512K skip=2047 seek=2047 status=none; rm /srv/vdev",
    ),
    "kernel-partition": State("partitions", "known to the kernel only", "python3 -I /srv/blkpg $A"),
    "loop-deleted-node": State(
        "loop", "has its data in /dev/gone", "cp -a $A /dev/gone; losetup -f /dev/gone; rm /dev/gone"
    ),
    "loop-private-node": State(
        "loop",
        "/dev/loop",
        "setsid unshare -m --propagation private sh -c 'mount --bind '$A' /dev/null; exec losetup -f /dev/null' 2>&1",
    ),
    "mapping-deleted-node": State(
        "device-mapper",
        "device behind",
        "cp -a $A /dev/away; echo 0 2048 linear /dev/away 8 | dmsetup create behind; rm /dev/away",
    ),
    "ext4-copy": State(
        "filesystem", "ext4 copy", "mkfs.ext4 -qF -b 4096 $A; dd if=/dev/zero of=$A bs=1M count=8 status=none"
    ),
    "xfs-copy": State("filesystem", "xfs copy", "mkfs.xfs -qf $A; dd if=/dev/zero of=$A bs=1M count=8 status=none"),
    "btrfs-copy": State("filesystem", "btrfs copy", "mkfs.btrfs -qf $A; dd if=/dev/zero of=$A bs=1M count=8 status=none"),
    "gpt-backup": State(
        "partition-table", "gpt", "parted -s $A mklabel gpt; dd if=/dev/zero of=$A bs=1M count=4 status=none"
    ),
    "ddf": State(
        "firmware-raid",
        "ddf_raid_member",
        "mdadm --create /dev/md/ddf -e ddf -n2 -R $A $B; udevadm settle; mdadm --stop /dev/md/ddf",
        2,
    ),
    "aix-label": State("partition-table", "aix", r"printf '\xc9\xc2\xd4\xc1' | dd of=$A conv=notrunc status=none"),
    "mounted": State("mounted", "mounted on /srv/a (ext4, {name})", "mkfs.ext4 -qF $A; mount $A /srv/a"),
    "partition-mounted": State(
        "mounted", "mounted on /srv/b (ext4, {name}", f"{PARTITION}; mkfs.ext4 -qF $P; mount $P /srv/b"
    ),
    "filesystem": State("filesystem", "filesystem ext4", "mkfs.ext4 -qF $A"),
    "swap-used": State("swap", "swap partition /dev/{name} is in use", "mkswap $A; swapon $A"),
    "swap-signature": State("swap-signature", "swap area", "mkswap $A"),
    "lvm-pv": State("lvm-pv", "LVM", "pvcreate $A"),
    "lvm-vg": State("lvm-vg", "volume group vgoff", "vgcreate vgoff $A; lvcreate -an -Zn -l10 -nlv vgoff"),
    "lvm-active": State("lvm-active", "vgon-lv", "vgcreate vgon $A; lvcreate -Zn -l10 -nlv vgon"),
    "zfs-imported": State(
        "zfs-imported", "imported ZFS pool ptank", "zpool create ptank $A log $B cache $C spare $D", 4, ("zfs-imported",)
    ),
    "zfs-exported": State("zfs-exported", "pexp", "zpool create pexp $A; zpool export pexp"),
    "zfs-destroyed": State("zfs-exported", "pdead", "zpool create pdead $A; zpool destroy pdead"),
    "md-stale-0.90": stale("0.90"),
    "md-stale-1.0": stale("1.0"),
    "md-stale-1.1": stale("1.1"),
    "md-stale-1.2": stale("1.2"),
    "md-active": State(
        "md-active",
        "raid1",
        "mdadm --create /dev/md/on -n2 -l1 -x1 --assume-clean -R --bitmap=none $A $B $C",
        3,
        ("md-active",),
    ),
    "md-inactive": State(
        "md-inactive",
        "inactive md array",
        "mdadm --create /dev/md/half -n3 -l5 --assume-clean -R --bitmap=none $A $B $C; udevadm settle;"
        " mdadm --stop /dev/md/half; mdadm --zero-superblock $B $C; mdadm --incremental $A || true",
        3,
    ),
    "luks-closed": State(
        "luks", "crypto_LUKS", "printf x | cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $A -"
    ),
    "luks-open": State(
        "dm-crypt",
        "encrypted volume secret",
        "printf x | cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $A -;"
        " printf x | cryptsetup open --key-file=- $A secret",
    ),
    "dm-linear": State("device-mapper", "device plain", "echo 0 2048 linear $A 0 | dmsetup create plain"),
    "partitions": State("partitions", "has 1 partition", PARTITION),
    "partition-table": State("partition-table", "dos", f"{PARTITION}; partx -d $A"),
    "random-head": State("unknown-data", "near byte 0", "dd if=/dev/urandom of=$A bs=1M count=1 status=none"),
    "random-middle": State(
        "unknown-data", "near byte 536870912", "dd if=/dev/urandom of=$A bs=1M seek=512 count=1 status=none"
    ),
    "random-tail": State("unknown-data", "near byte 10", "dd if=/dev/urandom of=$A bs=1M seek=1023 count=1 status=none"),
    "loop-file": State(
        "loop", "/srv/c/image", "mkfs.ext4 -qF $A; mount $A /srv/c; truncate -s 8M /srv/c/image; losetup -f /srv/c/image"
    ),
    "loop-disk": State("loop", "/dev/loop", "losetup -f $A"),
    "swap-file": State(
        "swap",
        "swap file /srv/d/swap",
        "mkfs.ext4 -qF $A; mount $A /srv/d; dd if=/dev/zero of=/srv/d/swap bs=1M count=8 status=none;"
        " chmod 600 /srv/d/swap; mkswap /srv/d/swap; swapon /srv/d/swap",
    ),
    "open": State("open", "(sleep)", HOLD.format("$A")),
    "open-partition": State("open", "(sleep)", f"{PARTITION}; {HOLD.format('$P')}"),
    "locked": State("locked", "holds a lock", "setsid flock $A sleep 600 > /dev/null 2>&1 &"),
    "other-namespace": State(
        "mounted",
        "in the mount namespace of pid",
        "mkfs.ext4 -qF $A; setsid unshare -m --propagation private sh -c"
        " 'mount '$A' /srv/e && exec sleep 600' > /dev/null 2>&1 &",
    ),
    "lazily-unmounted": State(
        "busy",
        "exclusive access",
        "mkfs.ext4 -qF $A; mount $A /srv/f; (cd /srv/f; setsid sleep 600 > /dev/null 2>&1 &); sleep 0.2; umount -l /srv/f",
    ),
    "btrfs": State("mounted", "/srv/g", "mkfs.btrfs -qf $A $B; mount $A /srv/g", 2, ("mounted",)),
    "bcache": State(
        "bcache",
        "registered with bcache",
        "make-bcache -B $A; udevadm settle",
    ),
    # These need a SCSI disk: the last ones taken are.
    "scsi-generic": State(
        "open", "by /dev/sg", HOLD.format("/dev/$(basename /sys/block/${A#/dev/}/device/scsi_generic/*)")
    ),
    "block-scsi-generic": State(
        "open", "by /dev/bsg/", HOLD.format("/dev/bsg/$(basename /sys/block/${A#/dev/}/device/bsg/*)")
    ),
    "read-only": State("read-only", "read-only", "blockdev --setro $A"),
    "held": State(
        "held",
        "held by run r123",
        "K=$(cat /sys/block/${A#/dev/}/wwid /sys/block/${A#/dev/}/device/wwid 2>/dev/null);"
        """ mkfifo /tmp/locked; setsid /usr/bin/python3 -I -c "import sys,time; sys.path.insert(0,'/opt/raidtui')
from raidtui.gate.locks import take
t=take('r123', ['$K']); print(1, flush=True); time.sleep(600)" > /tmp/locked 2> /dev/null < /dev/null &
read _ < /tmp/locked""",
    ),
}
BLANK = 3
SPEC = "26x1G,20x1G:hdd,29x1G:ssd"


def guest_python(lab: Lab, code: str, timeout_s: float = 120.0) -> str:
    """Run Python in the guest with raidtui importable; its stdout."""
    head = "import sys, json; sys.path.insert(0, '/opt/raidtui')\n"
    return lab.run(["/usr/bin/python3", "-I", "-c", head + code], timeout_s).text


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab(f"test-{os.getpid()}-refusals")
    try:
        start_lab("refusals", SPEC)
        ssh.sync_code(lab.name)
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="module")
def seen(lab: Lab) -> dict[str, Any]:
    """Every state made, then one scan: state → the disks that it took, as JSON."""
    names = json.loads(lab.run("lsblk -dJo NAME,SERIAL").text)["blockdevices"]
    pool = [d["name"] for d in names if (d["serial"] or "") in set(lab.serials)]
    assert len(pool) == len(lab.serials)
    taken: dict[str, list[str]] = {}
    lines = ["exec 2>&1", "set -x", "mkdir -p /srv/a /srv/b /srv/c /srv/d /srv/e /srv/f /srv/g",
             "modprobe -a bcache loop nvmet nvme-loop target_core_mod target_core_file",
             'wait_for() { for _ in $(seq 100); do [ -e $1 ] && return; sleep 0.1; done; }']  # fmt: skip
    for state_name, state in STATES.items():
        disks = [pool.pop() for _ in range(state.disks)]
        taken[state_name] = disks
        lines += [f"{letter}=/dev/{disk}" for letter, disk in zip("ABCD", disks, strict=False)]
        lines.append(state.commands)
    lines += ["sleep 0.5", "udevadm settle"]
    lab.run("cat > /srv/holder", input_bytes=HOLDER.encode())
    lab.run("cat > /srv/blkpg", input_bytes=BLKPG.encode())
    began = time.monotonic()
    print(lab.run(["bash", "-c", "\n".join(lines)], 600.0).text)
    print(f"states made in {time.monotonic() - began:.1f} s")
    assert len(pool) >= BLANK
    began = time.monotonic()
    taken["blank"] = pool
    scanned = json.loads(
        guest_python(
            lab,
            "import msgspec; from raidtui.inventory import scan; from raidtui.gate import holders\n"
            "print(msgspec.json.encode(scan(held=holders())).decode())",
            600.0,
        )
    )
    print(f"{len(scanned)} disks scanned in {time.monotonic() - began:.1f} s")
    by_name = {disk["name"]: disk for disk in scanned}
    taken["system"] = ["vda"]
    taken["remote"] = [disk["name"] for disk in scanned if disk["transport"] == "nvme-loop"]
    return {state_name: [by_name[disk] for disk in disks] for state_name, disks in taken.items()}


@pytest.mark.parametrize("name", STATES)
def test_the_state_is_refused_with_its_own_reason(name: str, seen: dict[str, Any]) -> None:
    state = STATES[name]
    first, *rest = seen[name]
    reasons = first.get("reasons", [])
    matching = [r["message"] for r in reasons if r["code"] == state.code]
    assert matching, reasons
    says = state.says.format(name=first["name"])
    assert any(says in message for message in matching), matching
    for disk in rest:
        codes = {r["code"] for r in disk.get("reasons", [])}
        assert codes.issuperset(state.others), (disk["name"], codes)
    assert any(r.get("remedy") for r in reasons)
    if any(r["code"] == "mounted" for r in reasons):
        assert all("umount" in r.get("remedy", "umount") for r in reasons)


def test_nothing_is_advised_for_the_system_disk(seen: dict[str, Any]) -> None:
    assert not [r for r in seen["system"][0]["reasons"] if r.get("remedy")]


def test_storage_of_another_host_is_not_free(seen: dict[str, Any]) -> None:
    [disk] = seen["remote"]
    assert "reached by nvme-loop" in next(r["message"] for r in disk["reasons"] if r["code"] == "remote")


def test_blank_disks_are_free(seen: dict[str, Any]) -> None:
    assert [disk.get("reasons", []) for disk in seen["blank"]] == [[]] * len(seen["blank"])


def test_only_the_system_disk_is_the_systems(seen: dict[str, Any]) -> None:
    disks = [disk for disks in seen.values() for disk in disks]
    assert {disk["name"] for disk in disks if any(r.get("system") for r in disk.get("reasons", []))} == {"vda"}
