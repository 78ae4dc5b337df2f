"""Flavours of the lab: what its image has beyond the plain one. `raidtui lab up --with NAME` takes one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.lab import recipe
from raidtui.model.problem import Exit, Refusal, fail

LAB_FLAVOUR: Final = Refusal(
    "lab.flavour",
    "The lab cannot have this flavour",
    "--with ceph gives the lab's only machine a Ceph cluster of its own; it does not go with --hosts. A lab that is up "
    "keeps what it came up with.",
    "Leave out --hosts, or take the lab down and bring it up again: raidtui lab down NAME.",
)


class Flavour(NamedTuple):
    """Packages and files beyond the plain image, and what its machine does before it is saved."""

    name: str
    packages: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files of these packages that are not installed, as patterns of dpkg's `path-exclude`."""
    folder: Path | None = None
    """`root/` is copied into the image; then `setup.sh` runs in it."""
    settle: str = ""
    """Line of shell: waits in the guest until all works, after every start and before the booted machine is saved."""

    @property
    def suffix(self) -> str:
        """Words for a message: ` with ceph`."""
        return f" with {self.name}" if self.name else ""

    def image_name(self) -> str:
        """Return the name of its image in the cache: the plain image's, or a hash of that and of what is added."""
        base = recipe.recipe_hash()
        if self.folder is None:
            return base
        digest = hashlib.sha256()
        for part in (base, self.packages, self.left_out):
            digest.update(repr(part).encode() + b"\0")
        recipe.hash_files(digest, self.folder)
        return f"{self.name}-{digest.hexdigest()[:16]}"


PLAIN: Final = Flavour("")

CEPH: Final = Flavour(
    "ceph",
    packages=("ceph-mon", "ceph-mgr", "ceph-osd", "ceph-common"),
    # Tools for repairs, gateways and CephFS, and the manager's modules: half of these packages.
    left_out=(
        "/usr/bin/ceph-objectstore-tool", "/usr/bin/ceph-bluestore-tool", "/usr/bin/ceph-kvstore-tool", "/usr/bin/ceph-syn",
        "/usr/bin/ceph-monstore-tool", "/usr/bin/ceph-osdomap-tool", "/usr/bin/cephfs-*", "/usr/bin/radosgw-admin",
        "/usr/lib/x86_64-linux-gnu/librgw.so*", "/usr/share/ceph/mgr/*",
    ),
    folder=Path(__file__).with_name("with_ceph"),
    settle="/usr/local/sbin/lab-ceph wait",
)

FLAVOURS: Final = {flavour.name: flavour for flavour in (CEPH,)}


def flavour_of(name: str) -> Flavour:
    """Return a flavour by its name; the plain one for the empty name. Raises ProblemError (`lab.flavour`)."""
    if not name:
        return PLAIN
    if name not in FLAVOURS:
        raise fail(LAB_FLAVOUR, f"there is no lab with {name}", exit=Exit.REFUSED, remedy=f"--with {' or '.join(FLAVOURS)}")
    return FLAVOURS[name]
