"""Conversion between plain JSON values and the model's types, with errors that name the place."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from raidtui.model import hints
from raidtui.model.problem import fail
from raidtui.model.refusals import SCHEMA
from raidtui.model.type_info import ready
from raidtui.model.units import DURATION_PATTERN, SHARE_PATTERN, SIZE_PATTERN, Duration, Extent, Size, VirtualExtent

T = TypeVar("T")


class Operand:
    """Reference to block devices: a role (`"@data"`), another layer, or a list of them. It is resolved later."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __repr__(self) -> str:
        return f"Operand({self.raw!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operand) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(repr(self.raw))


def decode(type_: type[T], value: Any, place: str = "$", document: str = "scenario") -> T:
    """`value` (plain JSON data) as `type_`. Raises ProblemError (code `schema`) naming the place below `place`.

    `document` is what it is part of: `raidtui schema DOCUMENT` is the way out where no better one is known.
    """
    try:
        return msgspec.convert(value, ready(type_), dec_hook=_from_json)
    except msgspec.ValidationError as error:
        message, where = _split_place(str(error))
        found = hints.explain_form(type_, value, message, where)
        message, remedy = found or (hints.in_words(message), _way_out(type_, message, where))
        remedy = remedy or f"`raidtui schema {document}` prints what may stand there."
        raise fail(SCHEMA, message, place=place + where, remedy=remedy) from None


def _way_out(type_: type, message: str, where: str) -> str:
    """Return a sentence with the allowed keys or words at that place; empty if there is no such list."""
    if match := re.fullmatch(r"unknown key '(.*)'", message, re.DOTALL):
        parent = where[: -len(match[1]) - 1]
        where_to = hints.correct_place(type_, parent, match[1])
        return where_to or hints.remedy_for(match[1], hints.allowed_words(type_, parent))
    if match := re.fullmatch(r"Invalid enum value '(.*)'", message, re.DOTALL):
        return hints.remedy_for(match[1], hints.allowed_words(type_, where))
    return ""


def plain(value: Any) -> Any:
    """The model's types as plain JSON data: the inverse of `decode`."""
    return msgspec.to_builtins(value, enc_hook=_to_json, str_keys=True)


def encode(value: Any) -> bytes:
    """Compact JSON of any model value."""
    return msgspec.json.encode(value, enc_hook=_to_json)


def schema_of(type_: type, ref_template: str = "#/$defs/{name}") -> tuple[dict[str, Any], dict[str, Any]]:
    """JSON Schema of a type: the schema and the definitions it refers to."""
    (schema,), components = msgspec.json.schema_components(
        [type_], schema_hook=_schema_of_custom, ref_template=ref_template
    )
    return schema, components


def _from_json(type_: type, value: Any) -> Any:
    if type_ in _EXAMPLE:
        if not isinstance(value, str):
            raise ValueError(f"expected a text with a unit such as {_EXAMPLE[type_]}, got {value!r}")
        return type_(value)
    if type_ is Operand:
        return Operand(value)
    raise NotImplementedError(type_)


def _to_json(value: Any) -> Any:
    if isinstance(value, (Size, Extent, Duration)):
        return value.text
    if isinstance(value, Operand):
        return value.raw
    if isinstance(value, str):  # one that knows more than its text
        return str(value)
    raise NotImplementedError(type(value))


_EXAMPLE: Final[dict[type, str]] = {
    Size: '"64KiB"', Extent: '"80%" or "10GiB"', VirtualExtent: '"300%" or "10TiB"', Duration: '"60s"',
}  # fmt: skip


def _schema_of_custom(type_: type) -> dict[str, Any]:
    if type_ is Size:
        return {"type": "string", "pattern": SIZE_PATTERN, "examples": ["64KiB", "10GB"]}
    if type_ is Extent:
        return {"type": "string", "pattern": f"{SIZE_PATTERN}|{SHARE_PATTERN}", "examples": ["80%", "10GiB"]}
    if type_ is VirtualExtent:
        return {"type": "string", "pattern": f"{SIZE_PATTERN}|{SHARE_PATTERN}", "examples": ["300%", "10TiB"]}
    if type_ is Duration:
        return {"type": "string", "pattern": DURATION_PATTERN, "examples": ["60s", "10m"]}
    if type_ is Operand:
        return {"$ref": "#/$defs/operand"}
    raise NotImplementedError(type_)


def in_words(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return what is wrong in the words of a person, and the place."""
    message, place = _message_and_place(str(error))
    return hints.in_words(message), place


def _message_and_place(message: str) -> tuple[str, str]:
    """msgspec ends its messages with `- at `$.a.b``, of a key with `- at `key` in `$.a``: the message, and the place."""
    match = re.fullmatch(r"(.*?)(?: - at `(key` in `)?(\$.*)`)?", message, re.DOTALL)
    assert match is not None
    text, of_key, where = match.groups()
    return f"a key: {text}" if of_key else text, where or "$"


def _split_place(message: str) -> tuple[str, str]:
    """The message, and the place without its `$`."""
    text, place = _message_and_place(message)
    where = place.removeprefix("$")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        return f"unknown key {unknown.group(1)!r}", f"{where}.{unknown.group(1)}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", text, re.DOTALL):
        return f"the key {missing.group(1)!r} is missing", where
    return text, where
