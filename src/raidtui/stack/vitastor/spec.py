"""Options of images in a pool of their own on an existing Vitastor cluster, and the objects that are built from them."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.units import Size
from raidtui.stack.clusters import AbsolutePath, Name

Through = Literal["engine", "nbd", "ublk"]
_ADDRESS: Final = r"[A-Za-z0-9._:/\[\]-]{1,128}"
Addresses = Annotated[str, Meta(pattern=f"^{_ADDRESS}(,{_ADDRESS}){{0,15}}$")]

BLOCK: Final = 4096
"""Smallest read or write of an image: the cluster's bitmap_granularity."""
DEFAULT_COPIES: Final = 3
DEFAULT_PGS: Final = 32


class VitastorCopies(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pool that keeps whole copies of the data."""

    size: Annotated[int, Meta(ge=1, le=7)] = DEFAULT_COPIES
    """Number of copies (pg_size)."""
    min_size: Annotated[int, Meta(ge=1, le=7)] | None = None
    """Number of copies without which nothing is written (pg_minsize). Default: vitastor-cli's."""


class VitastorPieces(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pool that keeps the data in k pieces, with m pieces of code."""

    k: Annotated[int, Meta(ge=2, le=20)]
    """Number of pieces of data."""
    m: Annotated[int, Meta(ge=1, le=10)] = 1
    """Number of pieces of code: as many may be lost."""
    min_size: Annotated[int, Meta(ge=2, le=30)] | None = None
    """Number of pieces without which nothing is written (pg_minsize). Default: vitastor-cli's, k."""
    scheme: Literal["ec", "xor"] = "ec"
    """xor: one piece of code, the parity of the others. The pool is made by `--ec k+1`, whose code is the same: one that is
    made by `--scheme xor` stays inactive.
    """


class VitastorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Images in a pool of their own on an existing Vitastor cluster, by fio's engine or as block devices of this server."""

    size: Annotated[Size, Meta(examples=["10GiB", "100GiB"])]
    """Size of each image, a whole number of MiB."""
    images: Annotated[int, Meta(ge=1, le=64)] = 1
    """Number of images, all with these options. They are loaded at the same time."""
    replicated: VitastorCopies | None = None
    """Copies of the data. Default: 3 copies, unless `erasure` is given."""
    erasure: VitastorPieces | None = None
    """Erasure coding of the data. Default: copies."""
    through: Through = "engine"
    """The client. engine: fio opens the image itself (libfio_vitastor.so); nbd: a block device by vitastor-nbd, on which
    other layers can stand; ublk: not supported.
    """
    config: AbsolutePath | None = None
    """Configuration file of the cluster on this server. Default: /etc/vitastor/vitastor.conf."""
    etcd: Addresses | None = None
    """Addresses of etcd, with commas between them: `10.0.0.1:2379/v3`. Default: those of the configuration file."""
    failure_domain: Name | None = None
    """Level over which copies or pieces are spread: osd, host, or one of the cluster's placement_levels. Default: host."""
    pg_num: Annotated[int, Meta(ge=1, le=65536)] = DEFAULT_PGS
    """Number of placement groups of the pool (pg_count)."""


class VitastorCluster(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reference to an existing cluster. None where Vitastor's own default holds."""

    config: str | None = None
    etcd: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Return the options of Vitastor's tools that name the cluster; they stand after the verb."""
        pairs = (("--config_path", self.config), ("--etcd_address", self.etcd))
        return tuple(word for name, value in pairs if value is not None for word in (name, value))


class VitastorPool(msgspec.Struct, frozen=True, omit_defaults=True):
    """Arguments of the steps of a pool with the images in it."""

    name: str
    uuid: str
    cluster: VitastorCluster
    images: tuple[str, ...]
    """Names of the images; they are unique in the whole cluster."""
    bytes: int
    """Size of all images together."""
    pg_num: int
    size: int = DEFAULT_COPIES
    """Number of copies; of pieces, k + m."""
    min_size: int | None = None
    pieces: tuple[int, int] | None = None
    """k and m; None for copies."""
    failure_domain: str | None = None


class VitastorImages(msgspec.Struct, frozen=True, omit_defaults=True):
    """Arguments of the steps of all images of a layout."""

    name: str
    uuid: str
    cluster: VitastorCluster
    pool: str
    images: tuple[str, ...]
    size_bytes: int
    """Size of each image."""
    through: Through = "engine"


def ref_of(image: str) -> str:
    """Return the reference of an image in steps."""
    return f"vitastor:{image}"
