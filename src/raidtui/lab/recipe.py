"""Contents of the lab image: packages, sizes, and the files under `guest/`. All of it is hashed into the cache key."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path
from typing import Final

from raidtui.load.catalog import engines

RECIPE_VERSION: Final = 1
"""To be raised when the code that builds changes the image without changing anything hashed below."""

SUITE: Final = "trixie"
COMPONENTS: Final = "main,contrib"
GUEST_PYTHON: Final = "python3.13"
ROOT_SIZE_BYTES: Final = 6 << 30
GUEST_FOLDER: Final = Path(__file__).with_name("guest")

PACKAGES: Final = (
    # the system
    "systemd-sysv", "udev", "dbus", "kmod", "iproute2", "procps", "busybox-static", "openssh-server", "linux-image-amd64",
    # Python, and what raidtui and blivet import
    "python3", "python3-msgspec", "python3-psutil", "python3-pyudev", "python3-rich", "python3-packaging", "python3-gi",
    "gir1.2-blockdev-3.0",
    "python3-blockdev", "python3-bytesize", "python3-parted", "python3-selinux", "python3-dasbus", "python3-pyzfs",
    "libblockdev-mdraid3", "libblockdev-lvm3", "libblockdev-nvme3", "libblockdev-smart3", "libblockdev-fs3",
    "libblockdev-part3", "libblockdev-loop3", "libblockdev-dm3", "libblockdev-swap3", "libblockdev-crypto3",
    "libblockdev-btrfs3",
    # storage
    "mdadm", "lvm2", "thin-provisioning-tools", "vdo", "bcache-tools", "dmsetup", "zfsutils-linux", "xfsprogs",
    "e2fsprogs", "btrfs-progs", "f2fs-tools", "dosfstools", "cryptsetup-bin", "nvme-cli", "smartmontools", "sg3-utils",
    "gdisk", "parted", "pciutils", "util-linux-extra",
    # exports over a network, and their clients
    "open-iscsi", "python3-rtslib-fb", "rdma-core", "ibverbs-providers", "ibverbs-utils", "rdmacm-utils",
    # measuring and looking
    "fio", "iperf3", "perftest", "iputils-ping", "sysstat", "lsof", "strace",
)  # fmt: skip

MODULE_PACKAGES: Final = ("linux-headers-amd64", "zfs-dkms")
"""Packages of the temporary root in which the ZFS modules are compiled."""

WHEELS: Final = ("blivet==3.14.2",)
"""Pure Python, not in Debian."""

SINGLE_FILES: Final = (("postgresql-17", "usr/lib/postgresql/17/bin/pg_test_fsync"),)
"""One file of a package whose rest (a database server with its compiler) is not wanted."""

INITRD_MODULES: Final = ("virtio_blk", "ext4", "crc32c_generic")


def packages() -> tuple[str, ...]:
    """Return the packages of the image: those above, and what workload engines name beyond them."""
    named = {package for engine in engines().values() for tool in engine.tools for package in tool.packages}
    return (*PACKAGES, *sorted(named.difference(PACKAGES)))


def recipe_hash() -> str:
    """Return the key of the image in the cache: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in (RECIPE_VERSION, platform.machine(), SUITE, COMPONENTS, ROOT_SIZE_BYTES, packages(), MODULE_PACKAGES,
                 WHEELS, SINGLE_FILES, INITRD_MODULES):  # fmt: skip
        digest.update(repr(part).encode() + b"\0")
    hash_files(digest, GUEST_FOLDER)
    return digest.hexdigest()[:16]


def hash_files(digest: hashlib._Hash, folder: Path) -> None:
    """Add the files of a folder to a hash: their names, whether they can be executed, and their contents."""
    for path in guest_files(folder):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_mode & 0o111:o}\0".encode())
        digest.update(path.read_bytes() + b"\0")


def guest_files(folder: Path = GUEST_FOLDER) -> list[Path]:
    """Return the files of the guest folder, or of another one, in a stable order."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
