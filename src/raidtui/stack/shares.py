"""Shares of the hosts in exported devices: volumes of their own, or a region of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from raidtui.base.text import plural
from raidtui.model.plan import Host, OnHost
from raidtui.model.problem import Refusal, fail
from raidtui.stack.layer import Part, PlannedTarget

REGION_BYTES: Final = 1 << 20
"""Regions of hosts begin at multiples of this."""
UNEQUAL: Final = Refusal(
    "volumes-unequal",
    "The volumes cannot be shared out equally",
    "A layer that is divided into several volumes gives each host as many of its own. With another number of volumes, or "
    "with other devices beside them, the hosts would not load the same.",
    'Write a multiple of the number of hosts as "volumes", and export nothing else in the same layer.',
)


def shares(below: Sequence[Part], hosts: Sequence[Host]) -> list[tuple[Part, ...]]:
    """Return the devices that each host has: its own volumes in turn, or all devices. Raises ProblemError.

    In turn, so that each host has volumes of every group or pool below.
    """
    divided = [one for one in below if one.divided]
    if not divided:
        return len(hosts) * [tuple(below)]
    if len(divided) < len(below):
        others = plural(len(below) - len(divided), "other device")
        text = f"{plural(len(divided), 'volume')} and {others} are exported together"
        raise fail(UNEQUAL, text, remedy="Export the volumes alone.")
    if len(below) % len(hosts):
        text = f"{plural(len(below), 'volume')} cannot be shared out to {plural(len(hosts), 'host')}"
        raise fail(UNEQUAL, text, remedy=f'Write {len(hosts)}, or a multiple of it, as "volumes".')
    return [tuple(below[at :: len(hosts)]) for at in range(len(hosts))]


def loaded_by(
    below: Sequence[Part], hosts: Sequence[Host], refs: Sequence[tuple[str, ...]], paths: Iterable[str]
) -> PlannedTarget:
    """Return the target that these hosts load together. `refs`: of each host's devices; `paths`: of the first host's."""
    own, least = any(one.divided for one in below), min(one.size_bytes for one in below)
    size_bytes = least if own else least // len(hosts) // REGION_BYTES * REGION_BYTES
    on = tuple(
        OnHost(host.ref, of_host, 0 if own else at * size_bytes, own)
        for at, (host, of_host) in enumerate(zip(hosts, refs, strict=True))
    )
    return PlannedTarget(refs[0], tuple(f"{hosts[0].ref}:{path}" for path in paths), size_bytes, counted="no", on=on)
