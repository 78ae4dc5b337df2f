"""How far apart two things are at most, by the words of a sentence."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

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
    """How far apart two numbers may be, in percent, on which side only, and where the sentence has said it."""

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
    """Which numbers break it. A slower thing has more latency."""
    slower = re.fullmatch(_LESS, word, re.IGNORECASE) is not None
    if _LATENCY.search(sentence) and word.lower() in ("slower", "worse", "faster", "better"):
        slower = not slower
    return "less" if slower else "more"
