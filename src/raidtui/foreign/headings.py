"""Headings of plain tables: the role of a column, in English and in the languages of known sources."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

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
    """One column. Metric and unit are of a `figure`; `of` of a `share`."""

    role: Role
    text: str
    metric: Metric | None = None
    unit: str = ""
    statistic: str = ""
    direction: str = ""
    of: str = ""
    other: str = ""
    """For a share that names both: the layout whose it is."""
    words: str = ""
    """Rest of the heading of a share that names no layout as 100 %."""
    change: bool = False
    """A share that says how much more or less than the other it is: +5 %, not 105 %."""
    less: bool = False
    """A change without signs, under a word that says it is less: an overhead of 5 % is 95 %."""

    def percent(self, value: float) -> float:
        """Base of a share: the number is a percentage of the other."""
        return round(100 - value if self.less else 100 + value if self.change else value, 6)


_LONGEST: Final = 400
"""Characters of a heading; longer ones are no headings."""
_WORDS: Final[tuple[tuple[Role, str], ...]] = (
    (
        "layout",
        r"layouts?|names?|labels?|config(?:uration)?s?|raid(?: level| type)?|setups?|arrays?|volumes?|systems?|stacks?",
    ),
    (
        "layout",
        r"backends?|targets?|variants?|disks?|drives?|devices?|ssds?|hdds?|controllers?|pools?|structures?|subjects?",
    ),
    ("layout", r"nvmes?|aufbau|variante|anordnung"),
    ("layout", r"filesystems?|solutions?|disk name|serial|конфигурация|массив|диск|структура|disque|konfiguration"),
    (
        "workload",
        r"workloads?|tests?(?: name| case)?|patterns?|job ?name|benchmarks?|operations?|ops?|loads?|access(?: pattern)?",
    ),
    ("workload", r"rw|mode|profile|scenario|тест|нагрузка|opération|charge"),
    ("iodepth", r"qd|io ?depth|queue(?: ?depth)?|depth|глубина очереди"),
    ("numjobs", r"(?:num ?)?jobs|threads?|thread count|workers|потоки|потоков"),
    ("fsync", r"fsync"),
    ("command", r"(?:[\w-]+ ){0,2}(?:commands?|cmd|command line)|команда|commande"),
    ("model", r"models?|like|disk model|модель|modèle"),
    ("round", r"rounds?|runs?|iterations?|repeat|pass|repetition"),
    ("baseline", r"baseline|of|relative to|reference|base"),
    ("unit", r"units?|einheit|единицы?|unité"),
    ("metric", r"metrics?|what|measure"),
    ("value", r"values?|median|mean|average|avg|measured|wert|messwert|ergebnis|значение|valeur"),
    (
        "ignored",
        r"state|status|low|high|min|max|valid|cells|reasons?|results?|notes?|comments?|remarks?|date|time ?stamp|#"
        r"|total(?: i/?o)?|amount|transferred|run ?time|duration|elapsed|dauer|laufzeit|длительность|durée",
    ),
    ("ignored", r"(?:.*\W)?(?:util(?:i[sz]ation)?|cpu|err(?:or)?|cv|usr|sys)(?:\W.*)?"),
    (
        "ignored",
        r"no\.?|place|where|line|source|std ?dev|ci.*|±.*|rank|verdict|p",
    ),
)
_BLOCK: Final = re.compile(
    r"(?:bs|blocks?|block ?size|record(?: ?size| ?length)?|reclen|(?:request|object|transfer) ?size|i/?o ?size|xfersize"
    r"|размер блока)"
    r"\W*(bytes|b|kib|kb|k|mib|mb|m)?\W*"
)
_RATE: Final = re.compile(
    r"(?<![A-Za-z])([kKmMgG])?(i?)(?:([bB])(?:yte)?s?|(bit)s?|(o))\s?(?(1)(?:/|per |p)?|(?:/|per |p))\s?s(?:ec(?:ond)?)?"
    r"(?![A-Za-z])"
)
"""Without a letter before it, something must stand between the two: `bs` is a block size."""
_CYRILLIC_RATE: Final = re.compile(r"(?<!\w)([кКмМгГ])(?:и)?[бБ](?:айт)?/[сc](?!\w)")
_BANDWIDTH: Final = re.compile(r"(?:.*\W)?(?:bw|bandwidth|throughput|transfer|speed|débit|скорость)(?:\W.*)?")
_BARE_SIZE: Final = re.compile(r"(?<![A-Za-z])([kKmMgG])(i?)[bB](?![A-Za-z])")
_TIMES: Final = ((r"µs|μs|us(?:ec)?|microseconds?|мкс", "us"), (r"ms(?:ec)?|milliseconds?|мс", "ms"), (r"ns(?:ec)?", "ns"),
                 (r"s(?:ec)?|seconds?", "s"))  # fmt: skip
_P: Final = r"p(?:99\d{1,3}|\d\d(?:[.,]\d+)?)(?!\w)"
"""p95, p99.9 and p999; P4510 is a disk."""
_PERCENTILE: Final = re.compile(
    rf"(?<![a-z\d])({_P})|(?<![\d.,])(\d\d(?:[.,]\d+)?) ?(?:th|%)|percentil\w*\W+(\d\d(?:[.,]\d+)?)"
)
_PERCENTILES: Final = ("p50", "p99", "p99.9")
_STATISTICS: Final = (("p50", r"median"), ("max", r"\bmax"), ("mean", r"mean|avg|average"))
_OTHER_STATISTIC: Final = re.compile(r"percentil|\bmin|std|dev")
_PER_SECOND: Final = r"(?:ops|i/?os?|operations)(?:/| per )s(?:ec(?:ond)?)?"
"""Heading of operations: `IO/s`, `I/Os per second`."""
_THOUSANDS: Final = re.compile(r"(?<![\d.])(?<!\d )k ?iops|(?:iops|tps)\W*[\[(]\s*(?:k|×? ?1,?000|thousands?)\s*[\])]")
"""Behind a number, the k is that of a block size: `4k IOPS`."""
_LATENCY: Final = re.compile(
    r"lat(?:ency|encies|enz|encia|ência|enza)?\b|clat|response|\bresp(?:\.|\b)|задержк|await|延迟|延遲", re.IGNORECASE
)


def read_heading(text: str) -> Heading:
    """`IOPS`, `BW (MiB/s)`, `p99 latency, ms`, `% of raid0`, `layout`, `Block size`; `unknown` for anything else."""
    plain = " ".join(text.replace("_", " ").split()).strip("* ")
    if len(plain) > _LONGEST:
        return Heading("unknown", plain)
    lowered = plain.lower()
    for role, words in _WORDS:
        if re.fullmatch(words, lowered):
            return Heading(role, plain)
    if (block := _BLOCK.fullmatch(lowered)) is not None:
        return Heading("block", plain, unit=(block.group(1) or "").removesuffix("ytes"))
    share = read_share(plain)
    return share._replace(direction=_direction(lowered)) if share else _figure(plain, lowered) or Heading("unknown", plain)


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


def _direction(lowered: str) -> str:
    return "read" if re.match(r"(?:read|чтени|r )", lowered) else "write" if re.match(r"(?:writ|запис|w )", lowered) else ""


def _figure(plain: str, lowered: str) -> Heading | None:
    direction = _direction(lowered)
    if re.fullmatch(r"(?:.*\W)?tps(?:\W.*)?", lowered):
        return Heading("unread", plain)  # transactions of a database are no operations of a disk
    if re.fullmatch(rf"(?:.*\W)?(?:k ?iops|iops|{_PER_SECOND})(?:\W.*)?", lowered):
        return Heading("figure", plain, "iops", "kIOPS" if _THOUSANDS.search(lowered) else "IOPS", direction=direction)
    if _LATENCY.search(lowered) or re.fullmatch(rf"{_P}(?:\W.*)?", lowered):
        unit = next((name for pattern, name in _TIMES if re.search(rf"(?<![a-zµμ])(?:{pattern})(?![a-z])", lowered)), "")
        statistic = _statistic(lowered)
        if statistic == "other percentile":
            return Heading("unread", plain)
        return Heading("figure", plain, "latency", unit, statistic, direction) if statistic else Heading("ignored", plain)
    unit = rate_unit(plain)
    if unit or _BANDWIDTH.fullmatch(lowered):
        if not unit and (size := _BARE_SIZE.search(plain)) is not None:
            unit = f"{size.group(1).upper()}iB/s" if size.group(2) else rate_unit(f"{size.group(1)}B/s")
        return Heading("figure", plain, "bandwidth", unit, direction=direction)
    return None


def _statistic(lowered: str) -> str:
    """Return the statistic of a latency. p999 is 99.9 %: percentiles have at most three digits before the point."""
    if (match := _PERCENTILE.search(lowered)) is not None:
        digits = next(filter(None, match.groups())).removeprefix("p").replace(",", ".")
        share = float(digits if "." in digits else f"{digits[:2]}.{digits[2:]}")
        return f"p{share:g}" if f"p{share:g}" in _PERCENTILES else "other percentile"
    other = "" if _OTHER_STATISTIC.search(lowered) else "mean"
    return next((name for name, pattern in _STATISTICS if re.search(pattern, lowered)), other)


def residual(text: str) -> str:
    """Return the rest of a heading without metric and unit: `raid5` of `raid5 IOPS`, `4k randread` of `4k randread, MB/s`.
    """
    rest = re.sub(rf"(?i)(?<!\w){_PER_SECOND}(?!\w)", " ", " ".join(text.replace("_", " ").split()))
    rest = _CYRILLIC_RATE.sub(" ", _RATE.sub(" ", rest))
    rest = re.sub(
        rf"(?i)(?<!\w)(?:k ?iops|iops|tps|ops|bw|bandwidth|throughput|latency|lat|clat|avg|mean|{_P})(?!\w)",
        " ",
        rest,
    )
    rest = re.sub(r"(?i)(?<!\w)(?:[nuµm]?s|sec|usec|msec|nsec)(?!\w)", " ", rest)
    return " ".join(re.sub(r"[(),\[\]:;/]+", " ", rest).split())


_SO_MUCH: Final = re.compile(r"(?<![\w.])\d{1,3}(?:[.,]\d+)?%|\(\d{1,3}(?:[.,]\d+)?\s?%[^()]*\)")
"""`pool (84% full)`, `70% read`: a percentage of its own, not that of the numbers below."""
_SHARE: Final = re.compile(r"%|\bpct\b|percent(?!il)|\bshare\b|relative|процент", re.IGNORECASE)
_EQUALS: Final = re.compile(r"(?:(.*?)\s*,?\s*)?%?\s*\(?([^=%()]+?)\s*=\s*100\s*%?\)?", re.IGNORECASE)
_OF: Final = re.compile(
    r"(?:%|pct|percent|share|relative|vs\.?)\s*(?:of|to|vs\.?|from|от|von|gegenüber|de|di)?\s+(.+)", re.IGNORECASE
)
_VERSUS: Final = re.compile(
    r"(?:vs\.?|of|relative to|compared (?:to|with))\s+(.+?)\s*[,(]?\s*(?:%|percent)?\)?", re.IGNORECASE
)
_WHOSE: Final = re.compile(r"(.+?)[\s,(]*(?:as|in)?[\s(]*(?:%|pct|percent)\s*(?:of|vs\.?)\s+(.+)", re.IGNORECASE)
"""`RAID5, % of RAID0`."""
_CHANGE: Final = re.compile(
    r"(?:rel(?:ative|\.)? )?(?:%\W*)?"
    r"(?:change|diff(?:erence|\.)?|delta|Δ|gain|loss|improvement|overhead|speed-?up|slow-?down|penalty|drop"
    r"|degradation)"
    r"\W*(?:%|pct|percent)?\W*(?:(?:vs\.?|to|from|over|of|against)\s+([^()%]+?))?[\s()%]*",
    re.IGNORECASE,
)
_RATIO: Final = re.compile(
    r"(?:x|×|times|ratio|factor|multiple|scaling)\s+(?:of|to|vs\.?|over|against|relative to|compared to)\s+(.+)",
    re.IGNORECASE,
)
"""`x of raid0`, `ratio to raid0`: its cells are 0.78 or 0.78x."""
_ANY_BASELINE: Final = re.compile(
    r"(?:the )?(?:baseline|base|reference|best|first)(?:\s*[(:,]\s*(?P<named>[^()]+?)\)?)?", re.IGNORECASE
)
"""`% of baseline`, `% of baseline (raw)`."""
_COMPARED: Final = re.compile(
    r"(?:(.+?)[\s,(]+)?(?:vs\.?|relative to|compared (?:to|with)|of)\s+(.+?)[\s,(]*(?:%|pct|percent)\W*", re.IGNORECASE
)
"""`Performance vs raid0 (%)`."""
_OTHER_QUANTITY: Final = re.compile(
    r"(?<![a-z])(?:usable|capacity|space|full|fill\w*|used|usage|free|hits?|miss(?:es)?|io ?wait|wait\w*|idle|steal|busy"
    r"|cpu|util\w*|efficiency|parity|wear|frag\w*|compress\w*|dedup\w*|dirty|err\w*|retr\w*|rw ?mix\w*|mix|std\w*"
    r"|st\.? dev\w*|deviation|variance|cv|rsd|jitter|memory|ram|spread|margin|confidence|quota|reserved?|spare"
    r"|over-?provision\w*)(?![a-z])",
    re.IGNORECASE,
)
"""Percentages that are of something else than another layout's number."""
_OF_ITSELF: Final = re.compile(
    r"(?:(?:random|rand|rnd|seq(?:uential)?|reads?|writes?|trims?|and|ratio|ops?|i/?os?|requests?|of|the|time|total|all"
    r"|operations?|accesses)\W*)+",
    re.IGNORECASE,
)
"""Share of reads or of random operations in a mix."""
_MEASURED: Final = re.compile(
    r"(?i)(?<![\w])(?:perf(?:ormance|\.)?|rel(?:ative|\.)?|shares?|percent\w*|pct|ratio|compared|throughput|bandwidth|bw|k?iops|ops"
    r"|speed|results?|scores?|values?|rates?|level|retained|remaining|left|kept|normali[sz]ed|scaled|baseline|base|reference"
    r"|lat(?:ency)?|mean|avg|average|median|of|to|vs\.?|in|as|the|is|prozent\w*|leistung|anteil|relativ|процент\w*|relatif"
    r"|производительност\w*|относительн\w*|доля|pourcent\w*|part|best|max(?:imum)?|[kMG]i?B(?:/s)?|p\d\d(?:\.\d)?)(?!\w)"
)
"""Words that say no more than that something was measured."""
_PERFORMANCE: Final = re.compile(r"performance|perf\.?|throughput|bandwidth|speed|scores?|results?|values?", re.IGNORECASE)
"""`relative performance` names no layout."""


