"""Address of an image that a workload's tool opens itself, by a library of its cluster: no device of this server."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_RBD: Final = re.compile(r"rbd:([^/:]+)/([^/:]+)(?::id=([^:]+))?(?::conf=([^:]+))?")
_VITASTOR: Final = re.compile(r"vitastor:image=([^:]+)(?::config_path=([^:]+))?(?::etcd_address=(.+))?")


class RbdAddress(NamedTuple):
    """An image of a Ceph cluster (RBD). Its text is QEMU's: `rbd:POOL/IMAGE:id=USER:conf=FILE`."""

    pool: str
    name: str
    user: str | None = None
    """None: Ceph's default, admin."""
    conf: str | None = None
    """None: Ceph's default, /etc/ceph/ceph.conf."""

    def __str__(self) -> str:
        return f"rbd:{self.pool}/{self.name}{_options(id=self.user, conf=self.conf)}"


class VitastorAddress(NamedTuple):
    """An image of a Vitastor cluster: `vitastor:image=IMAGE:config_path=FILE:etcd_address=ADDRESSES`."""

    name: str
    config: str | None = None
    """None: Vitastor's default, /etc/vitastor/vitastor.conf."""
    etcd: str | None = None
    """Addresses of etcd, with commas between them. None: those of the configuration."""

    def __str__(self) -> str:
        return f"vitastor:image={self.name}{_options(config_path=self.config, etcd_address=self.etcd)}"


ImageAddress = RbdAddress | VitastorAddress


def _options(**given: str | None) -> str:
    return "".join(f":{key}={value}" for key, value in given.items() if value is not None)


def image_address(text: str) -> ImageAddress:
    """Return the address with this text. Raises ValueError."""
    if (found := _RBD.fullmatch(text)) is not None:
        return RbdAddress(*found.groups())
    if (found := _VITASTOR.fullmatch(text)) is not None:
        return VitastorAddress(*found.groups())
    raise ValueError(f"{text!r} is no address of an image")
