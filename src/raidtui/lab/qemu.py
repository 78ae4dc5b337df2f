"""The virtual machine's shape: QEMU's command line, and the devices that are plugged in over QMP."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.lab.disks import MAX_NVME, LabDisk
from raidtui.model.problem import fail

MEMORY_MIB: Final = 2048
DEFAULT_CPUS: Final = 2
KERNEL_LINE: Final = (
    "root=/dev/vda rw console=ttyS0 quiet loglevel=4 net.ifnames=0 mitigations=off nokaslr audit=0 "
    "systemd.show_status=0 rd.udev.log_level=3 tsc=reliable random.trust_cpu=1 cryptomgr.notests raid=noautodetect"
)
_PORTS_PER_SLOT: Final = 8
_QUEUES: Final = 2
"""Of a disk."""


def binary() -> str:
    path = proc.find_tool("qemu-system-x86_64")
    if path is None:
        raise fail("lab.tool-missing", "QEMU is not installed", remedy="apt-get install qemu-system-x86 qemu-utils")
    return path


def kvm_possible() -> bool:
    """Whether this machine has what KVM needs. That guests really run under it is seen at the first boot only."""
    if not any(flag in (read_text("/proc/cpuinfo") or "").split() for flag in ("vmx", "svm")):
        return False
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def cpus_of_each(labs: int) -> int:
    """Of so many side by side. Emulated CPUs that are more than there are real ones wait for each other."""
    return max(1, min(DEFAULT_CPUS, (os.cpu_count() or 1) // labs))


def machine_argv(accel: str, cpus: int) -> list[str]:
    """The part that a snapshot and the machine that loads it must have in common. `accel` is `kvm` or `tcg`."""
    fast = ["-accel", "kvm", "-cpu", "host"] if accel == "kvm" else [
        "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,-la57"]  # fmt: skip
    # Where no more than one CPU is possible, QEMU (7.2) emulates without memory barriers: devices then miss what the guest
    # rings for, and their commands hang until the kernel's time-out.
    possible = max(cpus, 2)
    argv = [
        binary(), "-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none",
        "-machine", "q35,vmport=off,smm=off,usb=off,graphics=off", *fast,
        "-smp", f"{cpus},maxcpus={possible}", "-m", str(MEMORY_MIB), "-rtc", "base=utc",
        "-device", "vmgenid,guid=auto",
        "-object", "rng-random,id=entropy,filename=/dev/urandom",
        "-device", "virtio-rng-pci,rng=entropy,addr=0x3",
        "-device", f"virtio-scsi-pci,id=scsi,addr=0x4,num_queues={_QUEUES}",
    ]  # fmt: skip
    for port in range(MAX_NVME):
        slot, function = divmod(port, _PORTS_PER_SLOT)
        many = ",multifunction=on" if function == 0 else ""
        argv += ["-device", f"pcie-root-port,id=rp{port},chassis={port + 1},slot={port + 1},io-reserve=0,"
                            f"addr={0x10 + slot:#x}.{function}{many}"]  # fmt: skip
    return argv


def own_argv(overlay: Path, port: int, qmp: Path, pid_file: Path, serial_log: Path) -> list[str]:
    """The part of one machine alone: its root disk's overlay, its ssh port on the loopback, its files."""
    return [
        "-drive", f"if=none,id=root,format=qcow2,cache=unsafe,discard=unmap,file={_quoted(overlay)}",
        "-device", "virtio-blk-pci,drive=root,serial=RTLAB-SYSTEM,addr=0x5",
        "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22",
        "-device", "virtio-net-pci,netdev=net,romfile=,addr=0x6",
        "-chardev", f"file,id=serial,append=on,path={_quoted(serial_log)}", "-serial", "chardev:serial",
        "-qmp", f"unix:{_quoted(qmp)},server=on,wait=off",
        "-pidfile", str(pid_file), "-daemonize",
    ]  # fmt: skip


def boot_argv(kernel: Path, initrd: Path) -> list[str]:
    return ["-kernel", str(kernel), "-initrd", str(initrd), "-append", KERNEL_LINE]


def snapshot_key(accel: str, cpus: int, prepared: str) -> str:
    """Names what a snapshot depends on beside the image: QEMU's version, the machine's shape, what was run in it."""
    version = proc.run([binary(), "--version"], timeout_s=20).out
    cpu = read_text("/proc/cpuinfo") if accel == "kvm" else ""
    model = next((line for line in (cpu or "").splitlines() if line.startswith("model name")), "")
    shape = "\0".join([*machine_argv(accel, cpus), KERNEL_LINE, model, prepared])
    return hashlib.sha256(version + shape.encode()).hexdigest()[:12]


def block_node(disk: LabDisk, folder: Path, fails: str = "") -> dict[str, Any]:
    """Arguments of `blockdev-add`: zeroes and discards become holes in the host's file, flushes are not waited for.

    `fails` is the kind of request (`read`, `write`) that always ends in an error.
    """
    quick = {"discard": "unmap", "cache": {"direct": False, "no-flush": True}}
    file: dict[str, Any] = {"driver": "file", "filename": str(folder / disk.file_name), **quick}
    if fails:
        kinds = ("write", "write-zeroes", "discard") if fails == "write" else (fails,)
        errors = [{"event": "none", "iotype": kind, "errno": errno.EIO} for kind in kinds]
        file = {"driver": "blkdebug", "image": file, "inject-error": errors, **quick}
    return {"driver": "raw", "node-name": disk.node, "detect-zeroes": "unmap", "file": file, **quick}


def device(disk: LabDisk) -> dict[str, Any]:
    """Arguments of `device_add`."""
    common = {
        "id": disk.node, "drive": disk.node, "serial": disk.serial,
        "logical_block_size": disk.spec.sector_bytes, "physical_block_size": 4096,
    }  # fmt: skip
    if disk.spec.kind == "nvme":
        return common | {"driver": "nvme", "bus": f"rp{disk.port}", "max_ioqpairs": _QUEUES, "msix_qsize": _QUEUES + 1}
    scsi = common | {
        "driver": "scsi-hd", "bus": "scsi.0", "scsi-id": disk.port, "lun": 0, "wwn": disk.wwn,
        "vendor": "RTLAB", "product": disk.model, "device_id": disk.serial,
    }  # fmt: skip
    if disk.spec.kind == "hdd":
        return scsi | {"rotation_rate": 7200, "discard_granularity": 0}
    return scsi | {"rotation_rate": 1, "discard_granularity": 4096}


def _quoted(path: Path) -> str:
    """QEMU's option lists take a comma doubled."""
    return str(path).replace(",", ",,")
