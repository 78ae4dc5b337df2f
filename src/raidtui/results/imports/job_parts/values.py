"""What values in a job file mean, as a scenario writes them. Every function raises ValueError with what is wrong."""

from __future__ import annotations

import re
from typing import Final

_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NUMBER: Final = re.compile(r"(0x[0-9a-fA-F]{1,15}|[0-9]{1,18})([kmgtp]?)(i?)(b?)", re.IGNORECASE)
_TIME: Final = re.compile(r"([0-9]{1,12})(d|h|m|s|ms|us|msec|usec|sec)?", re.IGNORECASE)
_US: Final = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "sec": 1_000_000,
              "ms": 1000, "msec": 1000, "us": 1, "usec": 1}  # fmt: skip
_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def size_bytes(text: str, base: int) -> int:
    """Bytes. With `base` 1024, fio's default, `4k` and `4kb` are 4096 and `4kib` is 4000; with 1000 it is the reverse."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a plain size")
    number, power, i, b = (group.lower() for group in match.groups())
    flipped = bool(i and b)
    step = base if not flipped else {1024: 1000, 1000: 1024}[base]
    return int(number, 0) * int(step ** _POWERS[power])


def size(text: str, base: int) -> str:
    """A size with its unit, exact: `4KiB`, `10GiB`, `1000B`."""
    count = size_bytes(text, base)
    if count >= 10**15:
        raise ValueError(f"{text} is larger than any disk")
    for unit_bytes, unit in _UNITS:
        if count and count % unit_bytes == 0:
            return f"{count // unit_bytes}{unit}"
    return f"{count}B"


def extent(text: str, base: int) -> str:
    """A size, or a share as it is: `80%`."""
    if re.fullmatch(r"[0-9]{1,3}%", text):
        return text
    return size(text, base)


def duration(text: str, *, bare: str) -> str:
    """A time; a number alone counts in `bare` (`s` or `us`)."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a plain time")
    us = int(match.group(1)) * _US[(match.group(2) or bare).lower()]
    if us % 1_000_000 == 0:
        return f"{us // 1_000_000}s"
    whole, rest = divmod(us, 1000)
    return f"{whole}ms" if not rest else f"{whole}.{rest:03d}ms"


def number(text: str) -> int:
    """A whole number, maybe with fio's suffixes: `1k` operations are 1024."""
    return size_bytes(text, 1024)


def percentile(text: str) -> float:
    """A share in percent, which may be a fraction."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text):
        raise ValueError(f"{text} is not a share in percent")
    return float(text)


def flag(text: str | None) -> bool:
    """An option alone is on."""
    if text is None:
        return True
    if text not in ("0", "1"):
        raise ValueError(f"{text} is neither 0 nor 1")
    return text == "1"


def one_of(text: str, reads: bool, writes: bool) -> str:
    """Of `read,write,trim` the one that counts here. What stands first holds for all that are left out."""
    parts = text.split(",")
    read, write = parts[0], parts[1] if len(parts) > 1 and parts[1] else parts[0]
    if reads and writes and read != write:
        raise ValueError(f"{text} differs for reads and writes")
    return write if writes and not reads else read


def block_mix(text: str, base: int) -> str:
    """`4k/60:64k/40`; shares that are left out get equal parts of what is left."""
    found: list[tuple[str, int | None]] = []
    for part in text.split(":"):
        block, _, share = part.partition("/")
        found.append((size(block, base), int(share) if share else None))
    return ":".join(f"{block}/{share}" for (block, _), share in zip(found, _filled([s for _, s in found]), strict=True))


def distribution(text: str) -> str:
    """`zipf:1.2`, `zoned:50/5:30/15:20/80` …; shares of zones that are left out get what is left."""
    kind, colon, rest = text.partition(":")
    if kind != "zoned" or not colon:
        if not re.fullmatch(r"random|(zipf|pareto|normal):[0-9.]+", text):
            raise ValueError(f"{text} is not a distribution that is known here")
        return text
    zones = [part.split("/") for part in rest.split(":")]
    if not all(len(zone) == 2 and zone[0].isdigit() for zone in zones):
        raise ValueError(f"{text} has zones that are not access/size in percent")
    sizes = _filled([int(zone[1]) if zone[1] else None for zone in zones])
    return "zoned:" + ":".join(f"{zone[0]}/{share}" for zone, share in zip(zones, sizes, strict=True))


def _filled(shares: list[int | None]) -> list[int]:
    missing = shares.count(None)
    left = 100 - sum(share for share in shares if share is not None)
    if missing and (left <= 0 or left % missing):
        raise ValueError("shares that are left out cannot be filled in")
    return [left // missing if share is None else share for share in shares]
