"""Volumes for the tests of the LVM layer: options as scenario files write them, and disks that exist on paper."""

from __future__ import annotations

from typing import Any

from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack.layer import Part, Planned
from raidtui.stack.lvm import LAYER
from raidtui.stack.lvm.spec import LvmSpec

GIB = 1 << 30
PLACE = "$.layouts.x.lvm"


def spec_of(**options: Any) -> LvmSpec:
    return decode(LvmSpec, {"on": "@data"} | options)


def disks(prefix: str, sizes: list[int], sector: int = 512) -> tuple[Part, ...]:
    prefix = prefix.replace(".on", "")
    return tuple(
        Part(f"disk:{prefix}{i}", f"/dev/{prefix}{i}", size, sector, (f"{prefix}{i}",), True, False)
        for i, size in enumerate(sizes)
    )


def parts_of(counts: dict[str, int], size_bytes: int = 8 * GIB) -> dict[str, tuple[Part, ...]]:
    return {name: disks(name, [size_bytes] * count) for name, count in counts.items()}


def plan(spec: LvmSpec, counts: dict[str, int], size_bytes: int = 8 * GIB, policy: Policy | None = None) -> Planned:
    return LAYER.plan(spec, parts_of(counts, size_bytes), Names("abcd1234"), policy or Policy())


def commands(planned: Planned) -> dict[str, tuple[tuple[str, ...], ...]]:
    """By action, without the options that every command has."""
    return {draft.action: tuple(map(short, draft.commands)) for draft in planned.build}


def short(argv: tuple[str, ...]) -> tuple[str, ...]:
    at = argv.index("--devices")
    return (*argv[:at], *argv[at + 4 :])
