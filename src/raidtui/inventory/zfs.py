"""Imported ZFS pools. Pools that are not imported are found by their labels (see `content`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from raidtui.base import proc
from raidtui.inventory.blocks import SYS
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Reason

if TYPE_CHECKING:
    from raidtui.inventory.census import Census

STATUS_SILENCE_S = 10.0


class Pool(NamedTuple):
    """An imported pool and every device in it: data, spare, log, cache, special."""

    name: str
    devices: tuple[str, ...]


def read_pools(sys: Path = SYS, silence_s: float = STATUS_SILENCE_S) -> tuple[Pool, ...]:
    """The imported pools. Empty where the kernel has no ZFS loaded: then none can be imported."""
    if not (sys / "module/zfs").is_dir():
        return ()
    zpool = proc.find_tool("zpool")
    if zpool is None:
        raise FileNotFoundError("ZFS is loaded, but there is no zpool command to ask")
    finished = proc.run([zpool, "status", "-LP"], silence_s=silence_s)
    return parse_status(finished.text)


def parse_status(text: str) -> tuple[Pool, ...]:
    """The text of `zpool status -LP`: names of pools, and every device path in their configuration."""
    pools: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if match := re.match(r"\s*pool: (\S+)\s*$", line):
            name = match[1]
            pools[name] = []
        elif name and (match := re.match(r"\t\s+(/\S+)", line)):
            pools[name].append(match[1])
    return tuple(Pool(pool, tuple(devices)) for pool, devices in pools.items())


def check_pools(disk: str, census: Census) -> Iterator[Reason]:
    for pool in census.pools:
        for path in pool.devices:
            if disk in census.disks_of_path(path):
                text = f"in imported ZFS pool {pool.name} by {path.removeprefix('/dev/')}"
                yield reason("zfs-imported", text, f"zpool export {pool.name}")
