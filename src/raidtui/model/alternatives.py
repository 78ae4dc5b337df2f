"""What may stand at a place of a document: keys of an object, or words, for errors that show the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

import msgspec.inspect as types

STEP: Final = r"\.([^.\[]+)|\[([^\]]*)\]"
"""Of a path: a name, or what stands in brackets."""


def at(type_: type, path: str) -> tuple[str, ...]:
    """Keys of the object or words of the choice at `.a.b[0].c` below a type; none where there is no such list."""
    return tuple(dict.fromkeys(word for one in types_at(type_, path) for word in _words(one)))


def types_at(type_: type, path: str) -> list[types.Type]:
    """What may stand at `.a.b[0].c` below a type."""
    found = [types.type_info(type_)]
    for name, item in re.findall(STEP, path):
        found = [below for one in found for below in _below(one, name, listed=bool(item))]
    return found


def remedy(wrong: str, possible: Iterable[str]) -> str:
    """What to write instead of `wrong`; empty where nothing is known."""
    words = list(possible)
    if close := get_close_matches(wrong[:80], words, n=3, cutoff=0.7):
        return f"Did you mean {' or '.join(close)}?"
    return f"It may be: {', '.join(words)}." if words else ""


def single(type_: types.Type) -> list[types.Type]:
    """The alternatives that a type stands for, without what is said about them."""
    if isinstance(type_, types.Metadata):
        return single(type_.type)
    if isinstance(type_, types.UnionType):
        return [one for part in type_.types for one in single(part)]
    return [type_]


def _below(type_: types.Type, name: str, *, listed: bool) -> list[types.Type]:
    found: list[types.Type] = []
    for one in single(type_):
        if isinstance(one, types.StructType) and not listed:
            found += [field.type for field in one.fields if field.encode_name == name]
        elif isinstance(one, types.DictType):
            found.append(one.value_type)
        elif listed and isinstance(one, (types.VarTupleType, types.ListType)):
            found.append(one.item_type)
    return found


def _words(type_: types.Type) -> Iterable[Any]:
    for one in single(type_):
        if isinstance(one, types.StructType):
            yield from (field.encode_name for field in one.fields)
        elif isinstance(one, types.LiteralType):
            yield from (str(value) for value in one.values)
