"""Headings of plain tables that are known, as data: the role of a column, in English and in the languages of known sources.

A heading that is not here is `unknown`: `--map ROLE=HEADING` says what it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from raidtui.foreign.statistic_words import PERCENTILE, is_maximum, kind_alone, kind_of, without_means
from raidtui.model.table import Metric

Role = Literal[
    "layout", "workload", "block", "iodepth", "numjobs", "fsync", "command", "model", "round", "baseline", "unit", "value",
    "metric", "figure", "share", "ignored", "unread", "setting", "unknown",
]  # fmt: skip
"""An `ignored` column tells nothing about the measurement; an `unread` one does, but has no place here: it is noted.
A `setting` belongs to the layout: its chunk.
"""
MAPPED_ROLES: Final = (
    "layout", "workload", "iops", "bandwidth", "latency", "share", "block", "iodepth", "numjobs", "fsync", "command",
    "model", "round", "baseline", "ignored",
)  # fmt: skip
"""Roles that a mapping may give to a column."""


class Heading(NamedTuple):
    """Role and meaning of a column. A `figure` has a metric and a unit, a `share` has `of`."""

    role: Role
    text: str
    metric: Metric | None = None
    unit: str = ""
    statistic: str = ""
    direction: str = ""
    of: str = ""
    """For a share: the layout that is 100 %."""
    whose: str = ""
    """For a share: the layout or workload that it is of, where the heading names it."""
    change: bool = False
    """A share that is a difference: +5 % is 105 %."""
    less: bool = False
    """A change without signs, under a word for less: an overhead of 5 % is 95 %."""
    was_unknown: bool = False
    """The heading is not known; `--map` or other columns may give it a role."""
    stated: bool = False
    """The role is that of a mapping."""

    def percent(self, value: float) -> float:
        """Return the share as a percentage of the other layout."""
        return round(100 - value if self.less else 100 + value if self.change else value, 6)


_LONGEST: Final = 400
"""Characters of a heading; longer ones are no headings."""
_PER_SECOND: Final = r"(?:ops|i/?os?|operations)(?:/| per )s(?:ec(?:ond)?)?"
_LATENCY: Final = (
    r"lat(?:ency|encies|enz|ence|encia|ência|enza)?\b|clat|response|\bresp(?:\.|\b)|antwortzeit|задержк|отклик|await|延迟|延遲|时延"
    r"|遅延|レイテンシ|percentil|perzentil|перцентил|centile"
    r"|(?<![\w.,])\d\d(?:[.,]\d+)?(?:th|%? ?t?ile)(?!\w)|(?<!\w)" + PERCENTILE
)
LABELS: Final[tuple[tuple[str, Role], ...]] = (
    (r"layouts?|names?|labels?|config(?:uration)?s?|raid(?: level| type)?|setups?|arrays?|volumes?|systems?|stacks?"
     r"|backends?|targets?|variants?|disks?|drives?|devices?|ssds?|hdds?|nvmes?|controllers?|pools?|structures?|subjects?"
     r"|filesystems?|solutions?|disk name|serial|aufbau|variante|anordnung|konfiguration|disque|конфигурация|массив|диск"
     r"|структура", "layout"),
    (r"workloads?|tests?(?: name| case)?|patterns?|job ?name|benchmarks?|operations?|ops?|loads?|access(?: pattern)?|rw"
     r"|mode|profile|scenario|opération|charge|тест|нагрузка", "workload"),
    (r"(?:bs|blocks?|block ?size|record(?: ?size| ?length)?|reclen|(?:request|object|transfer) ?size|i/?o ?size|xfersize"
     r"|размер блока)\W*(?P<unit>bytes|b|kib|kb|k|mib|mb|m)?\W*", "block"),
    (r"qd|io ?depth|queue(?: ?depth)?|depth|глубина очереди", "iodepth"),
    (r"(?:num ?)?jobs|threads?|thread count|workers|потоки|потоков", "numjobs"),
    (r"fsync", "fsync"),
    (r"(?:[\w-]+ ){0,2}(?:commands?|cmd|command line)|команда|commande", "command"),
    (r"models?|like|disk model|модель|modèle", "model"),
    (r"rounds?|runs?|iterations?|repeat|pass|repetition", "round"),
    (r"baseline|of|relative to|reference|base", "baseline"),
    (r"units?|einheit|единицы?|unité", "unit"),
    (r"metrics?|what|measure", "metric"),
    (r"values?|median|mean|average|avg|measured|wert|messwert|mittelwert|durchschnitt|ergebnis|значение"
     r"|среднее(?: значение)?|valeur"
     r"|moyenne|平均值?|平均値", "value"),
    (r"state|status|low|high|min|max|valid|cells|reasons?|results?|notes?|comments?|remarks?|date|time ?stamp|#|no\.?|place"
     r"|where|line|source|std ?dev|ci.*|±.*|rank|verdict|p|total(?: i/?o)?|amount|transferred|run ?time|duration|elapsed"
     r"|dauer|laufzeit|длительность|durée|(?:.*\W)?(?:util(?:i[sz]ation)?|cpu|err(?:or)?|cv|usr|sys)(?:\W.*)?", "ignored"),
)  # fmt: skip
"""Whole headings, in lower case, with blanks for underscores; the first that matches counts."""
METRICS: Final[tuple[tuple[str, Metric | Literal["unread"]], ...]] = (
    (r"(?<!\w)tps(?!\w)", "unread"),  # transactions of a database are no operations of a disk
    (rf"(?<!\w)(?:k ?)?iops(?!\w)|(?<!\w){_PER_SECOND}(?!\w)", "iops"),
    (_LATENCY, "latency"),
    (r"(?<!\w)(?:bw|bandwidth|throughput|transfer|speed|d[ée]bit|(?:daten)?durchsatz|bandbreite|(?:übertragungs|daten|lese|schreib)rate"
     r"|velocidad|скорость|пропускная способность)(?!\w)|吞吐量?|带宽|帯域|スループット", "bandwidth"),
)
"""Words of a metric, anywhere in a heading in lower case; a unit of a rate alone is a bandwidth too."""
_MEDIAN: Final = re.compile(r"median|медиан|m[ée]diane?|中位数|中央値")
TIMES: Final = ((r"µs|μs|us(?:ec)?|microseconds?|мкс", "us"), (r"ms(?:ec)?|milliseconds?|мс", "ms"),
                (r"ns(?:ec)?", "ns"), (r"s(?:ec)?|seconds?", "s"))  # fmt: skip
_DIRECTIONS: Final = (
    (r"read|rd |r |чтени|lese|lectura|lecture|leitura|lettura|读|讀", "read"),
    (r"writ|wr |w |запис|schreib|[ée]criture|escrit|scrittura|写|寫", "write"),
)  # fmt: skip
_PERCENTILE: Final = re.compile(
    rf"(?<![a-z\d])({PERCENTILE})|(?<![\d.,])(\d\d(?:[.,]\d+)?)[- ]?(?:th|%|tile|pct|й|\.? ?percentil|\.? ?perzentil)"
    r"|(?:percentil|perzentil|перцентил|centile)\w*\W+(\d\d(?:[.,]\d+)?)"
)
_OF_OTHERS: Final = ("deviation", "percentile", "unit")
_PERCENT_ALONE: Final = re.compile(r"\d\d(?:[.,]\d+)?\s?%")
"""`99%`: a percentile of something."""
_THOUSANDS: Final = re.compile(r"(?<![\w.])(?<!\d )k ?iops|iops\W*[\[(]\s*(?:k|×? ?1,?000|thousands?)\s*[\])]")
"""Behind a number, the k is that of a block size: `4k IOPS`."""
_RATE: Final = re.compile(
    r"(?<![A-Za-z])([kKmMgG])?(i?)(?:([bB])(?:yte)?s?|(bit)s?|(o)(?!p))\s?(?(1)(?:/|per |p)?|(?:/|per |p))"
    r"\s?s(?:ec(?:ond)?)?"
    r"(?![A-Za-z])"
)
"""`MB/s`, `MiBps`, `Gbit/s`, `o/s`. Two bare letters are none: `bs` is a block size."""
_CYRILLIC_RATE: Final = re.compile(r"(?<!\w)([кКмМгГ])(?:и)?[бБ](?:айт)?/[сc](?!\w)")
_SIZE_AS_RATE: Final = re.compile(r"(?<![A-Za-z])([kKmMgG])(i?)[bB](?![A-Za-z])")
_SIZE_ALONE: Final = r"[\[(]\s*[kKmMgGtT]i?[bB]\s*[\])]"
"""`(MB)` behind a word for a bandwidth."""
_BARE_SIZE: Final = r"(?<![\w.])(?<!\d )[kKMG]i?B(?!\w)"
"""`MB` of `Throughput MB`; that of `128 KB read` is a size."""


_LABELS: Final = tuple((re.compile(pattern), role) for pattern, role in LABELS)
_METRICS: Final = tuple((re.compile(words), metric) for words, metric in METRICS)


@lru_cache(maxsize=1 << 16)  # the labels of all rows of a wide table
def read_heading(text: str) -> Heading:
    """`IOPS`, `BW (MiB/s)`, `p99 latency, ms`, `% of raid0`, `layout`, `Block size`; `unknown` for anything else."""
    plain = " ".join(text.replace("_", " ").split()).strip("* ")
    if len(plain) > _LONGEST:
        return Heading("unknown", plain)
    lowered = plain.lower()
    for pattern, role in _LABELS:
        if (match := pattern.fullmatch(lowered)) is not None:
            return Heading(role, plain, unit=(match.groupdict().get("unit") or "").removesuffix("ytes"))
    found = (None if kind_of(plain) == "deviation" else read_share(plain)) or _figure(plain, lowered)
    direction = next((name for words, name in _DIRECTIONS if re.match(words, lowered)), "")
    return found._replace(direction=direction if found.role in ("figure", "share") else "")


def _figure(plain: str, lowered: str) -> Heading:
    metric = next((metric for words, metric in _METRICS if words.search(lowered)), None)
    kind, unit = kind_of(plain), rate_unit(plain)
    other = kind in ("count", "derived") or (metric != "latency" and kind in _OF_OTHERS and _percentile(lowered) != "p50")
    if metric == "unread" or (other and (metric or unit)):
        return Heading("unread", plain)
    if metric == "iops":
        return Heading("figure", plain, "iops", "kIOPS" if _THOUSANDS.search(lowered) else "IOPS")
    if metric == "latency":
        if (statistic := _statistic(lowered)) in ("", "other percentile"):
            return Heading("unread" if statistic else "ignored", plain)
        unit = next((name for words, name in TIMES if re.search(rf"(?<![a-zµμ])(?:{words})(?![a-z])", lowered)), "")
        return Heading("figure", plain, "latency", unit, statistic)
    if metric == "bandwidth" and not unit and (size := _SIZE_AS_RATE.search(plain)) is not None:
        unit = f"{size.group(1).upper()}iB/s" if size.group(2) else rate_unit(f"{size.group(1)}B/s")
    if unit or metric:
        return Heading("figure", plain, "bandwidth", unit)
    aside = bool(_PERCENT_ALONE.fullmatch(lowered) or kind_alone(plain))
    return Heading("unread" if aside else "unknown", plain, was_unknown=True)


def _statistic(lowered: str) -> str:
    """Return the statistic of a latency. p999 is 99.9 %: percentiles have at most three digits before the point."""
    kind, percentile = kind_of(lowered), _percentile(lowered)
    if percentile or kind in _OF_OTHERS:
        return percentile
    if kind == "extreme":
        return "max" if is_maximum(lowered) else ""
    return "p50" if _MEDIAN.search(lowered) else "mean"


def _percentile(lowered: str) -> str:
    """Return `p50`, `p99`, `p99.9`, or words for another one; nothing where none is named."""
    if (match := _PERCENTILE.search(lowered)) is None:
        return ""
    digits = next(filter(None, match.groups())).removeprefix("p").replace(",", ".")
    share = f"p{float(digits if '.' in digits else f'{digits[:2]}.{digits[2:]}'):g}"
    return share if share in ("p50", "p99", "p99.9") else "other percentile"


@lru_cache(maxsize=4096)
def rate_unit(text: str) -> str:
    """The unit of a bandwidth that a text names, or nothing. A small b behind a capital letter means bits."""
    if (match := _CYRILLIC_RATE.search(text)) is not None:
        return {"к": "kB/s", "м": "MB/s", "г": "GB/s"}[match.group(1).lower()]
    if (match := _RATE.search(text)) is None:
        return ""
    prefix, binary, letter, bits, _ = match.groups(default="")
    if bits or (letter == "b" and prefix.isupper()):
        return {"M": "Mbit/s", "G": "Gbit/s"}.get(prefix.upper(), "")
    if binary:
        return f"{prefix.upper()}iB/s" if prefix else ""
    return {"": "B/s", "K": "kB/s"}.get(prefix.upper(), f"{prefix.upper()}B/s")


_METRIC_WORDS: Final = (
    rf"(?i)(?<!\w)(?:{_PER_SECOND}|k ?iops|iops|tps|ops|bw|bandwidth|throughput|latency|lat|clat|slat|latenz|latence"
    rf"|(?:daten)?durchsatz|bandbreite|d[ée]bit|velocidad|скорость|пропускная способность|задержка"
    rf"|延迟|吞吐量?|带宽|{PERCENTILE}"
    r"|[nuµm]?s|sec|usec|msec|nsec)(?!\w)"
)


def residual(text: str) -> str:
    """Return a heading without metric and unit: `raid5` of `raid5 IOPS`, `4k randread` of `4k randread, MB/s`."""
    rest = " ".join(text.replace("_", " ").split())
    per_second = rf"(?i)(?<!\w){_PER_SECOND}(?!\w)"
    for pattern in (per_second, _CYRILLIC_RATE, _RATE, _SIZE_ALONE, _BARE_SIZE, _METRIC_WORDS, r"[(),\[\]:;/]+"):
        rest = re.sub(pattern, " ", rest)
    return without_means(rest)


_PERCENT: Final = r"(?:%|\bpct\b|percent(?!il)|\bshare\b|relative|процент)"
_OWN_PERCENT: Final = re.compile(r"(?<![\w.])\d{1,3}(?:[.,]\d+)?%|\(\d{1,3}(?:[.,]\d+)?\s?%[^()]*\)")
"""`pool (84% full)`, `70% read`: a percentage of its own, not that of the numbers below."""
_TO: Final = r"(?:of|to|vs\.?|from|over|against|relative to|compared (?:to|with)|от|von|gegenüber|de|di)"
SHARES: Final = (
    ("equal", r"(?:(?P<whose>.*?)\s*,?\s*)?%?\s*\(?(?P<of>[^=%()]+?)\s*=\s*100\s*%?\)?"),
    ("change", r"(?:rel(?:ative|\.)? )?(?:%\W*)?(?:change|diff(?:erence|\.)?|delta|Δ|gain|loss|improvement|overhead"
               rf"|speed-?up|slow-?down|penalty|drop|degradation)\W*(?:%|pct|percent)?\W*(?:{_TO}\s+(?P<of>[^()%]+?))?[\s()%]*"),
    ("times", rf"(?:x|×|times|ratio|factor|multiple|scaling)\s+{_TO}\s+(?P<of>[^%]+)"),
    ("versus", r"(?:vs\.?|rel(?:ative)?\.? to)\s+(?P<of>.+)"),
    ("percent", rf"(?:(?P<whose>.+?)[\s,(]+)?(?:(?:as|in)[\s(]+)?{_PERCENT}?\W*(?<!\w){_TO}\s+(?P<of>.+?)[\s,()]*"
                rf"{_PERCENT}?\W*"),
    ("percent", rf"{_PERCENT}\s+(?P<of>.+)"),
    ("percent", r"(?P<whose>.*)"),
)  # fmt: skip
"""Shares: `%raid0=100%`, `change vs ext4`, `x of raid0`, `vs raid0`, `RAID5, % of RAID0`, `% raid0`, `RAID5 %`."""
_ANY_BASELINE: Final = re.compile(
    r"(?:the )?(?:baseline|base|reference|best|first)(?:\s*[(:,]\s*(?P<named>[^()]+?)\)?)?", re.IGNORECASE
)
"""`% of baseline`, `% of baseline (raw)`."""
_OTHER_QUANTITY: Final = re.compile(
    r"(?i)(?<!\w)(?:capacity|space|full|used|free|hits?|miss(?:es)?|cpu|util\w*|io ?wait|idle|efficiency|rw ?mix\w*)(?!\w)"
)
_MIX: Final = re.compile(
    r"(?i)(?:(?:random|rand|rnd|seq(?:uential)?|reads?|writes?|trims?|ratio|ops?|i/?os?|requests?|of|the|time|total|all)\W*)+"
)
"""Reads or random operations of a mix."""
_MEASURED: Final = re.compile(
    r"(?i)(?<!\w)(?:perf(?:ormance|\.)?|rel(?:ative|\.)?|shares?|percent\w*|pct|ratio|throughput|bandwidth|bw|k?iops|ops|speed"
    r"|scores?|values?|rates?|lat(?:ency)?|mean|avg|average|median|of|to|vs\.?|in|as|the|is|prozent\w*|leistung|anteil|relativ"
    r"|процент\w*|доля|pourcent\w*|[kMG]i?B(?:/s)?|p\d\d(?:\.\d)?)(?!\w)|[%()\[\],:;=/]+"
)
"""Words that say no more than that something was measured."""


def read_share(plain: str) -> Heading | None:
    """The share that a heading says; one that is `unread` where it is a percentage of something else."""
    percent = re.search(_PERCENT, _OWN_PERCENT.sub(" ", plain), re.IGNORECASE) is not None
    said = {"equal": "%" in plain, "change": True, "times": True, "versus": not percent, "percent": percent}
    for kind, pattern in SHARES:
        if not said[kind] or (match := re.fullmatch(pattern, plain, re.IGNORECASE)) is None:
            continue
        of, whose = ((match.groupdict().get(name) or "").strip(" ,(%") for name in ("of", "whose"))
        if (baseline := _ANY_BASELINE.fullmatch(of)) is not None:
            of = baseline["named"] or ""
        elif kind == "percent" and not _bare(of):
            of = ""
        if kind == "percent" and (_OTHER_QUANTITY.search(f"{whose} {of}") or _MIX.fullmatch(of or _bare(whose))):
            return Heading("unread", plain)
        unit = "" if kind in ("times", "versus") else "%"
        whose = whose if of and _bare(whose) else _bare(whose)
        return Heading("share", plain, "share", unit, of=of, whose=whose, change=kind == "change")
    return None


def _bare(text: str) -> str:
    """Return the rest of the heading of a share: `randwrite 4k`, `raid5`."""
    return " ".join(_MEASURED.sub(" ", text).split()).strip("- ")
