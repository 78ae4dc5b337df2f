"""Builds the lab's image into a folder. The one part of the lab that needs root, so it can be run through sudo.

`python -m raidtui.lab.build FOLDER UID GID` does it for another user.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from raidtui.base import proc
from raidtui.base.files import write_atomic
from raidtui.lab import initrd, recipe, rootfs
from raidtui.lab.state import all_pids, kill_all
from raidtui.lab.talk import Say, timed
from raidtui.model.problem import Exit, ProblemError, fail

_BOOTSTRAP_TIMEOUT_S = 3600.0


class ImageInfo(msgspec.Struct, frozen=True):
    """What was built (`image.json`)."""

    kernel: str
    zfs: str
    build_seconds: float


def build(work: Path, modules: Path, say: Say) -> None:
    """Build into the empty folder `work`: root.qcow2, vmlinuz, initrd, key, key.pub, known_hosts and, last, image.json.

    `modules` keeps compiled ZFS modules by kernel and ZFS version, so that only new versions cost minutes.
    """
    began = time.monotonic()
    say = timed(say)
    root, module_root = work / "root", work / "module-root"
    # The package manager's own user must be able to reach the folders that it fills.
    work.chmod(0o755)
    say(f"building the lab's image, once: Debian {recipe.SUITE}, storage tools, ZFS modules")
    mirror = rootfs.mirror_lines()
    compiling = None if list(modules.glob("*/zfs.ko*")) else _start_modules(module_root, work, mirror)
    installing = rootfs.start_bootstrap(
        root, recipe.PACKAGES, work / "root.log", mirror, rootfs.single_file_hooks()
    )  # fmt: skip
    try:
        rootfs.wait_bootstrap(installing, work / "root.log", _BOOTSTRAP_TIMEOUT_S)
        kernel, zfs = rootfs.kernel_version(root), rootfs.package_version(root, "zfsutils-linux")
        kept = modules / f"{kernel}_{zfs}"
        say(f"Debian is installed, kernel {kernel}, ZFS {zfs}")
        if not (kept / "zfs.ko.xz").exists():
            say("compiling the ZFS modules; this takes the longest")
            compiling = compiling or _start_modules(module_root, work, mirror)
            rootfs.wait_bootstrap(compiling, work / "modules.log", _BOOTSTRAP_TIMEOUT_S)
            rootfs.keep_modules(module_root, kernel, kept)
    finally:
        for child in (installing, compiling):
            if child is not None:
                # It passes no signal on but its own death, which ends all that it started.
                child.end(term_grace_s=0.0)
    say("preparing the guest")
    _make_key(work / "key")
    rootfs.finish(root, kernel, kept, (work / "key.pub").read_text())
    host_key = (root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()
    (work / "known_hosts").write_text(f"raidtui-lab {host_key[0]} {host_key[1]}\n")
    shutil.copyfile(root / "boot" / f"vmlinuz-{kernel}", work / "vmlinuz")
    (work / "initrd").write_bytes(initrd.build(root, kernel))
    say("writing the disk image")
    _make_disk(root, work)
    for folder in (root, module_root):
        shutil.rmtree(folder, ignore_errors=True)
    work.chmod(0o700)
    write_atomic(work / "image.json", msgspec.json.encode(ImageInfo(kernel, zfs, round(time.monotonic() - began, 1))))
    say("the image is built")


def end_builders(work: Path) -> None:
    """End the bootstraps that fill the folders of a build whose own process is gone."""
    kill_all(lambda: [pid for pid in all_pids() if _builds_in(pid, work)])


def _builds_in(pid: int, work: Path) -> bool:
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    roots = {os.fsencode(work / "root"), os.fsencode(work / "module-root")}
    return argv[0].endswith(b"/unshare") and not roots.isdisjoint(argv)


def _start_modules(root: Path, work: Path, mirror: Sequence[str]) -> proc.Child:
    return rootfs.start_bootstrap(root, recipe.MODULE_PACKAGES, work / "modules.log", mirror)


def _make_key(path: Path) -> None:
    keygen = proc.find_tool("ssh-keygen") or "ssh-keygen"
    proc.run([keygen, "-q", "-t", "ed25519", "-N", "", "-C", "raidtui-lab", "-f", str(path)], timeout_s=30)


def _make_disk(root: Path, work: Path) -> None:
    """The folder as a file system in a file, without mounting anything."""
    raw = work / "root.raw"
    with raw.open("wb") as file:
        file.truncate(recipe.ROOT_SIZE_BYTES)
    # No lazy initialisation: it would write in the background of the first measurements.
    options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    mke2fs = proc.find_tool("mke2fs") or "mke2fs"
    proc.run([mke2fs, "-q", "-t", "ext4", "-F", "-E", options, "-m", "0", "-N", "200000", "-J", "size=64",
              "-L", "raidtui-lab", "-d", str(root), str(raw)], timeout_s=900)  # fmt: skip
    qemu_img = proc.find_tool("qemu-img") or "qemu-img"
    proc.run([qemu_img, "convert", "-f", "raw", "-O", "qcow2", str(raw), str(work / "root.qcow2")], timeout_s=900)
    raw.unlink()
    (work / "root.qcow2").chmod(0o400)


def _main(words: Sequence[str]) -> int:
    work, uid, gid = Path(words[0]), int(words[1]), int(words[2])
    modules = work.parent / "modules"
    try:
        build(work, modules, lambda line: print(line, file=sys.stderr, flush=True))
    except ProblemError as error:
        print(f"raidtui: {error}", file=sys.stderr)
        return int(error.exit)
    except proc.ToolError as error:
        print(f"raidtui: {error}", file=sys.stderr)
        return int(Exit.BUILD_FAILED)
    finally:
        for folder in (work, modules):
            for path in (folder, *folder.rglob("*")) if folder.exists() else ():
                os.chown(path, uid, gid, follow_symlinks=False)
    return int(Exit.DONE)


def build_through_sudo(work: Path) -> None:
    """Run this module as root; sudo asks for its password on the terminal."""
    sudo = proc.find_tool("sudo")
    if sudo is None:
        raise fail("lab.root", "building the lab's image needs root, once", exit=Exit.REFUSED,
                   remedy="run raidtui lab up as root, or install sudo")  # fmt: skip
    argv = [sudo, "--", sys.executable, "-m", "raidtui.lab.build", str(work), str(os.getuid()), str(os.getgid())]
    child = proc.spawn(argv, stdin=None, env=dict(os.environ))
    try:
        code = child.wait(2 * _BOOTSTRAP_TIMEOUT_S)
    finally:
        child.end(term_grace_s=30.0)
    if code != 0:
        raise fail("lab.root", "building the lab's image as root failed", exit=Exit.BUILD_FAILED,
                   remedy="see the lines above; sudo must be allowed")  # fmt: skip


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
