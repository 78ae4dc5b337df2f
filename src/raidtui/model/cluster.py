"""Storage clusters that a server reaches (Ceph, Vitastor): health, pools, and OSDs by host. Answer to `clusters`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.problem import Problem

CLUSTERS_SCHEMA: Final = "raidtui.clusters/1"
Health = Literal["ok", "warning", "error"]


class ClusterCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that the cluster complains about."""

    code: str
    """The cluster's own name for it: `OSD_NEARFULL`."""
    text: str
    health: Health
    muted: bool = False
    """The operator muted it: it does not count for the cluster's health."""


class ClusterPool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pool of the cluster."""

    name: str
    kind: Literal["replicated", "erasure"]
    size: int
    """Copies, or pieces of data and code together."""
    min_size: int
    """Copies or pieces without which nothing is written."""
    data_pieces: int | None = None
    """k of an erasure-coded pool; the m pieces of code are the rest of `size`."""
    used_bytes: int | None = None
    """With all copies and pieces."""
    free_bytes: int | None = None
    """Room for data of this pool."""
    state: str = ""
    """Vitastor alone has a state of a pool: `active`."""

    @property
    def coding(self) -> str:
        """`3 copies`, `4+2`, or `6 pieces` where k is not known."""
        if self.kind == "replicated":
            return f"{self.size} copies"
        return f"{self.size} pieces" if self.data_pieces is None else f"{self.data_pieces}+{self.size - self.data_pieces}"


class ClusterOsd(msgspec.Struct, frozen=True, omit_defaults=True):
    """A daemon that keeps data on one disk."""

    name: str
    host: str
    """Host by the cluster's own map; empty if the map has none."""
    up: bool
    inside: bool
    """The cluster keeps data on it ("in")."""
    device_class: str = ""
    size_bytes: int | None = None
    used_bytes: int | None = None

    @property
    def used_percent(self) -> float | None:
        if not self.size_bytes or self.used_bytes is None:
            return None
        return 100 * self.used_bytes / self.size_bytes


class ClusterView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One cluster, as its monitors tell it."""

    kind: Literal["ceph", "vitastor"]
    conf: str
    """Configuration file on the server by which it was found."""
    id: str = ""
    """fsid of a Ceph cluster."""
    health: Health | None = None
    """None if the cluster was not reached; `problems` says why."""
    checks: tuple[ClusterCheck, ...] = ()
    groups: dict[str, int] = {}
    """Number of placement groups by state."""
    size_bytes: int | None = None
    used_bytes: int | None = None
    pools: Annotated[tuple[ClusterPool, ...], Meta(max_length=10_000)] = ()
    osds: Annotated[tuple[ClusterOsd, ...], Meta(max_length=100_000)] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def hosts(self) -> dict[str, tuple[ClusterOsd, ...]]:
        """Return the OSDs by host, in the cluster's order."""
        found: dict[str, list[ClusterOsd]] = {}
        for osd in self.osds:
            found.setdefault(osd.host, []).append(osd)
        return {host: tuple(osds) for host, osds in found.items()}


class ClusterList(msgspec.Struct, frozen=True):
    """Clusters whose configuration and key this server has."""

    schema: str
    """`raidtui.clusters/1`"""
    host: str
    clusters: tuple[ClusterView, ...] = ()
