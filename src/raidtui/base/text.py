"""Make text from hardware, files and tools safe to print: one sanitizer for all of raidtui."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Control, format (bidi, zero-width), surrogate, private and unassigned characters are shown as escapes, so that a disk's
# serial or a scenario's title can neither move the cursor, recolour the screen nor reverse the text around it.
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(value: object, limit: int = 512) -> str:
    """Return `value` as one line of harmless text: escapes for what is not printable, cut after `limit` characters.

    Bytes are read as UTF-8; a byte that is not UTF-8 shows as `\\xNN`.
    """
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    cut = text[:limit] + "…" if len(text) > limit else text
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(_escape(c) if unicodedata.category(c) in _ESCAPED_CATEGORIES else c for c in cut)


def clean_lines(value: object, limit: int = 65536) -> str:
    """Return text like `clean`, but keep line breaks."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return "\n".join(clean(line, limit) for line in text[:limit].splitlines())


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plural(count: int, noun: str) -> str:
    """Return `3 disks`, `1 disk`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def letters_of(number: int) -> str:
    """Count in letters, as the kernel names disks and workbooks name columns: `a` is 0, `z` is 25, `aa` is 26."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def named(names: Sequence[str], most: int) -> str:
    """Return `a, b, c`; beyond `most` of them `a, b and 4 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


_PARTS = re.compile(r"[^-_. :/]+[-_. :/]*|[-_. :/]+")


def shortened(name: str, room: int) -> str:
    """Return a name in at most `room` characters: its middle is left out, between words where that is possible."""
    if len(name) <= room:
        return name
    parts = _PARTS.findall(name)
    head, tail, left = "", "", room - 1
    while parts and len(part := parts[0 if len(head) <= len(tail) else -1]) <= left:
        left -= len(part)
        if len(head) <= len(tail):
            head += parts.pop(0)
        else:
            tail = parts.pop() + tail
    if head and tail:
        return f"{head}…{tail}"
    keep = max(1, room - 1)
    return f"{name[: keep // 2]}…{name[keep // 2 - keep :]}"
