"""The lab's image: built once from the recipe, kept in the cache, shared by every lab and never changed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from raidtui.base import proc
from raidtui.base.files import private_folder, sync_folder, write_atomic
from raidtui.base.paths import cache_folder
from raidtui.lab import initrd, recipe, rootfs
from raidtui.lab.state import take_lock
from raidtui.lab.talk import Say, timed
from raidtui.model.problem import fail

_BOOTSTRAP_TIMEOUT_S = 3600.0
_BUILDING = "building-"


class ImageInfo(msgspec.Struct, frozen=True):
    """What was built (`image.json`)."""

    kernel: str
    build_seconds: float


def images_folder() -> Path:
    return private_folder(cache_folder() / "lab")


def image_folder() -> Path:
    """Where the image of the current recipe is, or will be."""
    return images_folder() / recipe.recipe_hash()


def info(folder: Path) -> ImageInfo | None:
    """What is known of a finished image; None where there is none."""
    try:
        return msgspec.json.decode((folder / "image.json").read_bytes(), type=ImageInfo)
    except (OSError, msgspec.MsgspecError):
        return None


@contextmanager
def cache_lock(name: str, say: Say, timeout_s: float = 3600.0) -> Iterator[None]:
    """Hold the cache's lock of that name, saying so when another holds it."""
    fd = os.open(images_folder() / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            take_lock(fd, 0.0, "")
        except Exception:
            say("waiting for another raidtui that prepares the same")
            take_lock(fd, timeout_s, "another raidtui prepares the lab's image and does not end")
        yield
    finally:
        os.close(fd)


def ensure_image(say: Say) -> Path:
    """The image's folder, built first if need be. Needs root to build. Safe to interrupt and to call twice at once."""
    folder = image_folder()
    if info(folder) is not None:
        return folder
    with cache_lock("build", say):
        if info(folder) is not None:
            return folder
        _remove_leftovers()
        if os.geteuid() != 0:
            raise fail("lab.root", "building the lab's image needs root, once", remedy="sudo raidtui lab up")
        work = images_folder() / f"{_BUILDING}{os.getpid()}"
        work.mkdir(mode=0o700)
        try:
            _build(work, timed(say))
            work.rename(folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return folder


def _build(work: Path, say: Say) -> None:
    """Build into `work`: root.qcow2, vmlinuz, initrd, key, known_hosts, image.json."""
    began = time.monotonic()
    root, module_root, modules = work / "root", work / "module-root", work.parent / "modules"
    # mmdebstrap's own user must be able to reach the folders it fills.
    work.chmod(0o755)
    say(f"building the lab's image (once): Debian {recipe.SUITE}, its storage tools, ZFS modules")
    children = [(rootfs.start_bootstrap(root, recipe.PACKAGES, work / "root.log", rootfs.single_file_hooks()), "root")]
    if not list(modules.glob("*/zfs.ko*")):
        children.append((rootfs.start_bootstrap(module_root, recipe.MODULE_PACKAGES, work / "modules.log"), "modules"))
    try:
        rootfs.wait_bootstrap(children[0][0], work / "root.log", _BOOTSTRAP_TIMEOUT_S)
        kernel = rootfs.kernel_version(root)
        say(f"Debian is installed, kernel {kernel}; the ZFS modules are being compiled")
        if len(children) == 1 and not (modules / kernel).exists():
            child = rootfs.start_bootstrap(module_root, recipe.MODULE_PACKAGES, work / "modules.log")
            children.append((child, "modules"))
        if len(children) == 2:
            rootfs.wait_bootstrap(children[1][0], work / "modules.log", _BOOTSTRAP_TIMEOUT_S)
            rootfs.keep_modules(module_root, modules)
    finally:
        for child, _ in children:
            child.end(term_grace_s=20.0)
    say("preparing the guest")
    _make_key(work)
    rootfs.finish(root, modules, (work / "key.pub").read_text())
    host_key = (root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()
    (work / "known_hosts").write_text(f"raidtui-lab {host_key[0]} {host_key[1]}\n")
    shutil.copyfile(root / "boot" / f"vmlinuz-{kernel}", work / "vmlinuz")
    (work / "initrd").write_bytes(initrd.build(root, kernel))
    say("writing the disk image")
    _make_disk(root, work)
    for leftover in (root, module_root):
        shutil.rmtree(leftover, ignore_errors=True)
    work.chmod(0o700)
    seconds = time.monotonic() - began
    write_atomic(work / "image.json", msgspec.json.encode(ImageInfo(kernel, round(seconds, 1))))
    say("the image is built")


def _make_key(work: Path) -> None:
    proc.run(["/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "raidtui-lab", "-f", str(work / "key")],
             timeout_s=30)  # fmt: skip


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


def _remove_leftovers() -> None:
    """What an interrupted build left. Called with the build lock held, so nobody works there."""
    for path in images_folder().glob(f"{_BUILDING}*"):
        shutil.rmtree(path, ignore_errors=True)
