"""Headings of percentages: which are shares of another layout's number, and of whose."""

from __future__ import annotations

import re
from typing import Final

from raidtui.results.imports.heading import Heading

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
"""How much of a mix is reads, or random."""
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
    """What a heading says beside that it is a share of what was measured: `randwrite 4k`, `raid5`."""
    return " ".join(re.sub(r"[%()\[\],:;=/]+", " ", _MEASURED.sub(" ", text)).split()).strip("- ")
