"""Build the lab image into a folder. Needs root; `python -m raidtui.lab.build FOLDER UID GID` is run through sudo."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from raidtui.base import proc
from raidtui.base.files import write_atomic
from raidtui.lab import initrd, recipe
from raidtui.lab.build_progress import TELL_EVERY_S, BuildProgress
from raidtui.lab.flavours import PLAIN, Flavour, flavour_of
from raidtui.lab.host import PIP_INSTALL, Say, python_with_pip, timed, tool
from raidtui.lab.state import all_pids, kill_all
from raidtui.model.problem import Exit, ProblemError, Refusal, fail

LAB_BOOTSTRAP_FAILED: Final = Refusal(
    "lab.bootstrap-failed",
    "Debian could not be installed for the lab",
    "mmdebstrap failed while it filled the folder of the lab image; the message quotes its log.",
    "Check that this machine reaches its Debian mirror (`apt-get update`), then run `raidtui lab up` again.",
)
LAB_KERNEL: Final = Refusal(
    "lab.kernel",
    "The lab image does not have exactly one kernel",
    "The installed packages brought no kernel, or several; the lab boots the only one.",
    "Run `raidtui lab up` again once the Debian mirror is consistent.",
)
LAB_MODULES: Final = Refusal(
    "lab.modules",
    "The ZFS modules of the lab were not compiled",
    "DKMS built no ZFS modules for the kernel of the lab image.",
    "See modules.log in the build folder; usually the headers on the mirror do not match the kernel yet. Try again later.",
)
LAB_NO_PIP: Final = Refusal(
    "lab.no-pip",
    "pip is not installed",
    "blivet is not in Debian; pip downloads it for the lab.",
    "apt-get install python3-pip",
)
LAB_PACKAGE: Final = Refusal(
    "lab.package",
    "A package is missing in the lab image",
    "The Debian installation finished without a package that the lab needs.",
    "Run `raidtui lab up` again.",
)
LAB_ROOT: Final = Refusal(
    "lab.root",
    "Building the lab image needs root",
    "The image is a Debian installation in a folder, which only root can make. It is built once.",
    "Run `raidtui lab up` as root, or as a user who may use sudo.",
)

_BOOTSTRAP_TIMEOUT_S = 3600.0


class ImageInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Description of a finished image (`image.json`)."""

    kernel: str
    zfs: str
    build_seconds: float
    flavour: str = ""


