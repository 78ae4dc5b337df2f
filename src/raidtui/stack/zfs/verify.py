"""Comparing what was asked with what ZFS made of it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.zfs import mounting, pool
from raidtui.stack.zfs.arc import limit_bytes
from raidtui.stack.zfs.devices import Device, all_devices, partition
from raidtui.stack.zfs.properties import compresses, deduplicates, same
from raidtui.stack.zfs.spec import ZfsPool


class Difference(NamedTuple):
    """One thing that is not as asked."""

    what: str
    asked: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.what}: asked {self.asked}, found {self.found}"


def check_members(found: pool.Pool, devices: list[Device], zpool: ZfsPool) -> None:
    """Insist that the pool consists of the very partitions that were meant, each in its vdev.

    Raises ProblemError (`wrong-members`); the permits vouch that the device numbers still mean the same disks.
    """
    numbers = [part[1] if (part := partition(device)) else -1 for device in devices]
    asked = zpool.groups
    wanted = sorted(_shape(one.role, one.word, [numbers[place] for place in one.devices]) for one in asked)
    there = sorted(_found(top) for top in found.tops)
    if wanted != there:
        text = f"the pool is {_words(there)}, not {_words(wanted)}"
        raise fail("wrong-members", text, place=zpool.name, remedy="Look at dmesg; plan again.", exit=Exit.BUILD_FAILED)


def _shape(role: str, word: str, numbers: list[int]) -> tuple[str, str, tuple[int, ...]]:
    return role, word, tuple(sorted(numbers))


def _found(top: pool.Top) -> tuple[str, str, tuple[int, ...]]:
    alone = len(top.leaves) == 1 and top.leaves[0].path.endswith(top.name.rpartition("/")[2])
    number = [leaf.devno if leaf.devno is not None else -1 for leaf in top.leaves]
    return _shape(top.role, "" if alone else top.name.rpartition("-")[0], number)


def _words(shapes: list[tuple[str, str, tuple[int, ...]]]) -> str:
    return "; ".join(
        f"{role} {word} of {', '.join(f'{os.major(n)}:{os.minor(n)}' if n >= 0 else 'nothing' for n in numbers)}"
        for role, word, numbers in shapes
    )


def pool_facts(found: pool.Pool) -> dict[str, Any]:
    """What identifies a pool, as JSON data."""
    return {
        "name": found.name,
        "guid": found.guid,
        "state": found.state,
        "vdevs": [
            {"role": top.role, "name": top.name, "devices": [leaf.path for leaf in top.leaves]} for top in found.tops
        ],
    }


def the_pool(zpool: ZfsPool) -> pool.Pool:
    """The pool of this step. Raises ProblemError when it is not there."""
    found = pool.find(zpool.name)
    if found is None:
        raise fail("zpool-not-there", "the pool is not there", place=zpool.name, remedy="Look at dmesg.",
                   exit=Exit.BUILD_FAILED)  # fmt: skip
    return found


def verify(context: Context, zpool: ZfsPool) -> Outcome:
    """Read the pool and what is measured in it back. Facts: every property of both. Raises ProblemError (`read-back`)."""
    found = the_pool(zpool)
    check_members(found, all_devices(context, zpool), zpool)
    of_pool, of_root = pool.properties(zpool.name), pool.dataset_properties(zpool.name) or {}
    own = pool.dataset_properties(zpool.dataset) or {}
    wrong = [Difference("state", "ONLINE", found.state)] if found.state != "ONLINE" else []
    wrong += _properties("pool", zpool.properties, of_pool)
    wrong += _properties("root", zpool.inherited, of_root)
    what = "volume" if zpool.has_volume else "dataset"
    wrong += _properties(what, zpool.own, own)
    facts: dict[str, Any] = {}
    if zpool.has_volume:
        facts["kernel_name"] = pool.volume_node(zpool.dataset)
        wrong += _volume(zpool, own, facts["kernel_name"])
    else:
        facts |= mounting.facts(context, zpool)
        wrong += _mounted(zpool, facts)
    if wrong:
        raise mismatch(zpool.name, wrong)
    values = {name: value for name, (value, _) in own.items()}
    return Outcome(
        "done",
        {
            **pool_facts(found),
            **facts,
            "arc_max_bytes": limit_bytes(),
            "pool": {name: value for name, (value, _) in of_pool.items()},
            what: values,
            "compresses": values.get("compression", "off") if compresses(values) else None,
            "deduplicates": values.get("dedup", "off") if deduplicates(values) else None,
        },
    )


def _volume(zpool: ZfsPool, own: dict[str, tuple[str, str]], node: str | None) -> list[Difference]:
    wrong = _properties("volume", {"volsize": str(zpool.size_bytes)}, own)
    reserved = own.get("refreservation", ("0", ""))[0] not in ("0", "none")
    if reserved == zpool.sparse:
        wrong.append(Difference("sparse", zpool.sparse, not reserved))
    size = pool.device_bytes(node) if node else None
    if size != zpool.size_bytes:
        wrong.append(Difference("size of the device", zpool.size_bytes, size))
    return wrong


def _mounted(zpool: ZfsPool, facts: dict[str, Any]) -> list[Difference]:
    wrong = [Difference("mount option", option, "none") for option in mounts.SAFE if option not in facts["options"]]
    if facts["size_bytes"] < zpool.size_bytes:
        wrong.append(Difference("room for files", f"at least {zpool.size_bytes} bytes", facts["size_bytes"]))
    return wrong


def _properties(of: str, asked: dict[str, str], found: dict[str, tuple[str, str]]) -> list[Difference]:
    def there(name: str) -> str | None:
        return found[name][0] if name in found else None

    return [
        Difference(f"{of} {name}", value, there(name))
        for name, value in asked.items()
        if not same(name, value, there(name))
    ]


def mismatch(name: str, wrong: list[Difference]) -> ProblemError:
    return fail("read-back", "the pool is not as asked: " + "; ".join(map(str, wrong)), place=name,
                remedy="This version of ZFS made something else of it.", exit=Exit.BUILD_FAILED)  # fmt: skip
