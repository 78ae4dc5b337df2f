"""What the volumes of a group are called at each stage: LVM renames whatever goes below something else."""

from __future__ import annotations

from collections.abc import Container
from typing import Any


def has_pool(args: dict[str, Any]) -> bool:
    """Whether what is measured is served from a pool."""
    return args["vdo"] is not None or args["thin"] is not None


def data(args: dict[str, Any], *, pooled: bool) -> str:
    """What holds the data, a cache in front of it included: by its own name, or by the one it has below its pool."""
    name: str = args["volume"]["name"]
    if not pooled or not has_pool(args):
        return name
    return f"{name}_{'vdata' if args['vdo'] is not None else 'tdata'}"


def slow(args: dict[str, Any], *, pooled: bool) -> str:
    """The volume that was created first, below its cache if it has one."""
    name = data(args, pooled=pooled)
    if args["cache"] is None:
        return name
    return f"{name}_{'wcorig' if args['cache']['kind'] == 'writecache' else 'corig'}"


def is_pooled(args: dict[str, Any], volumes: Container[str]) -> bool:
    """Whether the pool was made, by the volumes that there are."""
    return has_pool(args) and data(args, pooled=True) in volumes


def is_cached(args: dict[str, Any], volumes: Container[str]) -> bool:
    """Whether the cache is in front, by the volumes that there are."""
    return args["cache"] is not None and slow(args, pooled=is_pooled(args, volumes)) in volumes
