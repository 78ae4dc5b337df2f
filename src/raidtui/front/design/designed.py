"""A design: what each layout holds, survives and costs on described disks. The engine's planner judges every layout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from raidtui.client.engine_client import EngineClient
from raidtui.front.design.adapt import with_layouts
from raidtui.front.design.assumptions import Speed
from raidtui.front.design.estimate import Ceilings, ceilings
from raidtui.front.design.layouts import LeftOut
from raidtui.model.describe import LayoutView, Preview, PreviewRequest
from raidtui.model.disk import Disk
from raidtui.model.disk_text import DiskGroup
from raidtui.model.problem import ProblemError

DESIGN_SCHEMA = "raidtui.design/1"
_TB = 1e12


class DescribedDisks(msgspec.Struct, frozen=True, omit_defaults=True):
    """Disks that are alike."""

    count: int
    kind: str
    size_bytes: int
    price: float | None = None
    """Price of one disk."""


class Assumption(msgspec.Struct, frozen=True):
    """Assumed rates of one disk of a kind."""

    kind: str
    speed: Speed


class DesignedLayout(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout on the described disks."""

    name: str
    why: str
    """Reason for which it is among the layouts; empty for a layout of a given scenario."""
    view: LayoutView
    ceilings: Ceilings
    """Estimated from the assumptions, not measured."""
    price: float | None = None
    """Price of all its disks; None if one of them has no price."""
    price_per_tb: float | None = None
    """Price of 10^12 usable bytes."""


class Omitted(msgspec.Struct, frozen=True):
    """A layout that is not in the design."""

    name: str
    why: str


class Design(msgspec.Struct, frozen=True, omit_defaults=True):
    """Output of `raidtui design --json`."""

    schema: str
    """`raidtui.design/1`"""
    disks: tuple[DescribedDisks, ...]
    assumptions: tuple[Assumption, ...]
    layouts: tuple[DesignedLayout, ...]
    left_out: tuple[Omitted, ...]
    scenario: dict[str, Any]
    """The scenario that `--save` writes."""
    currency: str = ""
    notes: tuple[str, ...] = ()
    """Sentences about roles and choices."""
    seconds: float | None = None
    """Estimated duration of a replay of the whole scenario; None if a workload does not fit."""
    cells: int = 0


class Asked(msgspec.Struct, frozen=True):
    """Everything that a design is made from."""

    groups: tuple[DiskGroup, ...]
    disks: tuple[tuple[Disk, ...], ...]
    """Disks by group."""
    scenario: dict[str, Any]
    bind: dict[str, tuple[str, ...]]
    reasons: dict[str, str]
    """Reasons by layout."""
    speeds: dict[str, Speed]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def design(engine: EngineClient, asked: Asked) -> Design:
    """Ask an engine with these disks for every layout. Raises ProblemError if no layout is possible."""
    request = PreviewRequest(json.dumps(asked.scenario), asked.bind)
    found: Preview = engine.call("preview", request, Preview)
    if not found.layouts and found.problems:
        raise ProblemError(*found.problems)
    sound = [view for view in found.layouts if not view.problems and view.size_bytes is not None]
    if not sound and found.problems:
        raise ProblemError(*found.problems)
    omitted = [Omitted(*one) for one in asked.left_out]
    omitted += [Omitted(view.name, "; ".join(problem.message for problem in view.problems) or "its disks are not known")
                for view in found.layouts if view not in sound]  # fmt: skip
    if len(sound) < len(found.layouts):
        # What is refused keeps the whole scenario from a plan: duration and cells are those of the others.
        scenario = with_layouts(asked.scenario, [view.name for view in sound])
        bind = {role: ids for role, ids in asked.bind.items() if role in scenario["roles"]}
        found = engine.call("preview", PreviewRequest(json.dumps(scenario), bind), Preview)
    by_id = {disk.id: disk for group in asked.disks for disk in group}
    prices = {disk.id: group.price for group, disks in zip(asked.groups, asked.disks, strict=True) for disk in disks}
    kinds = dict.fromkeys(group.kind for group in asked.groups)
    return Design(
        DESIGN_SCHEMA,
        tuple(DescribedDisks(one.quantity, one.kind, one.size.bytes, one.price) for one in asked.groups),
        tuple(Assumption(kind, asked.speeds[kind]) for kind in kinds),
        tuple(_layout(view, asked, by_id, prices) for view in sound),
        tuple(omitted),
        asked.scenario,
        next((group.currency for group in asked.groups if group.price is not None), ""),
        asked.notes,
        found.seconds,
        found.cells,
    )


def _layout(
    view: LayoutView, asked: Asked, disks: Mapping[str, Disk], prices: Mapping[str, float | None]
) -> DesignedLayout:
    price = _total([prices.get(id_) for id_ in view.erases])
    usable = (view.size_bytes or 0) / _TB
    per_tb = price / usable if price is not None and usable else None
    why = asked.reasons.get(view.name, "")
    return DesignedLayout(view.name, why, view, ceilings(view, disks, asked.speeds), price,
                          None if per_tb is None else round(per_tb, 2))  # fmt: skip


def _total(prices: Sequence[float | None]) -> float | None:
    known = [price for price in prices if price is not None]
    return sum(known) if known and len(known) == len(prices) else None
