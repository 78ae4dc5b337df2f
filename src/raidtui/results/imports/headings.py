"""What the columns of a plain table are, by their headings: in English, and in the languages of known sources."""

from __future__ import annotations

import re
from typing import Final

from raidtui.results.imports.heading import Heading, Role
from raidtui.results.imports.share_headings import read_share

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
"""Of operations: `IO/s`, `I/Os per second`."""
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
    """Of a latency. p999 is 99.9 %: nobody counts more than a hundred of them."""
    if (match := _PERCENTILE.search(lowered)) is not None:
        digits = next(filter(None, match.groups())).removeprefix("p").replace(",", ".")
        share = float(digits if "." in digits else f"{digits[:2]}.{digits[2:]}")
        return f"p{share:g}" if f"p{share:g}" in _PERCENTILES else "other percentile"
    other = "" if _OTHER_STATISTIC.search(lowered) else "mean"
    return next((name for name, pattern in _STATISTICS if re.search(pattern, lowered)), other)


def residual(text: str) -> str:
    """What a heading says beside metric and unit: `raid5` of `raid5 IOPS`, `4k randread` of `4k randread, MB/s`."""
    rest = re.sub(rf"(?i)(?<!\w){_PER_SECOND}(?!\w)", " ", " ".join(text.replace("_", " ").split()))
    rest = _CYRILLIC_RATE.sub(" ", _RATE.sub(" ", rest))
    rest = re.sub(
        rf"(?i)(?<!\w)(?:k ?iops|iops|tps|ops|bw|bandwidth|throughput|latency|lat|clat|avg|mean|{_P})(?!\w)",
        " ",
        rest,
    )
    rest = re.sub(r"(?i)(?<!\w)(?:[nuµm]?s|sec|usec|msec|nsec)(?!\w)", " ", rest)
    return " ".join(re.sub(r"[(),\[\]:;/]+", " ", rest).split())
