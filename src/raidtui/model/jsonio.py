"""Reading JSON that a stranger wrote: bounded before it is parsed, and refused where it is ambiguous.

The standard library's reader accepts duplicate keys (the last wins), NaN, numbers of any length and any depth; a scenario
may have none of these.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from raidtui.model.problem import ProblemError, fail
from raidtui.model.refusals import JSON

MAX_SCENARIO_BYTES: Final = 1 << 20
MAX_RESULT_BYTES: Final = 256 << 20
MAX_DEPTH: Final = 40
_MAX_DIGITS: Final = 18
# A JSON string, or a bracket outside of strings: all that the depth of a document depends on.
_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def read_json(data: bytes, *, max_bytes: int = MAX_SCENARIO_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """Parse strict JSON. Raises ProblemError (code `json`) naming line and column, or what is not allowed."""
    if len(data) > max_bytes:
        raise _refuse(f"the file has {len(data)} bytes; at most {max_bytes} are read")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refuse(f"byte {error.start} is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise fail(JSON, "it begins with a byte order mark", place="$", remedy="Save it as UTF-8 without one.")
    _check_depth(text, max_depth)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_int=_bounded_int,
            parse_float=_finite_float,
        )
    except json.JSONDecodeError as error:
        raise _refuse(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except _Ambiguous as error:
        raise _refuse(f"{error} ({_lines(text, error.written)})") from None
    except RecursionError:
        raise _refuse("it is nested too deeply") from None
    _refuse_surrogates(text)
    return value


class _Ambiguous(Exception):
    """A document that JSON parsers read in different ways."""

    def __init__(self, message: str, written: str) -> None:
        super().__init__(message)
        self.written = written


def _lines(text: str, written: str) -> str:
    """Return the lines of a document that contain this text, which the parser does not report."""
    pattern = rf'(?<![\w.+\-"]){re.escape(written)}(?![\w.])'
    numbers = list(dict.fromkeys(text.count("\n", 0, match.start()) + 1 for match in re.finditer(pattern, text)))
    most = [str(number) for number in numbers[:4]]
    more = ", …" if len(numbers) > len(most) else ""
    return f"line{'s' if len(most) > 1 else ''} {', '.join(most)}{more}" if most else "written with escapes"


def _refuse(message: str) -> ProblemError:
    return fail(JSON, message, place="$", remedy="The file must be plain JSON: UTF-8, unique keys, finite numbers.")


def _check_depth(text: str, max_depth: int) -> None:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
            if depth > max_depth:
                line = text.count("\n", 0, match.start()) + 1
                raise _refuse(f"it is nested more than {max_depth} deep in line {line}")
        elif mark in "]}":
            depth -= 1


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            written = json.dumps(key, ensure_ascii=False)
            raise _Ambiguous(f"the key {json.dumps(key[:80])} appears twice in one object", written)
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise _Ambiguous(f"{name} is not a number", name)


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _Ambiguous(f"the number {digits[:20]}… has too many digits", digits)
    return int(digits)


def _finite_float(digits: str) -> float:
    value = float(digits)
    if len(digits) > 40 or value in (float("inf"), float("-inf")):
        raise _Ambiguous(f"the number {digits[:20]} is out of range", digits)
    return value


def _refuse_surrogates(text: str) -> None:
    # A lone \ud800 parses, and then fails wherever the text is written. Pairs are fine and are removed first.
    without_pairs = re.sub(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}", "", text)
    if match := re.search(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}", without_pairs):
        raise _refuse(f"{match.group()} is half a character")