def read_share(plain: str) -> Heading | None:
    """The share that a heading says; one that is `unread` where it is a percentage of something else."""
    if (both := _EQUALS.fullmatch(plain)) is not None:
        return Heading("share", plain, "share", "%", of=both.group(2).strip(), other=(both.group(1) or "").strip())
    if (change := _CHANGE.fullmatch(plain)) is not None:
        return Heading("share", plain, "share", "%", of=_baseline((change.group(1) or "").strip(" ,")), change=True)
    if (ratio := _RATIO.fullmatch(plain)) is not None and "%" not in plain:
        return Heading("share", plain, "share", "", of=_baseline(ratio.group(1)))
    if not _SHARE.search(_SO_MUCH.sub(" ", plain)):
        versus = re.fullmatch(r"(?:vs\.?|rel(?:ative)?\.? to)\s+(.+)", plain, re.IGNORECASE)
        return Heading("share", plain, "share", "", of=versus.group(1)) if versus else None
    of, other = _of_and_whose(plain)
    # `% of full` may be of a layout that is called so; `% full` says how full it was.
    said = plain.removesuffix(of) if re.search(r"(?<!\w)(?:of|to|vs)(?!\w)", plain) else plain
    if _OTHER_QUANTITY.search(said) or (of and _OF_ITSELF.fullmatch(of)):
        return Heading("unread", plain)
    if of:
        return Heading("share", plain, "share", "%", of=_baseline(of), other=other)
    words = _said_more(plain)
    if words and _OF_ITSELF.fullmatch(words):
        return Heading("unread", plain)
    return Heading("share", plain, "share", "%", words=words)


def _of_and_whose(plain: str) -> tuple[str, str]:
    """The layout that is 100 %, and whose percentages they are, where a heading names them."""
    named = _OF.fullmatch(plain) or _VERSUS.fullmatch(plain)
    whose = _WHOSE.fullmatch(plain) or _COMPARED.fullmatch(plain)
    of = named.group(1).strip(" ()%,") if named else ""
    other = (whose.group(1) or "").strip() if whose is not None else ""
    if whose is not None and not of:
        of = whose.group(2).strip(" ()%,")
    return "" if _PERFORMANCE.fullmatch(of) else of, other if _said_more(other) else ""


def _baseline(of: str) -> str:
    """The layout that is 100 %; nothing where it is only called the baseline."""
    any_of_them = _ANY_BASELINE.fullmatch(of)
    return of if any_of_them is None else (any_of_them["named"] or "")


def _said_more(text: str) -> str:
    """Return the rest of a heading of a share: `randwrite 4k`, `raid5`."""
    return " ".join(re.sub(r"[%()\[\],:;=/]+", " ", _MEASURED.sub(" ", text)).split()).strip("- ")
