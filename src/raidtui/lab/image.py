"""Lab images in the cache: the disk image, built once from the recipe, and a booted machine saved from it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base import proc
from raidtui.base.files import lock_file, private_folder, read_text, sync_folder
from raidtui.base.paths import cache_folder
from raidtui.base.text import clean
from raidtui.lab import build, qemu, ssh
from raidtui.lab.flavours import PLAIN, Flavour
from raidtui.lab.host import Say
from raidtui.lab.qemu import Qmp, QmpError
from raidtui.lab.state import LabFiles, lab_names, take_lock
from raidtui.model.problem import Exit, ProblemError, Refusal, fail

LAB_BOOT: Final = Refusal(
    "lab.boot",
    "The lab's machine did not boot",
    "The virtual machine was started, but its ssh server did not answer in time.",
    "Run `raidtui lab up` again; without KVM and on a busy machine booting takes minutes.",
)

_BUILDING = "building-"
_KEPT_IMAGES = 2
_LOCK_TIMEOUT_S = 3600.0


def images_folder() -> Path:
    return private_folder(cache_folder() / "lab")


def image_folder(flavour: Flavour = PLAIN) -> Path:
    """Return the folder of the current recipe's image, built or not."""
    return images_folder() / flavour.image_name()


def info(folder: Path) -> build.ImageInfo | None:
    """Return the description of a finished image; None if there is none."""
    try:
        return msgspec.json.decode((folder / "image.json").read_bytes(), type=build.ImageInfo)
    except (OSError, msgspec.MsgspecError):
        return None


def ensure_image(say: Say, flavour: Flavour = PLAIN) -> Path:
    """Return the image's folder, building the image if necessary. May be interrupted and run concurrently."""
    folder = image_folder(flavour)
    if info(folder) is not None:
        return folder
    with cache_lock("build", say):
        if info(folder) is not None:
            return folder
        _remove_leftovers()
        work = images_folder() / f"{_BUILDING}{os.getpid()}"
        work.mkdir(mode=0o700)
        try:
            if os.geteuid() == 0:
                build.build(work, images_folder() / "modules", say, flavour)
            else:
                build.build_through_sudo(work, flavour)
            if folder.exists():
                # A folder without image.json is no image, but a lab may still use it.
                folder.rename(images_folder() / f"{_BUILDING}{os.getpid()}-broken")
            work.rename(folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        _remove_old(folder, flavour)
    return folder


@contextmanager
def cache_lock(name: str, say: Say) -> Iterator[None]:
    """Hold the cache lock of that name; print a line if another process holds it."""
    fd = os.open(images_folder() / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not lock_file(fd):
            say("waiting for another raidtui that prepares the same")
            take_lock(fd, _LOCK_TIMEOUT_S, "another raidtui prepares the lab's image and does not end")
        yield
    finally:
        os.close(fd)


def _remove_leftovers() -> None:
    """Remove the folders and processes of interrupted builds. The caller holds the build lock."""
    for path in images_folder().glob(f"{_BUILDING}*"):
        build.end_builders(path)
        shutil.rmtree(path, ignore_errors=True)


def _remove_old(current: Path, flavour: Flavour) -> None:
    """Remove images of earlier recipes of a flavour, except the newest one and those in use by labs."""
    used = {Path(state.image) for name in lab_names() if (state := LabFiles(name).load()) is not None}
    found = (path for path in images_folder().iterdir() if path != current)
    images = [path for path in found if (its := info(path)) is not None and its.flavour == flavour.name]
    images.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in images[_KEPT_IMAGES - 1 :]:
        if path not in used:
            shutil.rmtree(path, ignore_errors=True)


BOOT_TIMEOUT_S = 240.0
SETTLE_TIMEOUT_S = 1800.0
"""Limit of a flavour's `settle`."""
_KVM_TRIAL_S = 60.0
_IDLE_TIMEOUT_S = 180.0
# Services that still start would continue to do so in every lab; modules that every lab needs are loaded in advance.
_UNTIL_IDLE = (
    "systemctl is-system-running --wait; "
    "modprobe -a zfs raid456 raid10 raid1 raid0 nvme sd_mod dm_mod; "
    "python3 -I -c 'import msgspec, pyudev, argparse, subprocess, selectors, gi'; "
    "for tool in mdadm lsblk fio wipefs; do $tool --version; done; udevadm settle; sync"
)
_NO_KVM = "no-kvm"


def accelerator(image: Path) -> str:
    """Return `kvm` if this machine has it and no boot under it has failed, else `tcg`."""
    return "kvm" if qemu.kvm_possible() and not (image / _NO_KVM).exists() else "tcg"


def snapshot_folder(image: Path, accel: str, cpus: int, flavour: Flavour = PLAIN) -> Path:
    return image / f"booted-{accel}-{qemu.snapshot_key(accel, cpus, flavour.settle + _UNTIL_IDLE)}"


def ensure_snapshot(image: Path, cpus: int, say: Say, flavour: Flavour = PLAIN) -> tuple[Path, str]:
    """Return the folder with `disk.qcow2` and `memory`, and its accelerator. Boots a guest if there is none yet."""
    accel = accelerator(image)
    folder = snapshot_folder(image, accel, cpus, flavour)
    if folder.exists():
        return folder, accel
    with cache_lock("snapshot", say):
        if folder.exists():
            return folder, accel
        for leftover in image.glob("booting-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        how = "KVM" if accel == "kvm" else "software emulation"
        say(f"first boot of the lab's image{flavour.suffix}, with {how} (once)")
        timeout_s = _KVM_TRIAL_S if accel == "kvm" else BOOT_TIMEOUT_S
        if _boot_and_save(image, accel, cpus, folder, say, timeout_s, flavour):
            return folder, accel
        if accel == "tcg":
            raise fail(LAB_BOOT, "the lab's machine did not boot", exit=Exit.BUILD_FAILED,
                       remedy="raidtui lab up tries again; if that fails too, remove the cached image")  # fmt: skip
        say("KVM does not work on this machine; software emulation is used from now on")
        (image / _NO_KVM).touch()
    return ensure_snapshot(image, cpus, say, flavour)


def _boot_and_save(
    image: Path, accel: str, cpus: int, folder: Path, say: Say, timeout_s: float, flavour: Flavour
) -> bool:
    """Boot a guest without disks, wait until it is idle, save it as `folder`. Return False if it did not boot."""
    files = LabFiles(f"booting-{os.getpid()}")
    work = image / files.name
    files.create()
    try:
        work.mkdir(mode=0o700)
        qemu.make_overlay(files.overlay, image / "root.qcow2")
        port = qemu.start(files, image, accel, cpus)
        with Qmp(files.qmp) as qmp:
            qmp.command("cont")
        if not ssh.wait_for_server(port, timeout_s):
            say("last line of its console: " + clean(_last_line(files.serial_log)))
            return False
        ssh.write_config(files.ssh_config, port, image, files.ssh_master)
        argv = ssh.argv(files.ssh_config, multiplexed=False)
        if flavour.settle:
            say(f"its first start{flavour.suffix} takes minutes under emulation")
            proc.run([*argv, flavour.settle], timeout_s=SETTLE_TIMEOUT_S)
        proc.run([*argv, _UNTIL_IDLE], timeout_s=_IDLE_TIMEOUT_S, check=False)
        with Qmp(files.qmp) as qmp:
            qemu.save(qmp, work / "memory")
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
