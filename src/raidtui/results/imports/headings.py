"""What the columns of a plain table are, by their headings: in English, and in the languages of known sources."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from raidtui.model.table import Metric

Role = Literal[
    "layout", "workload", "block", "iodepth", "numjobs", "fsync", "command", "model", "round", "baseline", "unit", "value",
    "metric", "figure", "share", "ignored", "unknown",
]  # fmt: skip


MAPPED_ROLES: Final = (
    "layout", "workload", "iops", "bandwidth", "latency", "share", "block", "iodepth", "numjobs", "fsync", "command",
    "model", "round", "baseline", "ignored",
)  # fmt: skip
"""What a column can be said to be."""


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
    change: bool = False
    """A share that says how much more or less than the other it is: +5 %, not 105 %."""


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
    ("command", r"commands?|cmd|fio command|command line|команда|commande"),
    ("model", r"models?|like|disk model|type|модель|modèle"),
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
_STATISTICS: Final = (("p99.9", r"p99\.9|99\.9"), ("p99", r"p99|99(?:th| ?%)"), ("p50", r"p50|median|50(?:th| ?%)"),
                      ("max", r"\bmax"), ("mean", r"mean|avg|average"))  # fmt: skip
_OTHER_STATISTIC: Final = re.compile(r"p\d|\d ?(?:th|%)|percentil|\bmin|std|dev")
_SO_MUCH: Final = re.compile(r"(?<![\w.])\d{1,3}(?:[.,]\d+)?%|\(\d{1,3}(?:[.,]\d+)?\s?%[^()]*\)")
"""`pool (84% full)`, `70% read`: a percentage of its own, not that of the numbers below."""
_SHARE: Final = re.compile(r"%|\bpct\b|percent|\bshare\b|relative|процент", re.IGNORECASE)
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
    r"(?:change|diff(?:erence|\.)?|delta|Δ|gain|loss|improvement|overhead|speed-?up|slow-?down|penalty)"
    r"\W*(?:%|pct|percent)?\W*(?:(?:vs\.?|to|from|over|of|against)\s+([^()%]+?))?[\s()%]*",
    re.IGNORECASE,
)
_ANY_BASELINE: Final = ("baseline", "base", "reference", "best", "the baseline", "first")
_THOUSANDS: Final = re.compile(r"(?<![\d.])(?<!\d )k ?iops|(?:iops|tps)\W*[\[(]\s*(?:k|×? ?1,?000|thousands?)\s*[\])]")
"""Behind a number, the k is that of a block size: `4k IOPS`."""
_LATENCY: Final = re.compile(
    r"lat(?:ency|encies|enz|encia|ência|enza)?\b|clat|response|задержк|await|延迟|延遲", re.IGNORECASE
)


def read_heading(text: str) -> Heading:
    """`IOPS`, `BW (MiB/s)`, `p99 latency, ms`, `% of raid0`, `layout`, `Block size`; `unknown` for anything else."""
    plain = " ".join(text.replace("_", " ").split()).strip("* ")
    lowered = plain.lower()
    for role, words in _WORDS:
        if re.fullmatch(words, lowered):
            return Heading(role, plain)
    if (block := _BLOCK.fullmatch(lowered)) is not None:
        return Heading("block", plain, unit=(block.group(1) or "").removesuffix("ytes"))
    share = _share(plain)
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
    if re.fullmatch(r"(?:.*\W)?(?:k ?iops|iops|ops(?:/| per )s(?:ec)?|tps)(?:\W.*)?", lowered):
        return Heading("figure", plain, "iops", "kIOPS" if _THOUSANDS.search(lowered) else "IOPS", direction=direction)
    if _LATENCY.search(lowered) or re.fullmatch(r"p\d\d(?:\.\d+)?(?:\W.*)?", lowered):
        unit = next((name for pattern, name in _TIMES if re.search(rf"(?<![a-zµμ])(?:{pattern})(?![a-z])", lowered)), "")
        other = "" if _OTHER_STATISTIC.search(lowered) else "mean"
        statistic = next((name for name, pattern in _STATISTICS if re.search(pattern, lowered)), other)
        return Heading("figure", plain, "latency", unit, statistic, direction) if statistic else Heading("ignored", plain)
    unit = rate_unit(plain)
    if unit or _BANDWIDTH.fullmatch(lowered):
        if not unit and (size := _BARE_SIZE.search(plain)) is not None:
            unit = f"{size.group(1).upper()}iB/s" if size.group(2) else rate_unit(f"{size.group(1)}B/s")
        return Heading("figure", plain, "bandwidth", unit, direction=direction)
    return None


def residual(text: str) -> str:
    """What a heading says beside metric and unit: `raid5` of `raid5 IOPS`, `4k randread` of `4k randread, MB/s`."""
    rest = _CYRILLIC_RATE.sub(" ", _RATE.sub(" ", " ".join(text.replace("_", " ").split())))
    rest = re.sub(
        r"(?i)(?<!\w)(?:k ?iops|iops|tps|ops|bw|bandwidth|throughput|latency|lat|clat|avg|mean|p\d\d(?:\.\d+)?)(?!\w)",
        " ",
        rest,
    )
    rest = re.sub(r"(?i)(?<!\w)(?:[nuµm]?s|sec|usec|msec|nsec)(?!\w)", " ", rest)
    return " ".join(re.sub(r"[(),\[\]:;/]+", " ", rest).split())


def _share(plain: str) -> Heading | None:
    if (both := _EQUALS.fullmatch(plain)) is not None:
        return Heading("share", plain, "share", "%", of=both.group(2).strip(), other=(both.group(1) or "").strip())
    if (change := _CHANGE.fullmatch(plain)) is not None:
        of = (change.group(1) or "").strip(" ,")
        return Heading("share", plain, "share", "%", of="" if of.lower() in _ANY_BASELINE else of, change=True)
    if not _SHARE.search(_SO_MUCH.sub(" ", plain)):
        versus = re.fullmatch(r"(?:vs\.?|rel(?:ative)?\.? to)\s+(.+)", plain, re.IGNORECASE)
        return Heading("share", plain, "share", "", of=versus.group(1)) if versus else None
    named = _OF.fullmatch(plain) or _VERSUS.fullmatch(plain)
    of = named.group(1).strip(" ()%,") if named else ""
    whose = _WHOSE.fullmatch(plain)
    if whose is not None and not of:
        of = whose.group(2).strip(" ()%,")
    other = whose.group(1).strip() if whose is not None else ""
    return Heading("share", plain, "share", "%", of="" if of.lower() in _ANY_BASELINE else of, other=other)
