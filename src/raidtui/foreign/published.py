"""Published numbers: their value, the interval of their digits, and the tolerance in words of a sentence."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from raidtui.model.table import Figure

_NUMBER: Final = re.compile(r"[-+−]?\d[\d\s.,'_\u00a0\u2009\u202f]*(?:[eE][-+]?0?\d{1,2})?")
_PLAIN: Final = re.compile(r"(\d{1,15})(?:\.(\d{1,15}))?", re.ASCII)
_HALVES: Final = {exponent: 0.5 * 10.0**exponent for exponent in range(-15, 16)}
_SPACES: Final = re.compile(r"[\s'_\u00a0\u2009\u202f]")
_SUFFIX: Final = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "k ": 1e3}
_ROUGH: Final = ("~", "≈", "ca.", "ca ", "about ", "около ")
_LOST_CARRY: Final = re.compile(r"([1-9]\.00|[1-9]\d\.0)[kMG]?")
_PLAIN_DIGITS: Final = 3
"""Digits of a whole number that count, zeros included: three, two of a rough number, all of them before a k."""
_ROUGH_DIGITS: Final = 2
_ALL_DIGITS: Final = 40


class Published(NamedTuple):
    """A number, half the step of its last digit, and whether it was said to be rough."""

    value: float
    half_step: float
    rough: bool = False


class Interval(NamedTuple):
    """Everything that a rounded number may have been."""

    low: float
    high: float

    def times(self, factor: float) -> Interval:
        return Interval(self.low * factor, self.high * factor)

    def widened(self, share: float) -> Interval:
        return Interval(self.low * (1 - share), self.high * (1 + share))

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def over(self, other: Interval) -> Interval | None:
        """The quotient; None where the divisor may be zero."""
        return Interval(self.low / other.high, self.high / other.low) if other.low > 0 else None

    def gap(self, other: Interval) -> float:
        """Return the distance of two intervals; 0 if they overlap."""
        return max(0.0, self.low - other.high, other.low - self.high)


def read_number(text: str) -> Published | None:
    """`11 827.20`, `1,473.5`, `27000`, `~0.037`, `63.6k`; None where it is no number. No unit but k, M, G may follow."""
    if (plain_number := read_plain(text)) is not None:
        return plain_number
    stripped = text.strip()
    rough = False
    for mark in _ROUGH:
        if stripped.startswith(mark):
            stripped, rough = stripped.removeprefix(mark).strip(), True
    factor = 1.0
    if stripped[-1:] in _SUFFIX:
        factor, stripped = _SUFFIX[stripped[-1]], stripped[:-1]
    if len(stripped) > _ALL_DIGITS or not _NUMBER.fullmatch(stripped):
        return None
    plain = _with_point(_SPACES.sub("", stripped).replace("−", "-"))
    try:
        value = float(plain)
    except ValueError:
        return None
    if value in (float("inf"), float("-inf")):
        return None
    digits = _ROUGH_DIGITS if rough else _ALL_DIGITS if factor > 1 else _PLAIN_DIGITS
    return Published(round(value * factor, 6) if factor > 1 else value, _half_step(plain, digits) * factor, rough)


def read_plain(text: str) -> Published | None:
    """Return a number of digits alone, with a point or without. Most numbers are such, and they are read faster."""
    found = _PLAIN.fullmatch(text)
    if found is None:
        return None
    whole, fraction = found.groups()
    if fraction is not None:
        return Published(float(text), _HALVES[-len(fraction)])
    zeros = len(whole) - len(whole.rstrip("0")) if whole[-1] == "0" else 0
    return Published(float(text), _HALVES[min(zeros, max(0, len(whole) - _PLAIN_DIGITS))])


def interval(figure: Figure) -> Interval:
    """Return the interval that a figure stands for."""
    read = read_number(figure.text) if figure.text else None
    half = read.half_step if read is not None else _half_step(repr(figure.value).removesuffix(".0"), _PLAIN_DIGITS)
    return Interval(figure.value - half, figure.value + half)


def printed_interval(figure: Figure) -> Interval:
    """Return the interval of a figure that a tool printed: fio cuts operations to integers, and before 3.26 wrote 12.96k as
    12.0k.
    """
    low, high = interval(figure)
    if (lost := _LOST_CARRY.fullmatch(figure.text)) is not None:
        return Interval(low, high + figure.value / float(lost.group(1)))
    cut = figure.metric == "iops" and figure.text.isdecimal()
    return Interval(figure.value - 1, figure.value + 1) if cut else Interval(low, high)


def decimals(figure: Figure) -> int:
    """Digits behind the point as it was published."""
    plain = _with_point(_SPACES.sub("", figure.text.strip().lstrip("~≈"))) if figure.text else repr(figure.value)
    mantissa = plain.lower().partition("e")[0].rstrip("kmg")
    fraction = mantissa.partition(".")[2]
    return 0 if not figure.text and fraction == "0" else len(fraction)


def _with_point(digits: str) -> str:
    """Return the text with a point as the only separator; None if its separators are contradictory.

    A comma before exactly three digits groups; another one is a point.
    """
    if "," in digits and "." in digits:
        last = max(digits.rfind(","), digits.rfind("."))
        return digits[:last].replace(",", "").replace(".", "") + "." + digits[last + 1 :]
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+|[-+]?[1-9]\d{0,2}(?:\.\d{3}){2,}", digits):
        return digits.replace(",", "").replace(".", "")
    return digits.replace(",", ".") if digits.count(",") + digits.count(".") <= 1 else ""


def _half_step(plain: str, least_digits: int) -> float:
    mantissa, _, exponent = plain.lower().lstrip("+-").partition("e")
    scale = 10.0 ** int(exponent or 0)
    whole, point, fraction = mantissa.partition(".")
    if point:
        return 0.5 * 10.0 ** -len(fraction) * scale
    zeros = len(whole) - len(whole.rstrip("0"))
    unsure = min(zeros, max(0, len(whole) - least_digits))
    return 0.5 * 10.0**unsure * scale


_PERCENT: Final = r"(\d+(?:[.,]\d+)?)\s*(?:%|percent|per cent|процент\w*)"
_LEAST_SHARE: Final = re.compile(rf"(?:below|under|at least|less than)\s+{_PERCENT}\s+of", re.IGNORECASE)
_SURELY_LEAST: Final = re.compile(
    r"at least\s+\d|(?:not|n['’]t|never|nowhere)\s+(?:\w+\s+){0,2}(?:below|under|less than)\s+\d", re.IGNORECASE
)
_LESS: Final = r"(?:slower|less|lower|worse|below|behind)"
_MORE: Final = r"(?:faster|more|higher|better|above|ahead)"
_AT_MOST: Final = r"(?:at most|at worst|no(?:t)? more than|never more than|less than|up to|within|maximum)"
_ONE_SIDE: Final = re.compile(rf"{_AT_MOST}\s+{_PERCENT}\s+({_LESS}|{_MORE})", re.IGNORECASE)
_AMOUNT: Final = re.compile(rf"{_PERCENT}\s+(?:{_LESS}|{_MORE})", re.IGNORECASE)
_NO_SIDE: Final = re.compile(rf"(?:not?|never|nowhere)\s+({_LESS}|{_MORE})\s+than(?!\s*\d)", re.IGNORECASE)
_TOLERANCE: Final = re.compile(_PERCENT, re.IGNORECASE)
_DIFFERENCE: Final = re.compile(
    r"(?:within|inside|±|\+/-|less than|more than|at most|up to|maximum|differ\w*|deviat\w*|apart|by|off)\W+(?:\w+\W+)?$",
    re.IGNORECASE,
)
_HALF: Final = 50.0
"""`less than 5 % of it` is a difference, `less than 95 % of it` is what is left, as is `at least 5 % of it`."""
_LATENCY: Final = re.compile(r"latenc", re.IGNORECASE)


class Tolerance(NamedTuple):
    """Largest difference of two numbers in percent, the allowed direction, and its place in the sentence."""

    percent: float
    only: Literal["", "less", "more"]
    end: int


def tolerance(sentence: str) -> Tolerance | None:
    """`within 5 % of`, `never below 90 % of`, `at most 5 % slower than`, `not slower than`; None where it says no bound."""
    if (match := _LEAST_SHARE.search(sentence)) is not None:
        percent = _number(match)
        if percent > 100:
            return None  # more than the other: no bound of how far they are apart
        if percent > _HALF or _SURELY_LEAST.search(sentence):
            return Tolerance(round(100 - percent, 6), "less", match.end())
    if (match := _ONE_SIDE.search(sentence)) is not None:
        return Tolerance(_number(match), _side(match.group(2), sentence), match.end())
    if (match := _NO_SIDE.search(sentence)) is not None:
        return Tolerance(0.0, _side(match.group(1), sentence), match.end())
    if _AMOUNT.search(sentence) is not None or (match := _TOLERANCE.search(sentence)) is None:
        return None  # `20 % faster` is what was measured, not how far it may be off
    if re.match(r"\s+of\b", sentence[match.end() :]) and not _DIFFERENCE.search(sentence[: match.start()]):
        return None  # as is `reaches 20 % of`
    return Tolerance(_number(match), "", match.end())


def _number(match: re.Match[str]) -> float:
    return min(1000.0, float(match.group(1).replace(",", ".")))


def _side(word: str, sentence: str) -> Literal["less", "more"]:
    """Return the numbers that break the claim. A slower object has more latency."""
    slower = re.fullmatch(_LESS, word, re.IGNORECASE) is not None
    if _LATENCY.search(sentence) and word.lower() in ("slower", "worse", "faster", "better"):
        slower = not slower
    return "less" if slower else "more"
