"""Arrays for the tests of the md layer: options as scenario files write them, and disks that exist on paper."""

from __future__ import annotations

from typing import Any

from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack.layer import Part, Planned
from raidtui.stack.md import LAYER
from raidtui.stack.md.spec import MdSpec

GIB = 1 << 30


def spec_of(**options: Any) -> MdSpec:
    return decode(MdSpec, {"on": "@data", **options})


def disks(prefix: str, sizes: list[int], sector: int = 512) -> tuple[Part, ...]:
    return tuple(
        Part(f"disk:{prefix}{i}", f"/dev/{prefix}{i}", size, sector, (f"{prefix}{i}",), True, False)
        for i, size in enumerate(sizes)
    )


def plan(spec: MdSpec, counts: dict[str, int], size_bytes: int = 8 * GIB, policy: Policy | None = None) -> Planned:
    parts = {name: disks(name, [size_bytes] * count) for name, count in counts.items()}
    return LAYER.plan(spec, parts, Names("abcd1234"), policy or Policy())
