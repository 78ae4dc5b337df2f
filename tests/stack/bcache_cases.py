"""Cached devices for the tests of the bcache layer: options as scenario files write them, and disks that exist on paper."""

from __future__ import annotations

from typing import Any

from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack.bcache import LAYER
from raidtui.stack.bcache.spec import BcacheSpec
from raidtui.stack.layer import Part, Planned

GIB = 1 << 30
PLACE = "$.layouts.x.bcache"
ONE_EACH = {"on": 1, "cache": 1}


def spec_of(**options: Any) -> BcacheSpec:
    return decode(BcacheSpec, {"on": "@slow", "cache": "@fast", **options})


def disk(name: str, size_bytes: int = 8 * GIB, sector: int = 512) -> Part:
    return Part(f"disk:{name}", f"/dev/{name}", size_bytes, sector, (name,), True, name == "slow")


def array(size_bytes: int = 16 * GIB, stripe: int | None = 128 << 10) -> Part:
    return Part("md:rtx", "/dev/md/rtx", size_bytes, 512, ("a", "b", "c"), False, True, stripe, 64 << 10)


def parts(on: Part | None = None, cache: Part | None = None) -> dict[str, tuple[Part, ...]]:
    return {"on": (on or disk("slow"),), "cache": (cache or disk("fast", 2 * GIB),)}


def plan(on: Part | None = None, cache: Part | None = None, **options: Any) -> Planned:
    return LAYER.plan(spec_of(**options), parts(on, cache), Names("abcd1234"), Policy())
