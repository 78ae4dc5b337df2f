"""Names of packages in each distribution, and the command that installs them. Remedies name those of Debian."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import MappingProxyType
from typing import Final, NamedTuple


class Installer(NamedTuple):
    """A package manager: the command before the names of packages, and the one that reads its lists anew."""

    argv: tuple[str, ...]
    refresh: str


INSTALLERS: Final = MappingProxyType({
    "apt": Installer(
        ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--assume-yes", "--no-install-recommends"),
        "apt-get update",
    ),
    "dnf": Installer(("dnf", "install", "--assumeyes"), "dnf makecache"),
    "zypper": Installer(("zypper", "--non-interactive", "install"), "zypper refresh"),
})  # fmt: skip
_FAMILIES: Final = MappingProxyType({
    **dict.fromkeys(("debian", "ubuntu", "proxmox", "raspbian", "linuxmint"), "apt"),
    **dict.fromkeys(("fedora", "rhel", "centos", "rocky", "almalinux", "ol"), "dnf"),
    **dict.fromkeys(("opensuse-leap", "opensuse-tumbleweed", "opensuse", "sles", "suse"), "zypper"),
})  # fmt: skip
_NAMES: Final = MappingProxyType({
    "thin-provisioning-tools": ("device-mapper-persistent-data", "thin-provisioning-tools"),
    "dmsetup": ("device-mapper", "device-mapper"),
    "ceph-common": ("ceph-common", "ceph-common"),
    "btrfs-progs": ("btrfs-progs", "btrfsprogs"),
    "postgresql": ("postgresql-contrib", "postgresql-contrib"),
    "gir1.2-blockdev-3.0": ("libblockdev", "typelib-1_0-BlockDev-3_0"),
    "python3-blockdev": ("python3-blockdev", "python3-libblockdev"),
    "python3-bytesize": ("python3-bytesize", "python3-libbytesize"),
    "python3-gi": ("python3-gobject-base", "python3-gobject"),
    "python3-parted": ("python3-pyparted", "python3-parted"),
    "python3-selinux": ("python3-libselinux", "python3-selinux"),
    **{f"libblockdev-{name}3": (f"libblockdev-{name}", f"libbd_{name}3")
       for name in ("mdraid", "lvm", "crypto", "fs", "part", "swap")},
    **dict.fromkeys(("zfsutils-linux", "zfs-dkms", "python3-pyzfs", "iozone3"), ("", "")),
})  # fmt: skip
"""Names for dnf and zypper where they are not Debian's; empty if the distributions have no such package."""
_PACKAGE: Final = r"[a-z0-9][A-Za-z0-9.+_-]*"
_REMEDY: Final = re.compile(rf"apt install ({_PACKAGE}(?: {_PACKAGE})*)")


def family_of(distribution: str) -> str:
    """Return `apt`, `dnf` or `zypper` for ID and ID_LIKE of os-release, separated by blanks; empty if none is known."""
    return next((_FAMILIES[word] for word in distribution.replace('"', " ").split() if word in _FAMILIES), "")


def named_in(remedy: str) -> tuple[str, ...]:
    """Return the packages that a remedy says to install."""
    found = _REMEDY.search(remedy)
    return tuple(found[1].split()) if found else ()


def translated(distribution: str, packages: Iterable[str]) -> tuple[str, ...]:
    """Return the packages of a distribution for these of Debian, without those that it does not have."""
    family = family_of(distribution)
    if family in ("", "apt"):
        return tuple(packages)
    names = (_NAMES.get(name, (name, name))[family == "zypper"] for name in packages)
    return tuple(dict.fromkeys(name for name in names if name))


def remedy_for(distribution: str, remedy: str) -> str:
    """Return a remedy with the package manager and the package names of a distribution."""
    packages, family = named_in(remedy), family_of(distribution)
    if not packages or family in ("", "apt"):
        return remedy
    found = translated(distribution, packages)
    instead = f"{family} install {' '.join(found)}" if found else f"{' '.join(packages)}: not in this distribution"
    return _REMEDY.sub(instead, remedy, count=1)


def install_argv(distribution: str, packages: Iterable[str]) -> tuple[str, ...]:
    """Return the command that installs these packages of a distribution; empty if there is none, or nothing to install."""
    family, names = family_of(distribution), tuple(dict.fromkeys(packages))
    if not family or not names or not all(re.fullmatch(_PACKAGE, name) for name in names):
        return ()
    return (*INSTALLERS[family].argv, *names)
