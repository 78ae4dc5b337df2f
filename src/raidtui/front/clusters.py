"""Storage clusters in words: a line for each, its complaints, pools, and OSDs by host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from raidtui.base.text import clean, plural
from raidtui.model.cluster import ClusterOsd, ClusterView
from raidtui.model.units import size_text

POOL_TITLES: Final = ("POOL", "DATA AS", "MIN", "USED", "FREE")
OSD_TITLES: Final = ("OSD", "STATE", "CLASS", "SIZE", "USED")
_KINDS: Final = {"ceph": "Ceph", "vitastor": "Vitastor"}
_HEALTH: Final = {"ok": "health OK", "warning": "health WARNING", "error": "health ERROR"}
_DASH: Final = "–"


def name_of(view: ClusterView) -> str:
    """`Ceph 11111111` by the start of its fsid, else by its configuration file."""
    return f"{_KINDS[view.kind]} {clean(view.id[:8], 8) or clean(view.conf, 60)}"


def summary(view: ClusterView) -> str:
    """`Ceph 11111111: health OK, 3 of 3 OSDs up, 2 pools, 18.0 GiB, 1 % used`; of one that was not reached why not."""
    if view.health is None:
        why = clean(view.problems[0].message, 300) if view.problems else "it was not asked"
        return f"{name_of(view)} was not reached: {why}"
    up, inside = sum(osd.up for osd in view.osds), sum(osd.inside for osd in view.osds)
    osds = f"{up} of {plural(len(view.osds), 'OSD')} up"
    osds += f", {inside} in" if inside != len(view.osds) else ""
    parts = [_HEALTH[view.health], osds, plural(len(view.pools), "pool")]
    if view.size_bytes and view.used_bytes is not None:
        parts += [size_text(view.size_bytes), f"{_percent(100 * view.used_bytes / view.size_bytes)} used"]
    return f"{name_of(view)}: {', '.join(parts)}"


class Complaint(NamedTuple):
    """A complaint of a cluster, or a problem with asking it."""

    words: str
    counts: bool
    """False for a check that the operator muted."""


def complaints(view: ClusterView) -> Iterator[Complaint]:
    """Yield what is wrong, what the operator muted last."""
    for problem in view.problems:
        yield Complaint(f"{clean(problem.message, 300)} [{clean(problem.code)}]", True)
    for check in sorted(view.checks, key=lambda check: check.muted):
        words = f"{clean(check.code, 60)}: {clean(check.text, 300)}"
        yield Complaint(f"{words} (muted)" if check.muted else words, not check.muted)


def groups_line(view: ClusterView) -> str:
    """`placement groups: 12 active+clean, 4 peering`; empty if there are none."""
    found = ", ".join(f"{count} {clean(state, 60)}" for state, count in view.groups.items())
    return f"placement groups: {found}" if found else ""


def pool_rows(view: ClusterView) -> Iterator[tuple[str, ...]]:
    """Yield the cells of `POOL_TITLES` for each pool."""
    for pool in view.pools:
        state = f" ({clean(pool.state, 20)})" if pool.state not in ("", "active") else ""
        sizes = (_size(pool.used_bytes), _size(pool.free_bytes))
        yield (clean(pool.name, 60) + state, pool.coding, str(pool.min_size), *sizes)


def host_line(host: str, osds: tuple[ClusterOsd, ...]) -> str:
    """`node1: 3 of 3 OSDs up`, and how full its fullest one is."""
    fullest = max((osd.used_percent for osd in osds if osd.used_percent is not None), default=None)
    full = f", the fullest {_percent(fullest)}" if fullest is not None and len(osds) > 1 else ""
    return f"{clean(host, 60) or 'no host'}: {sum(osd.up for osd in osds)} of {plural(len(osds), 'OSD')} up{full}"


def osd_row(osd: ClusterOsd) -> tuple[str, ...]:
    """Return the cells of `OSD_TITLES`."""
    state = f"{'up' if osd.up else 'DOWN'}, {'in' if osd.inside else 'OUT'}"
    used = _percent(osd.used_percent) if osd.used_percent is not None else _DASH
    return clean(osd.name, 20), state, clean(osd.device_class, 20) or _DASH, _size(osd.size_bytes), used


def _size(size_bytes: int | None) -> str:
    return size_text(size_bytes) if size_bytes is not None else _DASH


def _percent(percent: float) -> str:
    return "< 1 %" if 0 < percent < 1 else f"{percent:.0f} %"