def build(work: Path, modules: Path, say: Say, flavour: Flavour = PLAIN) -> None:
    """Build into the empty folder `work`: root.qcow2, vmlinuz, initrd, key, key.pub, known_hosts and, last, image.json.

    `modules` keeps compiled ZFS modules by kernel and ZFS version, so that only new versions cost minutes.
    """
    began = time.monotonic()
    say = timed(say)
    root, module_root = work / "root", work / "module-root"
    # The package manager's own user must be able to reach the folders that it fills.
    work.chmod(0o755)
    say(f"building the lab's image{flavour.suffix}, once: Debian {recipe.SUITE}, storage tools, ZFS modules")
    mirror = mirror_lines()
    compiling = None if list(modules.glob("*/zfs.ko*")) else _start_modules(module_root, work, mirror)
    progress = BuildProgress(module_root, say)
    packages = (*recipe.packages(), *flavour.packages)
    options = [*single_file_hooks(), *(f"--dpkgopt=path-exclude={pattern}" for pattern in flavour.left_out)]
    installing = start_bootstrap(root, packages, work / "root.log", mirror, options)
    try:
        wait_bootstrap(installing, work / "root.log", progress.tell)
        kernel, zfs = kernel_version(root), package_version(root, "zfsutils-linux")
        kept = modules / f"{kernel}_{zfs}"
        say(f"Debian is installed, kernel {kernel}, ZFS {zfs}")
        if not (kept / "zfs.ko.xz").exists():
            say("compiling the ZFS modules; this takes the longest")
            compiling = compiling or _start_modules(module_root, work, mirror)
            wait_bootstrap(compiling, work / "modules.log", progress.tell)
            keep_modules(module_root, kernel, kept)
    finally:
        for child in (installing, compiling):
            if child is not None:
                # unshare forwards no signals, but its death kills all its children.
                child.end(term_grace_s=0.0)
    say("preparing the guest")
    _make_key(work / "key")
    finish(root, kernel, kept, (work / "key.pub").read_text())
    if flavour.folder is not None:
        _add_files(root, kernel, flavour.folder)
    host_key = (root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()
    (work / "known_hosts").write_text(f"raidtui-lab {host_key[0]} {host_key[1]}\n")
    shutil.copyfile(root / "boot" / f"vmlinuz-{kernel}", work / "vmlinuz")
    (work / "initrd").write_bytes(initrd.build(root, kernel))
    say("writing the disk image")
    _make_disk(root, work)
    for folder in (root, module_root):
        shutil.rmtree(folder, ignore_errors=True)
    work.chmod(0o700)
    described = ImageInfo(kernel, zfs, round(time.monotonic() - began, 1), flavour.name)
    write_atomic(work / "image.json", msgspec.json.encode(described))
    say("the image is built")


def end_builders(work: Path) -> None:
    """End the bootstraps of a build whose own process has died."""
    kill_all(lambda: [pid for pid in all_pids() if _builds_in(pid, work)])


def _builds_in(pid: int, work: Path) -> bool:
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    roots = {os.fsencode(work / "root"), os.fsencode(work / "module-root")}
    return argv[0].endswith(b"/unshare") and not roots.isdisjoint(argv)


def _start_modules(root: Path, work: Path, mirror: Sequence[str]) -> proc.Child:
    return start_bootstrap(root, recipe.MODULE_PACKAGES, work / "modules.log", mirror)


def _make_key(path: Path) -> None:
    proc.run([tool("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", "raidtui-lab", "-f", str(path)], timeout_s=30)


def _make_disk(root: Path, work: Path) -> None:
    """Write the folder as a filesystem image, without a mount."""
    raw = work / "root.raw"
    with raw.open("wb") as file:
        file.truncate(recipe.ROOT_SIZE_BYTES)
    # No lazy initialisation: it would write in the background of the first measurements.
    options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    proc.run([tool("mke2fs"), "-q", "-t", "ext4", "-F", "-E", options, "-m", "0", "-N", "200000", "-J", "size=64",
              "-L", "raidtui-lab", "-d", str(root), str(raw)], timeout_s=900)  # fmt: skip
    argv = [tool("qemu-img"), "convert", "-f", "raw", "-O", "qcow2", str(raw), str(work / "root.qcow2")]
    proc.run(argv, timeout_s=900)
    raw.unlink()
    (work / "root.qcow2").chmod(0o400)


def _main(words: Sequence[str]) -> int:
    work, uid, gid, flavour = Path(words[0]), int(words[1]), int(words[2]), flavour_of(words[3])
    modules = work.parent / "modules"
    try:
        build(work, modules, lambda line: print(line, file=sys.stderr, flush=True), flavour)
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


def build_through_sudo(work: Path, flavour: Flavour = PLAIN) -> None:
    """Run this module as root; sudo asks for its password on the terminal."""
    sudo = proc.find_tool("sudo")
    if sudo is None:
        raise fail(LAB_ROOT, "building the lab's image needs root, once", exit=Exit.REFUSED,
                   remedy="run raidtui lab up as root, or install sudo")  # fmt: skip
    argv = [sudo, "--", sys.executable, "-m", "raidtui.lab.build", str(work), str(os.getuid()), str(os.getgid()),
            flavour.name]  # fmt: skip
    child = proc.spawn(argv, stdin=None, env=dict(os.environ))
    try:
        code = child.wait(2 * _BOOTSTRAP_TIMEOUT_S)
    finally:
        child.end(term_grace_s=30.0)
    if code != 0:
        raise fail(LAB_ROOT, "building the lab's image as root failed", exit=Exit.BUILD_FAILED,
                   remedy="see the lines above; sudo must be allowed")  # fmt: skip


OWN_NAMESPACES: Final = ("--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--")
"""Arguments of unshare: mounts of the command are not visible outside, and its children do not survive it."""
_LEAN = (
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=Acquire::Languages "none"',
    '--aptopt=Acquire::Retries "3"',
    "--dpkgopt=force-unsafe-io",
    "--dpkgopt=force-confold",
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale", "info")),
    # The lab has another initrd, and Debian's takes a minute to make.
    "--dpkgopt=path-exclude=/etc/kernel/postinst.d/initramfs-tools",
)
_DEFAULT_MIRRORS = ("deb.debian.org", "ftp.debian.org", "cdn-fastly.deb.debian.org", "snapshot.debian.org")


def start_bootstrap(
    root: Path, packages: Sequence[str], log: Path, mirror: Sequence[str], options: Sequence[str] = ()
) -> proc.Child:
    """Start to install a Debian into the folder `root`; needs root."""
    argv = [
        tool("unshare"), *OWN_NAMESPACES,
        tool("mmdebstrap"), "--mode=root", "--variant=minbase", "--format=directory", "--architectures=amd64",
        f"--components={recipe.COMPONENTS}", *_LEAN, *options,
        f"--include={','.join(packages)}", recipe.SUITE, str(root), *mirror,
    ]  # fmt: skip
    with log.open("wb") as file:
        return proc.spawn(argv, stdout=file, stderr=proc.STDOUT, env=_with_callers_network())


def mirror_lines() -> list[str]:
    """Return sources for mmdebstrap: the mirror of this machine's Debian; empty for mmdebstrap's default."""
    apt = proc.find_tool("apt-get")
    if apt is None:
        return []
    wanted = "$(ORIGIN) $(LABEL) $(REPO_URI)"
    listed = proc.run([apt, "indextargets", "--format", wanted], timeout_s=60, check=False).text.splitlines()
    mirrors = [line.split(" ", 2)[2].rstrip("/") for line in listed if line.startswith("Debian Debian http")]
    if not mirrors or urlsplit(mirrors[0]).hostname in _DEFAULT_MIRRORS:
        return []
    components = recipe.COMPONENTS.replace(",", " ")
    return [f"deb {mirrors[0]} {suite} {components}" for suite in (recipe.SUITE, f"{recipe.SUITE}-updates")]


def single_file_hooks() -> list[str]:
    """Return the mmdebstrap hooks that extract one file of a package."""
    return [
        f'--customize-hook=chroot "$1" sh -c "cd /var/tmp && apt-get -q download {package}" && '
        f'dpkg-deb --fsys-tarfile "$1"/var/tmp/{package}_*.deb | tar -x -C "$1" ./{path} && rm "$1"/var/tmp/*.deb'
        for package, path in recipe.SINGLE_FILES
    ]


def wait_bootstrap(child: proc.Child, log: Path, tell: Callable[[], None]) -> None:
    """Wait for `start_bootstrap`, and call `tell` now and then; a failure quotes the end of its log."""
    until = time.monotonic() + _BOOTSTRAP_TIMEOUT_S
    while (code := child.wait(TELL_EVERY_S)) is None and time.monotonic() < until:
        tell()
    if code == 0:
        return
    child.end()
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "W: Failed", "Err:"))]
    raise fail(
        LAB_BOOTSTRAP_FAILED,
        f"installing Debian for the lab failed: {' / '.join((errors or lines)[-4:])}",
        remedy="check that this machine reaches its Debian mirror (`apt-get update`), then try again",
        exit=Exit.BUILD_FAILED,
    )


