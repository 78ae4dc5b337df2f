"""A scenario that was written for other disks, adapted to some groups of disks: roles get as many disks as there are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raidtui.front.design.layouts import LeftOut
from raidtui.model.disk import Disk
from raidtui.model.disk_text import DiskGroup
from raidtui.model.jsonio import read_json
from raidtui.model.roles import read_role


class Adapted(NamedTuple):
    """A scenario and the disks of its roles."""

    scenario: dict[str, Any]
    bind: dict[str, tuple[str, ...]]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    """Changes of roles, as sentences."""


def scenario_in(text: str) -> dict[str, Any]:
    """Return the scenario of a scenario or result file. Raises ProblemError (`json`)."""
    found = read_json(text.encode(), max_bytes=max(1, len(text.encode())))
    inside = found.get("scenario") if isinstance(found, dict) else None
    return dict(inside) if isinstance(inside, dict) else dict(found) if isinstance(found, dict) else {}


def adapted(
    scenario: Mapping[str, Any], groups: Sequence[DiskGroup], disks: Sequence[Sequence[Disk]], *, share: bool = True
) -> Adapted:
    """Give each role the disks that fit it: all of its group, or as many as it wants where roles share a group.

    With `share` false, no role takes disks of the largest one's group. Layouts of roles without disks are left out.
    Raises ProblemError for a role that cannot be read.
    """
    roles = {name: read_role(given, f"$.roles.{name}") for name, given in scenario.get("roles", {}).items()}
    free = {at: list(of_group) for at, of_group in enumerate(disks)}
    bind: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    # Roles that ask for more of their disks come first; the one with most disks gets what the others leave.
    fits = {name: [at for at, of_group in free.items() if not role.where.mismatch(of_group[0])]
            for name, role in roles.items()}  # fmt: skip
    largest = max(roles, key=lambda name: roles[name].count, default="")
    main = max(fits.get(largest, []), key=lambda at: len(free[at]), default=-1)
    for name in sorted(roles, key=lambda name: (name == largest, len(fits[name]))):
        role = roles[name]
        # A smaller role takes the group with fewest disks, which no other role may need whole.
        ours = [at for at in fits[name] if free[at] and (share or name == largest or at != main)]
        able = sorted(ours, key=lambda at: len(free[at]), reverse=name == largest)
        if not able:
            notes.append(f"Role {name}: there are no disks for it, so its layouts are left out.")
            continue
        group = free[able[0]]
        alone = not any(able[0] in fits[other] for other in roles if other != name and other not in bind)
        count = len(group) if name == largest or alone else min(role.count, len(group))
        taken, free[able[0]] = group[:count], group[count:]
        bind[name] = tuple(disk.id for disk in taken)
        words = groups[able[0]]
        notes.append(f"Role {name}: {count} of {words.words}" + (f", {role.count} in the original." if count != role.count
                                                                 else "."))  # fmt: skip
    layouts = scenario.get("layouts", {})
    kept = {name: given for name, given in layouts.items() if set(_named(given)) & set(roles) <= set(bind)}
    missing = {name: sorted(set(_named(given)) & set(roles) - set(bind)) for name, given in layouts.items()}
    left = tuple(LeftOut(name, f"there are no disks for the role {', '.join(roles_)}")
                 for name, roles_ in missing.items() if roles_)  # fmt: skip
    used = {role for given in kept.values() for role in _named(given)}
    changed = {
        **scenario, "layouts": kept,
        "roles": {name: {**given, "count": len(bind[name])} for name, given in scenario.get("roles", {}).items()
                  if name in bind and name in used},
    }  # fmt: skip
    return Adapted(_without(changed, set(layouts) - set(kept)), {n: ids for n, ids in bind.items() if n in used}, left,
                   tuple(notes))  # fmt: skip


def _named(given: object) -> Iterator[str]:
    """Yield the roles that a layout names."""
    if isinstance(given, str) and given.startswith("@"):
        yield given[1:]
    elif isinstance(given, (list, dict)):
        for one in given.values() if isinstance(given, dict) else given:
            yield from _named(one)


def _without(scenario: dict[str, Any], gone: set[str]) -> dict[str, Any]:
    """Return the scenario with a policy that does not name layouts which are gone."""
    policy = json.loads(json.dumps(scenario.get("policy", {})))
    if policy.get("noise_of") in gone:
        del policy["noise_of"]
    if isinstance(policy.get("only"), dict):
        policy["only"] = {name: loads for name, loads in policy["only"].items() if name not in gone}
    return {**scenario, "policy": policy}


def with_layouts(scenario: Mapping[str, Any], keep: Sequence[str]) -> dict[str, Any]:
    """Return the scenario with these layouts alone, and the roles that they need."""
    layouts = {name: scenario["layouts"][name] for name in keep if name in scenario["layouts"]}
    used = {role for given in layouts.values() for role in _named(given)}
    roles = {name: given for name, given in scenario["roles"].items() if name in used}
    return _without({**scenario, "roles": roles, "layouts": layouts}, set(scenario["layouts"]) - set(layouts))
