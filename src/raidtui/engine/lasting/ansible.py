"""A lasting layout as a playbook for the role linux-system-roles.storage, as far as the role can express it.

Variables of the role: https://github.com/linux-system-roles/storage, README.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from raidtui import __version__
from raidtui.model.problem import Refusal, fail
from raidtui.model.scenario import Node, RoleRef

SCRIPT_ANSIBLE: Final = Refusal(
    "script-ansible",
    "The Ansible role cannot express the layout",
    "The role linux-system-roles.storage makes md arrays, LVM volumes (with raid and dm-cache) and xfs or ext4 on them, "
    "with some of their options. The message names each layer and option that it lacks.",
    "Take the layout as a script: --as bash.",
)
_LEVELS: Final = ("linear", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10")
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "filesystem": frozenset({"type", "on"}),
    "md": frozenset({"level", "on", "chunk", "metadata", "spares"}),
    "lvm": frozenset({"type", "on", "size", "stripe_size", "cache"}),
}
"""Options that the role has words for."""
Yaml = dict[str, Any]


def playbook(node: Node, disks: Mapping[str, Sequence[str]], *, name: str, mount: str) -> str:
    """Return the playbook. `disks`: lasting paths by role. Raises ProblemError (`script-ansible`)."""
    if lacking := list(dict.fromkeys(_lacking(node))):
        raise fail(SCRIPT_ANSIBLE, f"linux-system-roles.storage has no words for {', '.join(lacking)}", place=node.place,
                   remedy=SCRIPT_ANSIBLE.way_out)  # fmt: skip
    below: Node | RoleRef = node
    volume: Yaml = {"name": name, "fs_type": "unformatted"}
    if node.kind == "filesystem":
        (below,) = node.inputs["on"]
        volume |= {"fs_type": node.given["type"], "mount_point": mount}
    found = _pool(below, disks, volume, name) if isinstance(below, Node) and below.kind == "lvm" else {
        "storage_volumes": [{**volume, **_raid(below, disks)}]
    }  # fmt: skip
    play: Yaml = {
        "name": f"Build {name}", "hosts": "all", "become": True,
        "vars": {"storage_safe_mode": True, **found}, "roles": [{"role": "linux-system-roles.storage"}],
    }  # fmt: skip
    head = [f"# Made by raidtui {__version__} for the disks below and no others.",
            "# The role's safe mode refuses disks that are not blank.", "---"]  # fmt: skip
    return "\n".join([*head, *_yaml([play], 0)]) + "\n"


def _lacking(node: Node, above: str = "") -> Iterator[str]:
    """Yield layers and options that the role does not have."""
    allowed = _OPTIONS.get(node.kind)
    if allowed is None:
        yield f"the layer {node.kind}"
        return
    yield from (f"{node.kind}.{option}" for option in node.given if option not in allowed)
    yield from _wrong_values(node, above)
    for name, sources in node.inputs.items():
        if name != "on" and any(isinstance(one, Node) for one in sources):
            yield f"a layer below {node.kind}.{name}"
        for source in sources:
            if isinstance(source, Node) and name == "on":
                yield from _lacking(source, node.kind)
            elif node.kind == "filesystem" and len(sources) > 1:
                yield "a filesystem on several devices"


def _wrong_values(node: Node, above: str) -> Iterator[str]:
    given = node.given
    if node.kind == "filesystem" and given.get("type") not in ("xfs", "ext4"):
        yield f"the filesystem {given.get('type')}"
    if node.kind == "md":
        if given.get("level") not in _LEVELS:
            yield f"md {given.get('level')}"
        if above == "lvm" and (more := sorted(set(given) - {"level", "on"})):
            yield from (f"md.{option} below lvm" for option in more)
        if any(isinstance(one, Node) for one in node.inputs["on"]):
            yield "an array of layers"
    if node.kind == "lvm":
        cache = given.get("cache", {})
        if set(cache) - {"on", "size", "mode"} or str(cache.get("size", "")).endswith("%"):
            yield "lvm.cache with more than on, mode and a size in bytes"
        if above == "md":
            yield "md on lvm"


def _raid(below: Node | RoleRef, disks: Mapping[str, Sequence[str]]) -> Yaml:
    if isinstance(below, RoleRef):
        return {"type": "disk", "disks": list(disks[below.role])}
    members, spares = _paths(below, "on", disks), _paths(below, "spares", disks)
    found: Yaml = {"type": "raid", "disks": [*members, *spares], "raid_level": below.given["level"],
                   "raid_device_count": len(members)}  # fmt: skip
    if spares:
        found["raid_spare_count"] = len(spares)
    if "chunk" in below.given:
        found["raid_chunk_size"] = _spaced(below.given["chunk"])
    if "metadata" in below.given:
        found["raid_metadata_version"] = below.given["metadata"]
    return found


def _pool(lvm: Node, disks: Mapping[str, Sequence[str]], volume: Yaml, name: str) -> Yaml:
    members, fast = _paths(lvm, "on", disks), _paths(lvm, "cache.on", disks)
    given, pool = lvm.given, Yaml(name=name, type="lvm", disks=[*members, *fast])
    size = str(given.get("size", "100%"))
    own: Yaml = {**volume, "name": "volume", "type": "lvm", "size": size if size.endswith("%") else _spaced(size)}
    (first, *_) = lvm.inputs["on"]
    if isinstance(first, Node):
        pool["raid_level"] = first.given["level"]
        pool["disks"] = [*_paths(first, "on", disks), *fast]
    elif (kind := given.get("type", "linear")) != "linear":
        own |= {"raid_level": kind, "raid_disks": list(members)}
        if "stripe_size" in given:
            own["raid_stripe_size"] = _spaced(given["stripe_size"])
    if cache := given.get("cache"):
        own |= {"cached": True, "cache_devices": fast, "cache_mode": cache.get("mode", "writethrough")}
        if "size" in cache:
            own["cache_size"] = _spaced(str(cache["size"]))
    return {"storage_pools": [{**pool, "volumes": [own]}]}


def _paths(node: Node, name: str, disks: Mapping[str, Sequence[str]]) -> list[str]:
    return [path for one in node.inputs.get(name, ()) if isinstance(one, RoleRef) for path in disks[one.role]]


def _spaced(size: str) -> str:
    """Return `64 KiB` of `64KiB`."""
    unit = size.lstrip("0123456789.")
    return f"{size.removesuffix(unit)} {unit}"


def _yaml(value: Any, columns: int) -> Iterator[str]:
    """Yield a list or mapping as YAML in blocks. Scalars are JSON, which YAML contains."""
    pad = " " * columns
    if isinstance(value, list):
        for one in value:
            if isinstance(one, (list, dict)):
                lines = list(_yaml(one, columns + 2))
                yield f"{pad}- {lines[0].lstrip()}"
                yield from lines[1:]
            else:
                yield f"{pad}- {json.dumps(one)}"
        return
    for key, one in value.items():
        if isinstance(one, (list, dict)):
            yield f"{pad}{key}:"
            yield from _yaml(one, columns + 2)
        else:
            yield f"{pad}{key}: {json.dumps(one)}"
