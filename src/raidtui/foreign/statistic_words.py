"""Words of statistics in headings of tables: deviations, extremes, percentiles, counts, units, means.

A column under such a word is about the numbers of another column; no layout or workload has its name. Words are those of
English, German, Russian, French, Spanish, Italian, Portuguese, Chinese and Japanese tables.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

Kind = Literal["", "deviation", "percentile", "extreme", "count", "unit", "derived", "mean"]

PERCENTILE: Final = r"p(?:99\d{1,3}|\d\d?(?:[.,]\d+)?)(?!\w)"
"""p95, p99.9 and p999; P4510 is a disk."""
_PERCENT_OF: Final = r"(?<![\w.,])\d\d(?:[.,]\d+)?[ -]?(?:-?й\b|(?:th|st|nd|rd)(?!\w)|%? ?t?ile(?!\w)|%ile)"
"""`95th`, `99.9%ile`, `95tile`."""
_WORDS: Final[tuple[tuple[Kind, str], ...]] = (
    ("deviation",
     r"std|std ?dev\w*|stdv?|st\.? ?dev\w*|sd(?! card)|dev(?:iation)?s?|variance|varianz|(?:standard |std )?err(?:or)?|sem?"
     r"|rel(?:ative)? ?std|rsd|cov|cv|ci|ci ?\d\d|confidence(?: interval)?|mad|iqr|sigma|σ|±|\+/-|spread|jitter"
     r"|(?:standard)?abweichung|streuung|fehler|stabw|(?:\w+ )?отклонени\w+|ско|дисперси\w+|погрешност\w+|разброс"
     r"|[ée]cart[ -]?type|erreur|desv(?:iaci[oó]n|io)?(?: est\w*)?|deviazione(?: standard)?|scarto|desvio(?: padr[ãa]o)?"),
    ("percentile", r"percentil\w*|pctile?|perzentil\w*|quantil\w*|centile|quartil\w*|перцентил\w+|процентил\w+|квантил\w+"),
    ("unit", r"units?|einheit(?:en)?|единиц\w*|unit[ée]s?|unidad(?:es)?|unità"),
    ("count",
     r"samples?|sample (?:count|size)|observations?|count|counts|n|n ?= ?\d+|num samples|stichproben?\w*|anzahl|messungen"
     r"|количество|кол-во|число|замеров|измерений|nombre|cantidad|numero"),
    ("derived",
     r"per (?:watt|w|disk|drive|core|cpu|gb|tb|gib|tib|dollar|euro|node|osd|device|vm|client|thread|job)|rank|rang"
     r"|weight|score|limit|target|goal|spec(?:s|ified)?|rated|expected|theoretical|nominal|predicted|advertised|soll|ziel|erwartet"
     r"|ожидаем\w+|теоретич\w+|заявлен\w+|attendu|th[ée]orique|agg"),
    ("extreme",
     r"min(?:imum|imal)?|max(?:imum|imal)?|peak|best|worst|first|low(?:est|er)?(?: bound)?|high(?:est)?|upper(?: bound)?"
     r"|spitze|höchst\w*|niedrigst\w*|мин(?:имум|имальн\w+)?|макс(?:имум|имальн\w+)?|пик(?:ов\w+)?|pic|m[íi]nim[oa]|m[áa]xim[oa]"),
    ("mean",
     r"avg|average|mean|median|geomean|last|total|overall|sum|steady|sustained|mittel(?:wert)?|mittler\w*|durchschnitt\w*|schnitt"
     r"|summe|gesamt|средн\w+|медиана|итого|всего|сумма|moyenn?e?s?|m[ée]diane?|somme|promedio|media|mediana|m[ée]dia"),
)  # fmt: skip
"""Whole words in lower case. The first kind that is found counts; `mean` are those of the number itself."""
_HAN: Final[tuple[tuple[Kind, str], ...]] = (
    ("deviation", "标准差|標準差|標準偏差|偏差|方差|误差|誤差"), ("percentile", "分位|百分位|パーセンタイル"),
    ("unit", "单位|單位|単位"),
    ("count", "样本数|樣本數|次数|次數|数量|數量|回数|サンプル数"), ("extreme", "最大|最小|最高|最低|峰值"),
    ("mean", "平均値?|均值|中位数|中央値|合计|合計"),
)  # fmt: skip
"""Without blanks between words."""
_PATTERNS: Final = {
    kind: re.compile("|".join([rf"(?<![\w/])(?:{words})(?!\w)", *(s for k, s in _HAN if k == kind)]), re.IGNORECASE)
    for kind, words in _WORDS
}
_NUMBERED: Final = re.compile(rf"(?<!\w){PERCENTILE}|{_PERCENT_OF}")
_PER: Final = re.compile(r"(?:iops|/s)\s*/\s*(?:w|watt|\$|€|disk|drive|core|gb|tb|gib|tib|node|osd)(?!\w)")
"""`IOPS/W`, `MB/s/disk`."""
_MAX: Final = re.compile(r"(?<!\w)(?:max|worst|peak|макс|пик|m[áa]xim|höchst|spitze)|最大|最高|峰值", re.IGNORECASE)
_BIN: Final = re.compile(r"[<>≤≥]=?\s*\d")
"""A class of a histogram: `lat < 1 ms`."""
_THINGS: Final = re.compile(r"disk|drive|client|thread|job|vm|osd|node|host|core|file|festplatten|диск|клиент|поток|disque")
_BARE_COUNT: Final = re.compile(
    r"(?:(?:total|number of|num|no\.? of|completed|read|write|# ?(?:of)?)\W*)+(?:i/?os?|ops|operations|requests)"
    r"|(?:i/?os?|ops?|operations?|requests?)\W*(?:count|total|completed|issued)"
)


@lru_cache(maxsize=4096)
def kind_of(text: str) -> Kind:
    """Return the statistic that a heading names; `mean` for words of the number itself, nothing without such words."""
    lowered = " ".join(text.replace("_", " ").lower().split())
    if _BARE_COUNT.fullmatch(lowered):
        return "count"
    if _PER.search(lowered):
        return "derived"
    if _BIN.search(lowered):
        return "count"
    for kind, pattern in _PATTERNS.items():
        if kind == "unit" and _NUMBERED.search(lowered):
            return "percentile"
        if pattern.search(lowered) and not (kind == "count" and _of_things(lowered)):
            return kind
    return ""


def _of_things(lowered: str) -> bool:
    """Return True for the number of disks, clients and the like: a setting."""
    return _THINGS.search(lowered) is not None


def kind_alone(text: str) -> Kind:
    """Return the kind of a heading that says nothing else: `std`, `n`, `95th percentile`, `raid0` is none."""
    kind = kind_of(text)
    if _BARE_COUNT.fullmatch(text.lower()):
        return kind
    return kind if kind not in ("", "mean") and not re.search(r"[^\W\d]", without(text, *_PATTERNS)) else ""


def without_means(text: str) -> str:
    """Return a heading without words of means: `raid0` of `raid0 avg`; nothing if it has but words of statistics."""
    rest = without(text, "mean")
    return rest if without(rest, *_PATTERNS) else ""


def without_statistics(text: str) -> str:
    """Return a heading without words of any statistic: `raid0` of `raid0 std`."""
    return without(text, *_PATTERNS)


def is_maximum(text: str) -> bool:
    """Return True for the largest of several numbers."""
    return _MAX.search(text) is not None


def without(text: str, *kinds: Kind) -> str:
    """Return a heading without the words of these kinds."""
    plain = " ".join(text.replace("_", " ").split())
    for kind in kinds:
        plain = _PATTERNS[kind].sub(" ", plain)
        if kind == "percentile":
            plain = _NUMBERED.sub(" ", plain)
    return " ".join(re.sub(r"[(\[{]\s*[)\]}]", " ", plain).split()).strip(" .,;:-()[]") if kinds else plain
