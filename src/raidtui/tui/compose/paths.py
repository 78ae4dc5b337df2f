"""Places in a document: reading, and copies with one place changed. Nothing is ever changed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top: `("layouts", "raid5", "md", "on", 0)`."""


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final = _Missing.MISSING
"""Stands where nothing is given; None is a value."""


def at(document: Any, path: Path, otherwise: Any = MISSING) -> Any:
    """What is at `path`, or `otherwise` where there is no such place."""
    found = document
    for step in path:
        if not has(found, step):
            return otherwise
        found = found[step]
    return found


def has(holder: Any, step: str | int) -> bool:
    """Whether an object has this key, or a list this index."""
    if isinstance(holder, Mapping):
        return step in holder
    return isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder)


def put(document: Any, path: Path, value: Any) -> Any:
    """A copy with `value` at `path`; objects that are missing on the way are made. MISSING takes the place away."""
    if value is MISSING:
        return drop(document, path)
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(document, list) and isinstance(step, int):
        copy = list(document)
        if step < len(copy):
            copy[step] = put(copy[step], rest, value)
        else:
            copy.append(put({}, rest, value))
        return copy
    base = dict(document) if isinstance(document, Mapping) else {}
    return {**base, str(step): put(base.get(str(step), {}), rest, value)}


def drop(document: Any, path: Path) -> Any:
    """A copy without what is at `path`; the same where nothing is there."""
    if not path or at(document, path) is MISSING:
        return document
    holder = at(document, path[:-1])
    if isinstance(holder, list):
        less: Any = [entry for index, entry in enumerate(holder) if index != path[-1]]
    else:
        less = {key: entry for key, entry in holder.items() if key != path[-1]}
    return put(document, path[:-1], less)


def rekey(document: Any, path: Path, new: str) -> Any:
    """A copy in which the last key of `path` is `new`, in the same order. Raises ValueError where it is taken."""
    holder = at(document, path[:-1])
    old = path[-1]
    if not isinstance(holder, Mapping) or old not in holder or new == old:
        return document
    if new in holder:
        raise ValueError(f"there is already a {new!r}")
    return put(document, path[:-1], {new if key == old else key: entry for key, entry in holder.items()})


def shift(document: Any, path: Path, by: int) -> Any:
    """A copy in which the entry at `path` stands `by` places further among its like; the same at either end."""
    holder = at(document, path[:-1])
    if not isinstance(holder, Mapping) or path[-1] not in holder:
        return document
    keys = list(holder)
    here = keys.index(path[-1])
    there = min(max(here + by, 0), len(keys) - 1)
    keys.insert(there, keys.pop(here))
    return put(document, path[:-1], {key: holder[key] for key in keys})


def place_of(path: Path) -> str:
    """As problems name it: `$.layouts.raid5.md.on[0]`."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def path_of(document: Any, place: str) -> Path:
    """The path that a place names, as far as the document has it; names may have dots, the longest that fits is taken.

    A last key that the document lacks is kept: it may be the name of a field that is left out. What is wrong with the
    disks chosen for a role (`--bind data`) is at the role.
    """
    if place.startswith("--bind "):
        return ("roles", place.removeprefix("--bind "))
    found: list[str | int] = []
    rest, here = place.removeprefix("$"), document
    while rest:
        step, rest = _next(here, rest)
        if step is None:
            key = rest[1:]
            if rest[:1] == "." and key and "." not in key and "[" not in key:
                found.append(key)
            break
        found.append(step)
        here = here[step]
    return tuple(found)


def _next(here: Any, rest: str) -> tuple[str | int | None, str]:
    """The first step of `rest` that `here` has, and what follows it; (None, rest) where it has none."""
    if isinstance(here, Mapping) and rest[0] == ".":
        fitting = [key for key in here if isinstance(key, str) and _begins(rest[1:], key)]
        if fitting:
            key = max(fitting, key=len)
            return key, rest[1 + len(key) :]
    if isinstance(here, list) and rest[0] == "[":
        number, _, after = rest[1:].partition("]")
        if number.isdecimal() and int(number) < len(here):
            return int(number), after
    return None, rest


def _begins(rest: str, key: str) -> bool:
    return rest.startswith(key) and rest[len(key) : len(key) + 1] in ("", ".", "[")


def common(one: Path, other: Sequence[str | int]) -> int:
    """How many steps two paths share from the top."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
