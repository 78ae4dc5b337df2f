"""Pools for the tests of the zpool layer: options as scenario files write them, and disks that exist on paper."""

from __future__ import annotations

from typing import Any

from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack.layer import Part, Planned
from raidtui.stack.zfs import LAYER
from raidtui.stack.zfs.spec import ZpoolSpec

GIB = 1 << 30


def spec_of(*vdevs: dict[str, Any], **options: Any) -> ZpoolSpec:
    measured = {} if "dataset" in options else {"volume": {"size": "80%"}}
    return decode(ZpoolSpec, {"vdevs": list(vdevs), **measured, **options})


def disks(prefix: str, sizes: list[int]) -> tuple[Part, ...]:
    return tuple(
        Part(f"disk:{prefix}{i}", f"/dev/{prefix}{i}n1", size, 512, (f"{prefix}{i}",), True, False)
        for i, size in enumerate(sizes)
    )


def parts_of(counts: dict[str, int], size_bytes: int = 8 * GIB) -> dict[str, tuple[Part, ...]]:
    """Disks called after their input: `/dev/d00n1` for the first vdev's first, `/dev/l0n1` for the log."""
    prefixes = {name: f"d{name[6]}" if "." in name else name[0] for name in counts}
    return {name: disks(prefixes[name], [size_bytes] * count) for name, count in counts.items()}


def plan(spec: ZpoolSpec, counts: dict[str, int], size_bytes: int = 8 * GIB, policy: Policy | None = None) -> Planned:
    return LAYER.plan(spec, parts_of(counts, size_bytes), Names("abcd1234"), policy or Policy())
