"""Texts that do not have the form that they need to have: in words, never as the regular expression that was not met.

Each form says in its own `Meta` what it is: `description`, `examples`, and in `extra` the `aliases` that people write.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec.inspect as types

from raidtui.model import alternatives

_NOT_MET = re.compile(r"(a key: )?Expected `str` matching regex (['\"].*)", re.DOTALL)


def in_words(type_: type, value: Any, message: str, where: str) -> tuple[str, str] | None:
    """Message and remedy for a text of `value` at `where` that is not of its form; None for other messages."""
    match = _NOT_MET.fullmatch(message)
    if match is None:
        return None
    of_key, pattern = match[1], literal_eval(match[2])
    wrong = next(_wrong(value, where, pattern, of_key=bool(of_key)), "")
    form = next(_forms(type_, where, pattern, of_key=bool(of_key)), None)
    text = f"{wrong[:80]!r} cannot be {'a key here' if of_key else 'written here'}"
    if form is None:
        return text, ""
    given, extra = form.extra_json_schema or {}, form.extra or {}
    aliases: Mapping[str, str] = extra.get("aliases", {})
    if wrong in aliases:
        return text, f"Did you mean {aliases[wrong]}?"
    examples = " or ".join(f'"{one}"' for one in given.get("examples", ()))
    words = (given.get("description", ""), f"Such as {examples}." if examples else "")
    return text, " ".join(filter(None, words))


def _wrong(value: Any, where: str, pattern: str, *, of_key: bool) -> Iterator[str]:
    """The texts at a place of plain data that do not match."""
    found = [value]
    for name, item in re.findall(alternatives.STEP, where):
        found = [below for one in found for below in _values(one, name, item)]
    texts = (key for one in found if isinstance(one, dict) for key in one) if of_key else iter(found)
    yield from (text for text in texts if isinstance(text, str) and not re.search(pattern, text))


def _values(value: Any, name: str, item: str) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values()) if item == "..." else [value[name]] if name in value else []
    return [value[int(item)]] if isinstance(value, list) and item.isdecimal() and int(item) < len(value) else []


def _forms(type_: type, where: str, pattern: str, *, of_key: bool) -> Iterator[types.Metadata]:
    """Return the metadata of this pattern at this place of a type."""
    found = alternatives.types_at(type_, where)
    if of_key:
        found = [one.key_type for given in found for one in alternatives.single(given) if isinstance(one, types.DictType)]
    for one in found:
        for said in _said(one):
            if isinstance(said.type, types.StrType) and said.type.pattern == pattern:
                yield said


def _said(type_: types.Type) -> Iterator[types.Metadata]:
    if isinstance(type_, types.Metadata):
        yield type_
        yield from _said(type_.type)
    elif isinstance(type_, types.UnionType):
        for one in type_.types:
            yield from _said(one)
