"""A booted guest without disks, saved once per QEMU version and number of CPUs: what makes a lab start in seconds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.base.text import clean
from raidtui.lab import qemu, ssh, vm
from raidtui.lab.image import cache_lock
from raidtui.lab.qmp import Qmp, QmpError
from raidtui.lab.state import LabFiles
from raidtui.lab.talk import Say
from raidtui.model.problem import Exit, ProblemError, fail

BOOT_TIMEOUT_S = 240.0
_KVM_TRIAL_S = 60.0
_IDLE_TIMEOUT_S = 180.0
# A guest that still starts things would go on with that in every lab; and what every lab loads may as well be loaded.
_UNTIL_IDLE = (
    "systemctl is-system-running --wait; "
    "modprobe -a zfs raid456 raid10 raid1 raid0 nvme sd_mod dm_mod; "
    "python3 -I -c 'import msgspec, pyudev, argparse, subprocess, selectors, gi'; "
    "for tool in mdadm lsblk fio wipefs; do $tool --version; done; udevadm settle; sync"
)
_NO_KVM = "no-kvm"


def accelerator(image: Path) -> str:
    """`kvm` where it is there and no boot under it has failed yet, else `tcg`."""
    return "kvm" if qemu.kvm_possible() and not (image / _NO_KVM).exists() else "tcg"


def snapshot_folder(image: Path, accel: str, cpus: int) -> Path:
    return image / f"booted-{accel}-{qemu.snapshot_key(accel, cpus, _UNTIL_IDLE)}"


def ensure_snapshot(image: Path, cpus: int, say: Say) -> tuple[Path, str]:
    """The folder with `disk.qcow2` and `memory`, and the accelerator that it is for. Boots a guest if need be."""
    accel = accelerator(image)
    folder = snapshot_folder(image, accel, cpus)
    if folder.exists():
        return folder, accel
    with cache_lock("snapshot", say):
        if folder.exists():
            return folder, accel
        for leftover in image.glob("booting-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        say(f"first boot of the lab's image, with {'KVM' if accel == 'kvm' else 'software emulation'} (once)")
        if _boot_and_save(image, accel, cpus, folder, say, _KVM_TRIAL_S if accel == "kvm" else BOOT_TIMEOUT_S):
            return folder, accel
        if accel == "tcg":
            raise fail("lab.boot", "the lab's machine did not boot", exit=Exit.BUILD_FAILED,
                       remedy="raidtui lab up tries again; if that fails too, remove the cached image")  # fmt: skip
        say("guests do not run under this machine's KVM; software emulation is used from now on")
        (image / _NO_KVM).touch()
    return ensure_snapshot(image, cpus, say)


def _boot_and_save(image: Path, accel: str, cpus: int, folder: Path, say: Say, timeout_s: float) -> bool:
    """Boot a guest without disks, wait until it is idle, save it as `folder`. False when it did not come up."""
    files = LabFiles(f"booting-{os.getpid()}")
    work = image / files.name
    files.create()
    try:
        work.mkdir(mode=0o700)
        vm.make_overlay(files.overlay, image / "root.qcow2")
        port = vm.start(files, image, accel, cpus)
        with Qmp(files.qmp) as qmp:
            qmp.command("cont")
        if not ssh.wait_for_server(port, timeout_s):
            say("its console's last words: " + clean(_last_line(files.serial_log)))
            return False
        ssh.write_config(files.ssh_config, port, image, files.ssh_master)
        argv = [*ssh.argv(files.ssh_config, multiplexed=False), _UNTIL_IDLE]
        proc.run(argv, timeout_s=_IDLE_TIMEOUT_S, check=False)
        with Qmp(files.qmp) as qmp:
            vm.save(qmp, work / "memory")
        files.kill()
        shutil.move(files.overlay, work / "disk.qcow2")
        for path in work.iterdir():
            path.chmod(0o400)
        work.rename(folder)
    except (QmpError, ProblemError):
        return False
    finally:
        files.kill()
        files.remove()
        shutil.rmtree(work, ignore_errors=True)
    return True


def _last_line(log: Path) -> str:
    lines = (read_text(log) or "").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "(none)")
