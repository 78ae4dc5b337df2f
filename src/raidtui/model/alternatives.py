"""Allowed keys and words at a place of a document, for error messages that show the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

import msgspec.inspect as types

STEP: Final = r"\.([^.\[]+)|\[([^\]]*)\]"
"""One part of a path: a name, or the text in brackets."""

_CLOSE: Final = 0.7
_VERY_CLOSE: Final = 0.85
_LEAST: Final = 3
"""Letters of a name that is looked for within another."""
_BEGUN: Final = 5


def at(type_: type, path: str) -> tuple[str, ...]:
    """Keys of the object or words of the choice at `.a.b[0].c` below a type; none where there is no such list."""
    return tuple(dict.fromkeys(word for one in types_at(type_, path) for word in _words(one)))


def types_at(type_: type, path: str) -> list[types.Type]:
    """Return the types allowed at `.a.b[0].c` below a type."""
    found = [types.type_info(type_)]
    for name, item in re.findall(STEP, path):
        found = [below for one in found for below in _below(one, name, listed=bool(item))]
    return found


def remedy(wrong: str, possible: Iterable[str]) -> str:
    """Return a sentence with the likely correct words for `wrong`; empty if none is known."""
    words = list(possible)
    if close := near(wrong, words):
        return f"Did you mean {' or '.join(close)}?"
    return f"It may be: {', '.join(words)}." if words else ""


def near(wrong: str, possible: Iterable[str]) -> list[str]:
    """Return up to three words that were probably meant: similar in spelling, contained in one another, or with the same
    beginning.
    """
    wrong, spelled = wrong[:80].lower(), {word.lower(): word for word in possible}
    words = list(spelled)
    close = get_close_matches(wrong, words, n=3, cutoff=_CLOSE)
    if not get_close_matches(wrong, words, n=1, cutoff=_VERY_CLOSE):
        within = [word for word in words if min(len(word), len(wrong)) >= _LEAST and (word in wrong or wrong in word)]
        begun = [word for word in words if len(wrong) >= _BEGUN and word.startswith(wrong[:_BEGUN])]
        close = within or close or begun
    return [spelled[word] for word in close[:3]]


def elsewhere(type_: type, path: str, key: str) -> str:
    """Return a sentence naming the place where a misplaced key belongs; empty if the type at this path does not know it.

    Types that do say so in a static method `elsewhere(key)`.
    """
    for one in types_at(type_, path):
        for given in single(one):
            if isinstance(given, types.StructType) and (says := getattr(given.cls, "elsewhere", None)) is not None:
                return str(says(key))
    return ""


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
