"""Hints for error messages: the words allowed at a place of a document, and the form of a text in words.

A form describes itself in its `Meta`: `description`, `examples`, and in `extra` the `aliases` that people write.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
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


class Redirecting:
    """Base of options that know where a key belongs that was written among them by mistake."""

    __slots__ = ()

    @staticmethod
    def elsewhere(key: str) -> str:
        """Return a sentence naming the place of this key; empty if it is unknown."""
        return ""


def allowed_words(type_: type, path: str) -> tuple[str, ...]:
    """Return the keys of the object or words of the choice at `.a.b[0].c` below a type; none if there is no such list."""
    return tuple(dict.fromkeys(word for one in types_at(type_, path) for word in _words_of(one)))


def types_at(type_: type, path: str) -> list[types.Type]:
    """Return the types allowed at `.a.b[0].c` below a type."""
    found = [types.type_info(type_)]
    for name, item in re.findall(STEP, path):
        found = [below for one in found for below in _below(one, name, listed=bool(item))]
    return found


def remedy_for(wrong: str, possible: Iterable[str]) -> str:
    """Return a sentence with the likely correct words for `wrong`; empty if none is known."""
    words = list(possible)
    if close := similar_words(wrong, words):
        return f"Did you mean {' or '.join(close)}?"
    return f"It may be: {', '.join(words)}." if words else ""


def similar_words(wrong: str, possible: Iterable[str]) -> list[str]:
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


def correct_place(type_: type, path: str, key: str) -> str:
    """Return a sentence naming the place where a misplaced key belongs; empty if the type at this path does not know it."""
    for one in types_at(type_, path):
        for given in alternatives_of(one):
            if isinstance(given, types.StructType) and issubclass(given.cls, Redirecting):
                return given.cls.elsewhere(key)
    return ""


def alternatives_of(type_: types.Type) -> list[types.Type]:
    """Return the alternatives of a type, without their metadata."""
    if isinstance(type_, types.Metadata):
        return alternatives_of(type_.type)
    if isinstance(type_, types.UnionType):
        return [one for part in type_.types for one in alternatives_of(part)]
    return [type_]


def _below(type_: types.Type, name: str, *, listed: bool) -> list[types.Type]:
    found: list[types.Type] = []
    for one in alternatives_of(type_):
        if isinstance(one, types.StructType) and not listed:
            found += [field.type for field in one.fields if field.encode_name == name]
        elif isinstance(one, types.DictType):
            found.append(one.value_type)
        elif listed and isinstance(one, (types.VarTupleType, types.ListType)):
            found.append(one.item_type)
    return found


def _words_of(type_: types.Type) -> Iterable[Any]:
    for one in alternatives_of(type_):
        if isinstance(one, types.StructType):
            yield from (field.encode_name for field in one.fields)
        elif isinstance(one, types.LiteralType):
            yield from (str(value) for value in one.values)


_NOT_MET = re.compile(r"(a key: )?Expected `str` matching regex (['\"].*)", re.DOTALL)


_KINDS: Final = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list",
    "object": "an object of options", "null": "nothing", "bytes": "text",
}  # fmt: skip
"""JSON types as msgspec names them, in words."""
_EXPECTED = re.compile(r"(?P<key>a key: )?Expected `(?P<wanted>[a-z |]+)`(?P<limit> [^,]*)?(?:, got `(?P<given>[a-z]+)`)?")
_LIMITS = ((">= ", "at least "), ("<= ", "at most "), ("> ", "more than "), ("< ", "less than "))


def in_words(message: str) -> str:
    """Return a message of msgspec about a wrong type, a limit or a missing option in the words of a person."""
    if missing := re.fullmatch(r"Object missing required field `(.*)`", message):
        return f"the option {missing[1]!r} is required"
    if word := re.fullmatch(r"Invalid enum value (.*)", message, re.DOTALL):
        return f"{word[1]} is none of the words that may stand here"
    found = _EXPECTED.fullmatch(message)
    if found is None:
        return message
    wanted = " or ".join(_KINDS.get(one, one) for one in found["wanted"].split(" | ") if one != "null") or "nothing"
    limit = found["limit"] or ""
    for sign, words in _LIMITS:
        limit = limit.replace(sign, words)
    what = "a key here" if found["key"] else "this"
    given = f", not {_KINDS.get(found['given'], found['given'])}" if found["given"] else ""
    return f"{what} has to be {wanted}{limit}{given}"


def explain_form(type_: type, value: Any, message: str, where: str) -> tuple[str, str] | None:
    """Return message and remedy for a text of `value` at `where` that lacks the required form; None for other messages."""
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
    examples = " or ".join(f'"{one}"' for one in given.get("examples", ())[:3])
    words = (given.get("description", ""), f"Such as {examples}." if examples else "")
    return text, " ".join(filter(None, words))


def _wrong(value: Any, where: str, pattern: str, *, of_key: bool) -> Iterator[str]:
    """Yield the texts at a place of plain data that do not match."""
    found = [value]
    for name, item in re.findall(STEP, where):
        found = [below for one in found for below in _values(one, name, item)]
    texts = (key for one in found if isinstance(one, dict) for key in one) if of_key else iter(found)
    yield from (text for text in texts if isinstance(text, str) and not re.search(pattern, text))


def _values(value: Any, name: str, item: str) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values()) if item == "..." else [value[name]] if name in value else []
    return [value[int(item)]] if isinstance(value, list) and item.isdecimal() and int(item) < len(value) else []


def _forms(type_: type, where: str, pattern: str, *, of_key: bool) -> Iterator[types.Metadata]:
    """Return the metadata of this pattern at this place of a type."""
    found = types_at(type_, where)
    if of_key:
        found = [one.key_type for given in found for one in alternatives_of(given) if isinstance(one, types.DictType)]
    for one in found:
        for said in _metadata(one):
            if isinstance(said.type, types.StrType) and said.type.pattern == pattern:
                yield said


def _metadata(type_: types.Type) -> Iterator[types.Metadata]:
    if isinstance(type_, types.Metadata):
        yield type_
        yield from _metadata(type_.type)
    elif isinstance(type_, types.UnionType):
        for one in type_.types:
            yield from _metadata(one)
