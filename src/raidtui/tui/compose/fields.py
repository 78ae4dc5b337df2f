"""What an option's value is as text, and what a text is as its value: by the definitions that the engine gives."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from raidtui.model.describe import Field
from raidtui.model.jsonio import read_json
from raidtui.model.problem import ProblemError
from raidtui.model.units import Duration, Extent, Size, VirtualExtent
from raidtui.tui.compose.paths import MISSING

_UNITS = {"size": Size, "extent": Extent, "duration": Duration}


def as_json_line(field: Field) -> bool:
    """True for what has no better form than a line of JSON."""
    return field.many or field.type in ("list", "object", "devices")


def as_text(field: Field, value: Any) -> str:
    """How a value stands in an input; nothing where it is left out."""
    if value is MISSING:
        return ""
    if field.many or field.type in ("list", "object"):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parse(field: Field, text: str) -> Any:
    """The value that a text means, MISSING where it is empty. Raises ValueError in words for the one who types."""
    text = text.strip()
    if not text:
        return MISSING
    if field.many or field.type in ("list", "object"):
        return _json(text)
    if field.type == "devices":
        return _json(text) if text[:1] in '[{"' else text
    if field.type == "switch":
        return _switch(text)
    if field.type in ("integer", "number"):
        return _number(field, text)
    if field.type in _UNITS:
        text = re.sub(r"\s+", "", text)
        (VirtualExtent if field.type == "extent" and field.most else _UNITS[field.type])(text)
        return text
    if field.type == "choice" and text not in field.choices:
        raise ValueError(f"one of {', '.join(field.choices)}")
    if field.pattern and not re.search(field.pattern, text):
        raise ValueError(f"such as {' or '.join(field.examples)}" if field.examples else f"it must match {field.pattern}")
    return text


def takes(field: Field) -> str:
    """What may be typed, short: `size, such as 64KiB or 1MiB`."""
    parts = []
    if field.type in ("integer", "number"):
        kind = "a whole number" if field.type == "integer" else "a number"
        parts.append(f"{kind}{_limits(field)}" + (f" {field.unit}" if field.unit else ""))
    elif field.many or field.type in ("list", "object"):
        parts.append("JSON")
    elif field.type == "text":
        parts.append("text")
    else:
        parts.append({"size": "a size", "extent": "a size or a share", "duration": "a time"}.get(field.type, ""))
    if field.examples:
        parts.append(f"such as {' or '.join(field.examples[:3])}")
    return ", ".join(filter(None, parts))


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
