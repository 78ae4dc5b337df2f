"""The part of a plan that another host carries out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from raidtui.model.disk import host_of, on_host
from raidtui.model.plan import Plan, Step


def part_of(plan: Plan, host: str) -> Plan:
    """Return the plan with the steps of one host, and its own disks under the names that they have there.

    The disks of the storage server are not in it: recovery makes them blank there.
    """
    own = [step for step in plan.steps if step.host == host]
    own += [msgspec.structs.replace(step, args={**step.args, "refs": refs, "on": ()}) for step, refs in _loads(plan, host)]
    steps = tuple(
        msgspec.structs.replace(step, host="", args=_own_names(step.args, host), files={},
                                erases=tuple(_own_disks(step.erases, host)))
        for step in own
    )  # fmt: skip
    binding = {
        role: tuple(msgspec.structs.replace(disk, id=_own_name(disk.id, host), host="") for disk in disks)
        for role, disks in plan.binding.items() if host_of(role) == host
    }  # fmt: skip
    erases = tuple(_own_disks(plan.erases, host))
    return msgspec.structs.replace(plan, steps=steps, binding=binding, erases=erases, cells=(), sweeps=(), looks={})


def _loads(plan: Plan, host: str) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Yield the steps that load a target of the host, each with its devices there."""
    for step in plan.steps:
        for one in step.args.get("on", ()):
            if one["host"] == host:
                yield step, tuple(one["refs"])


def _own_name(name: str, host: str) -> str:
    """Return a disk's name, or a reference to it, as the host has it."""
    kind, colon, rest = name.partition("disk:")
    return f"disk:{_own_name(rest, host)}" if colon and not kind else name.removeprefix(on_host(host, ""))


def _own_disks(disks: Sequence[str], host: str) -> Iterator[str]:
    """Yield those of these disks that are the host's, as it names them."""
    return (_own_name(disk, host) for disk in disks if disk.startswith(on_host(host, "")))


def _own_names(value: Any, host: str) -> Any:
    """Return the arguments of a step with the host's disks as it names them."""
    if isinstance(value, str):
        return _own_name(value, host)
    if isinstance(value, dict):
        return {_own_name(key, host): _own_names(one, host) for key, one in value.items()}
    return [_own_names(one, host) for one in value] if isinstance(value, (list, tuple)) else value
