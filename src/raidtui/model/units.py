"""Sizes, shares and times as scenario files write them: `"64KiB"`, `"80%"`, `"60s"`. A unit is never implied."""

from __future__ import annotations

import re
from typing import ClassVar, Final

_BYTES_PER: Final = {
    "B": 1,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50,
    "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
}  # fmt: skip
_SECONDS_PER: Final = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MAX_BYTES: Final = 1 << 62
_MAX_SECONDS: Final = 366 * 86400.0

SIZE_PATTERN: Final = r"^[0-9]{1,15}(\.[0-9]{1,3})?(B|KiB|MiB|GiB|TiB|PiB|kB|KB|MB|GB|TB|PB)(?!\n)$"
SHARE_PATTERN: Final = r"^[0-9]{1,5}(\.[0-9]{1,3})?%(?!\n)$"
DURATION_PATTERN: Final = r"^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d)(?!\n)$"


class Size:
    """A number of bytes, written with its unit. Compares and hashes by bytes."""

    __slots__ = ("bytes", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes = _whole_bytes(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.bytes == other.bytes

    def __hash__(self) -> int:
        return hash(self.bytes)

    def __repr__(self) -> str:
        return f"Size({self.text!r})"

    def of(self, whole_bytes: int) -> int:
        """The size itself: what it is of does not matter (see `Share.of`)."""
        return self.bytes


class Extent:
    """Either a size (`"10GiB"`) or a share of what there is (`"80%"`)."""

    __slots__ = ("bytes", "percent", "text")

    MOST_PERCENT: ClassVar[int] = 100

    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes: int | None = None
        self.percent: float | None = None
        if re.match(SHARE_PATTERN, text):
            self.percent = float(text[:-1])
            if not 0 < self.percent <= self.MOST_PERCENT:
                raise ValueError(f"a share is more than 0% and at most {self.MOST_PERCENT}%")
        else:
            self.bytes = _whole_bytes(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extent) and (self.bytes, self.percent) == (other.bytes, other.percent)

    def __hash__(self) -> int:
        return hash((self.bytes, self.percent))

    def __repr__(self) -> str:
        return f"Extent({self.text!r})"

    def of(self, whole_bytes: int) -> int:
        """Return the bytes of the share of `whole_bytes`."""
        return self.bytes if self.bytes is not None else int(whole_bytes * (self.percent or 0) / 100)


class VirtualExtent(Extent):
    """An extent that only its user sees: its share may be more than all there is (`"300%"`)."""

    __slots__ = ()

    MOST_PERCENT: ClassVar[int] = 10_000


class Duration:
    """A length of time, written with its unit. Compares and hashes by seconds."""

    __slots__ = ("seconds", "text")

    def __init__(self, text: str) -> None:
        if not re.match(DURATION_PATTERN, text):
            raise ValueError(f'{text!r} is not a time: write a number and ms, s, m, h or d, such as "60s"')
        number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", text).groups()  # type: ignore[union-attr]
        self.text = text
        self.seconds = float(number) * _SECONDS_PER[unit]
        if self.seconds > _MAX_SECONDS:
            raise ValueError(f"{text!r} is longer than a year")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.seconds == other.seconds

    def __hash__(self) -> int:
        return hash(self.seconds)

    def __repr__(self) -> str:
        return f"Duration({self.text!r})"


def _whole_bytes(text: str) -> int:
    if not re.match(SIZE_PATTERN, text):
        raise ValueError(f'{text!r} is not a size: write a number and its unit, such as "64KiB" or "10GB"')
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", text).groups()  # type: ignore[union-attr]
    whole, _, fraction = number.partition(".")
    scaled = int(whole) * _BYTES_PER[unit] * 1000 + int((fraction + "000")[:3]) * _BYTES_PER[unit]
    if scaled % 1000:
        raise ValueError(f"{text!r} is not a whole number of bytes")
    if scaled // 1000 > _MAX_BYTES:
        raise ValueError(f"{text!r} is larger than any disk")
    return scaled // 1000


def size_text(size_bytes: float) -> str:
    """`8.0 GiB`: binary units, as the kernel counts."""
    value, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def size_texts(*sizes: int) -> tuple[str, ...]:
    """Sizes that are compared with each other, as `size_text`; in bytes where that makes different ones look alike."""
    texts = tuple(map(size_text, sizes))
    return texts if len(set(texts)) == len(set(sizes)) else tuple(f"{size} bytes" for size in sizes)


def duration_text(seconds: float) -> str:
    """`1 h 05 min`, `3 min 20 s`, `12 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