def kernel_version(root: Path) -> str:
    """Return the version of the only kernel in `root`."""
    versions = sorted(p.name.removeprefix("vmlinuz-") for p in (root / "boot").glob("vmlinuz-*"))
    if len(versions) != 1:
        raise fail(LAB_KERNEL, f"the lab's root has {len(versions)} kernels instead of one", exit=Exit.BUILD_FAILED)
    return versions[0]


def package_version(root: Path, package: str) -> str:
    """Return the installed version of a package, without Debian's revision."""
    for record in (root / "var/lib/dpkg/status").read_text().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in record.splitlines() if ": " in line and line[0] != " ")
        if fields.get("Package") == package:
            return fields["Version"].split("-")[0]
    raise fail(LAB_PACKAGE, f"{package} is not in the lab's root", exit=Exit.BUILD_FAILED)


def keep_modules(module_root: Path, kernel: str, kept: Path) -> None:
    """Copy the ZFS modules that were compiled for `kernel` out of the temporary root, as one step."""
    built = sorted((module_root / "usr/lib/modules" / kernel / "updates/dkms").glob("*.ko*"))
    if not built:
        raise fail(LAB_MODULES, f"no ZFS modules were compiled for the lab's kernel {kernel}", exit=Exit.BUILD_FAILED)
    fresh = kept.with_name(f".{kept.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for module in built:
        shutil.copy2(module, fresh / module.name)
    shutil.rmtree(kept, ignore_errors=True)
    fresh.rename(kept)


def finish(root: Path, kernel: str, modules: Path, public_key: str) -> None:
    """Turn the new Debian in `root` into the lab: add modules, wheels and guest files, and run `guest/setup.sh` in it."""
    shutil.copytree(modules, root / "usr/lib/modules" / kernel / "updates/dkms", dirs_exist_ok=True)
    _install_wheels(root / "usr/local/lib" / recipe.GUEST_PYTHON / "dist-packages")
    ssh = root / "root/.ssh"
    ssh.mkdir(mode=0o700, parents=True, exist_ok=True)
    (ssh / "authorized_keys").write_text(public_key)
    _add_files(root, kernel, recipe.GUEST_FOLDER)


def _add_files(root: Path, kernel: str, folder: Path) -> None:
    """Copy the files of a folder into the image, and run its `setup.sh` there."""
    shutil.copytree(folder / "root", root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    # Not every way to install raidtui keeps the mode of a file.
    for path in recipe.guest_files(folder / "root"):
        if {"bin", "sbin"}.intersection(path.parts):
            (root / path.relative_to(folder / "root")).chmod(0o755)
    # Read by the shell inside, because /proc is not mounted there and the script lies outside.
    script = (folder / "setup.sh").read_bytes()
    proc.run([tool("chroot"), str(root), "/bin/sh", "-s", kernel], timeout_s=300, input_bytes=script)


def _install_wheels(target: Path) -> None:
    """Download the Python packages that Debian lacks into the guest; on this machine, where certificates are trusted."""
    target.mkdir(parents=True, exist_ok=True)
    python = python_with_pip()
    if python is None:
        raise fail(LAB_NO_PIP, "no pip to fetch blivet for the lab with", remedy="apt-get install python3-pip")
    proc.run([python, *PIP_INSTALL, "--target", str(target), *recipe.WHEELS], timeout_s=300, env=_with_callers_network())


def _with_callers_network() -> dict[str, str]:
    """Return the clean environment with the caller's variables for proxies, certificates and pip."""
    wanted = ("_proxy", "_cert", "_ca_bundle", "ssl_cert_file", "ssl_cert_dir")
    extra = {k: v for k, v in os.environ.items() if k.lower().endswith(wanted) or k.startswith("PIP_") or k == "HOME"}
    return proc.CLEAN_ENV | extra


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
