"""Values of options as texts that people type, and back. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from raidtui.base.text import named
from raidtui.model.describe import Field
from raidtui.model.hints import similar_words
from raidtui.model.jsonio import read_json
from raidtui.model.problem import ProblemError
from raidtui.model.units import Duration, Extent, Size, VirtualExtent
from raidtui.tui.compose.document import MISSING

_UNITS = {"size": Size, "extent": Extent, "duration": Duration}


def as_text(field: Field, value: Any) -> str:
    """Return a value as input text; empty if it is omitted."""
    if value is MISSING:
        return ""
    if field.sweep and isinstance(value, list):
        return ", ".join(as_text(_single(field), one) for one in value) + ("," if len(value) == 1 else "")
    if field.by_name and isinstance(value, Mapping) and (words := _named_words(value)):
        return words
    if is_word_list(field) and isinstance(value, list) and value and all(word in field.choices for word in value):
        return " ".join(value)
    if field.many or field.type in ("list", "object"):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parse(field: Field, text: str) -> Any:
    """Return the value of an input text, MISSING if it is empty. Raises ValueError with a message for the user."""
    text = text.strip()
    if not text:
        return MISSING
    if field.sweep and "," in text:
        return _values(field, text)
    if field.by_name and text[:1] not in '[{"':
        return _checked(field, _by_name(text))
    if is_word_list(field) and text[:1] not in '[{"':
        return _word_list(field, text)
    if field.many or field.type in ("list", "object"):
        return _checked(field, _json(text))
    if field.type == "devices":
        return _json(text) if text[:1] in '[{"' else text
    if field.type == "switch":
        return _switch(text)
    if field.type in ("integer", "number"):
        return _number(field, text)
    if field.type in _UNITS:
        text = _with_unit(field, re.sub(r"\s+", "", text))
        (VirtualExtent if field.type == "extent" and field.most else _UNITS[field.type])(text)
        return text
    if field.type == "choice" and text not in field.choices:
        raise ValueError(f"one of {', '.join(field.choices)}")
    if field.pattern and not re.search(field.pattern, text):
        examples = " or ".join(field.examples[:3])
        raise ValueError(f"such as {examples}" if examples else f"it must match {field.pattern}")
    return text


def _with_unit(field: Field, text: str) -> str:
    """Return a size with its unit in full: `4k` is 4KiB, as in fio and in ZFS."""
    short = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtp])(ib)?", text, re.IGNORECASE) if field.type != "duration" else None
    return f"{short[1]}{short[2].upper()}iB" if short else text


def is_word_list(field: Field) -> bool:
    """Return True for a list of choices: it is typed as words with blanks between."""
    return field.many and not field.by_name and field.type == "choice"


def _word_list(field: Field, text: str) -> list[str]:
    words = text.replace(",", " ").split()
    if wrong := next((word for word in words if word not in field.choices), ""):
        raise ValueError(f"{wrong} is none of {', '.join(field.choices)}")
    if twice := next((word for number, word in enumerate(words) if word in words[:number]), ""):
        raise ValueError(f"{twice} is there twice")
    return words


def _by_name(text: str) -> dict[str, Any]:
    """Return `compression=lz4 copies=2` as values by name. Raises ValueError with a message for the user."""
    found: dict[str, Any] = {}
    # A comma separates names only before another one: `dedup=sha256,verify` is one value.
    for word in re.split(r",?\s+|,(?=[^\s,=]+=)", text.strip().rstrip(",")):
        name, sign, value = word.partition("=")
        if not name or not sign or not value:
            raise ValueError(f"{word}: a name, =, and a value, such as compression=lz4")
        if name in found:
            raise ValueError(f"{name} is there twice")
        found[name] = int(value) if re.fullmatch(r"0|[1-9]\d{0,15}", value) else value
    return found


def _named_words(value: Mapping[str, Any]) -> str:
    """Return values by name as `_by_name` reads them; empty if it would read others."""
    words = " ".join(f"{name}={one}" for name, one in value.items())
    try:
        return words if json.dumps(_by_name(words)) == json.dumps(value) else ""
    except ValueError:
        return ""


def _checked(field: Field, value: Any) -> Any:
    if error := wrong_entries(field, value):
        raise ValueError(error)
    return value


def wrong_entries(field: Field, value: Any) -> str:
    """Return what is wrong with values by name: a name or a value that the engine does not list; empty if nothing is."""
    if not field.entries or not isinstance(value, Mapping):
        return ""
    return next(filter(None, (_wrong_entry(field, str(name), one) for name, one in value.items())), "")


def _wrong_entry(field: Field, name: str, value: Any) -> str:
    entry = entry_of(field, name)
    if entry is None:
        meant = similar_words(name, [one.name for one in field.entries])
        possible = f"did you mean {' or '.join(meant)}?" if meant else f"it may be {named(names_of(field), 12)}"
        return f"there is no {name} here; {possible}"
    text = "yes" if value is True else str(value)
    if entry.choices and not (text in entry.choices or _amount(text) in set(map(_amount, entry.choices)) - {None}):
        return f"{name} cannot be {text}; it is one of {named(entry.choices, 16)}"
    try:
        parse(msgspec.structs.replace(entry, type="text") if entry.choices else entry, text)
    except ValueError as error:
        return f"{name}: {error}"
    return ""


def names_of(field: Field) -> list[str]:
    return [one.name for one in field.entries]


def entry_of(field: Field, name: str) -> Field | None:
    """Return the definition of one of the values by name; None if there is no such name."""
    begun = (one for one in field.entries if one.name.endswith("@") and name.startswith(one.name) and name != one.name)
    return next((one for one in field.entries if one.name == name and not name.endswith("@")), next(begun, None))


def _amount(text: str) -> int | None:
    """Return the number of bytes of `16K`, `16KiB` or `16384`; None for other texts."""
    match = re.fullmatch(r"(\d{1,15})(?:([KMGTP])(?:I?B)?)?", text.upper())
    return int(match[1]) << (10 * " KMGTP".index(match[2] or " ")) if match else None


def input_hint(field: Field) -> str:
    """Return a short hint of allowed input: `a size, such as 64KiB or 1MiB`."""
    parts = []
    if field.type in ("integer", "number") and not field.many:
        kind = "a whole number" if field.type == "integer" else "a number"
        parts.append(f"{kind}{_limits(field)}" + (f" {field.unit}" if field.unit else ""))
    elif field.by_name:
        parts.append("name=value with blanks between, or JSON")
    elif is_word_list(field):
        parts.append(f"words with blanks between: {', '.join(field.choices)}")
    elif field.many or field.type in ("list", "object"):
        parts.append("JSON")
    elif field.type == "text":
        parts.append("text")
    else:
        parts.append({"size": "a size", "extent": "a size or a share", "duration": "a time"}.get(field.type, ""))
    if field.examples:
        parts.append(f"such as {' or '.join(field.examples[:3])}")
    if field.sweep:
        parts.append("or several with commas, for a sweep")
    return ", ".join(filter(None, parts))


def _single(field: Field) -> Field:
    return msgspec.structs.replace(field, sweep=False)


def _values(field: Field, text: str) -> list[Any]:
    """Return the values of a sweep's option, which commas separate; behind the last one a comma may stand."""
    words = text.removesuffix(",").split(",")
    values = [parse(_single(field), word) for word in words]
    if MISSING in values:
        raise ValueError("a value is missing between commas")
    if twice := next((word.strip() for number, word in enumerate(words) if values[number] in values[:number]), ""):
        raise ValueError(f"{twice} is there twice")
    return values


def _json(text: str) -> Any:
    try:
        return read_json(text.encode("utf-8", "surrogatepass"))
    except ProblemError as error:
        raise ValueError(f"JSON: {error.problems[0].message}") from None


def _switch(text: str) -> bool:
    if text.lower() in ("yes", "true", "on"):
        return True
    if text.lower() in ("no", "false", "off"):
        return False
    raise ValueError("yes or no")


def _number(field: Field, text: str) -> int | float:
    plain = text.replace("_", "").replace(",", "")
    try:
        value = int(plain) if field.type == "integer" else float(plain)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("a whole number" if field.type == "integer" else "a number")
    if (field.least is not None and value < field.least) or (field.most is not None and value > field.most):
        raise ValueError(f"a number{_limits(field)}")
    return int(value) if field.type == "number" and value == int(value) and "." not in plain else value


def _limits(field: Field) -> str:
    least = None if field.least is None else f"{field.least:g}"
    most = None if field.most is None else f"{int(field.most)}" if field.most == int(field.most) else f"{field.most:g}"
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f", at least {least}"
    return f", at most {most}" if most is not None else ""
