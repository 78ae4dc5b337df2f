"""fio's own I/O engines for images of clusters: rbd for Ceph, and the one of Vitastor, which fio loads from a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.image import ImageAddress, RbdAddress, VitastorAddress, image_address
from raidtui.model.plan import TargetKind

VITASTOR_ENGINE: Final = "libfio_vitastor.so"


def ioengine(paths: Sequence[str], kind: TargetKind) -> str | None:
    """Return the I/O engine that opens these images, in place of the workload's; None for what is no image."""
    if kind != "image":
        return None
    return VITASTOR_ENGINE if paths and isinstance(_first(paths), VitastorAddress) else "rbd"


def opened(path: str) -> list[str]:
    """Return the options by which the engine opens an image."""
    image = image_address(path)
    if isinstance(image, RbdAddress):
        return [f"--clientname={image.user or 'admin'}", f"--pool={image.pool}", f"--rbdname={image.name}"]
    more = (("conf", image.config), ("etcd", image.etcd))
    return [f"--image={image.name}", *(f"--{name}={value}" for name, value in more if value is not None)]


def environment(paths: Sequence[str], kind: TargetKind) -> list[str]:
    """Return the command that tells librados its configuration, for which fio has no option; empty where none is needed."""
    image = _first(paths) if kind == "image" and paths else None
    if not isinstance(image, RbdAddress) or image.conf is None:
        return []
    return ["/usr/bin/env", f"CEPH_CONF={image.conf}"]


def _first(paths: Sequence[str]) -> ImageAddress:
    return image_address(paths[0])
