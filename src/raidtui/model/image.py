"""Address of an image that a workload's tool opens itself, by a library of its cluster: no device of this server."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PATTERN: Final = re.compile(r"rbd:([^/:]+)/([^/:]+)(?::id=([^:]+))?(?::conf=([^:]+))?")


class ImageAddress(NamedTuple):
    """An image of a Ceph cluster (RBD). Its text is QEMU's: `rbd:POOL/IMAGE:id=USER:conf=FILE`."""

    pool: str
    name: str
    user: str | None = None
    """None: Ceph's default, admin."""
    conf: str | None = None
    """None: Ceph's default, /etc/ceph/ceph.conf."""

    def __str__(self) -> str:
        more = (f":{key}={value}" for key, value in (("id", self.user), ("conf", self.conf)) if value is not None)
        return f"rbd:{self.pool}/{self.name}{''.join(more)}"


def image_address(text: str) -> ImageAddress:
    """Return the address with this text. Raises ValueError."""
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no address of an image")
    return ImageAddress(*found.groups())
