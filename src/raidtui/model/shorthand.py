"""Workloads as the field writes them: `T8Q32 4k randread`, `T1Q1 8k randwrite fsync`, `T8Q16 8k randrw 70/30 60s`.

T is how many threads (fio's jobs) there are, Q how deep the queue of each is.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from raidtui.model.problem import ProblemError, fail
from raidtui.model.refusals import SHORTHAND

EXAMPLE: Final = "T8Q32 4k randread"
_DEPTHS: Final = re.compile(r"T(\d{1,3})Q(\d{1,4})", re.IGNORECASE)
_BLOCK: Final = re.compile(r"(\d{1,4})(k|m|kib|mib)?", re.IGNORECASE)
_MIX: Final = re.compile(r"(\d{1,3})/(\d{1,3})")
_TIME: Final = re.compile(r"\d{1,6}(?:s|m|h)")
_RANDOM: Final = re.compile(r"(\d{1,3})%")
_PATTERNS: Final = ("randread", "randwrite", "randrw", "read", "write", "rw")


class Shorthand(NamedTuple):
    """A name for it, such as `randread-4k-t8q32`, and the options of the fio workload that it stands for."""

    name: str
    options: dict[str, Any]


def is_shorthand(text: str) -> bool:
    """Return True if the text begins like a shorthand: names of workloads never do, because they have no blanks."""
    return bool(re.match(r"\s*T\d+Q\d+\s", text, re.IGNORECASE))


def read_shorthand(text: str) -> Shorthand:
    """Words in any order behind the first. Raises ProblemError (`shorthand`) naming the word that means nothing."""
    first, *words = text.split()
    depths = _DEPTHS.fullmatch(first)
    if depths is None:
        raise _wrong(text, f"{first[:40]!r} is not T and Q with a number each")
    options: dict[str, Any] = {"ioengine": "libaio", "direct": True, "iodepth": int(depths[2]), "numjobs": int(depths[1])}
    block, more = "", []
    for word in words:
        lower = word.lower()
        if lower in _PATTERNS:
            options["rw"] = lower
        elif _TIME.fullmatch(lower) and "bs" in options:
            options["runtime"] = lower
        elif match := _BLOCK.fullmatch(lower):
            unit = {"": "B", "k": "KiB", "m": "MiB"}[(match[2] or "")[:1]]
            options["bs"], block = f"{match[1]}{unit}", lower.removesuffix("ib")
        elif (match := _MIX.fullmatch(lower)) and int(match[1]) + int(match[2]) == 100:
            options["rwmixread"] = int(match[1])
            more.append(f"{match[1]}-{match[2]}")
        elif match := _RANDOM.fullmatch(lower):
            options["percentage_random"] = int(match[1])
            more.append(f"random-{match[1]}")
        elif lower in ("fsync", "fdatasync"):
            options[lower] = 1
            more.append(lower)
        elif lower in ("sync", "dsync"):
            options["sync"] = lower
            more.append(lower)
        else:
            raise _wrong(text, f"{word[:40]!r} is none of its words")
    if "rw" not in options or "bs" not in options:
        raise _wrong(text, "a block size and one of read, write, randread, randwrite, rw, randrw must be there")
    options.setdefault("runtime", "60s")
    name = "-".join([options["rw"], block, first.lower(), *more])
    return Shorthand(name, {key: options[key] for key in sorted(options, key=_ORDER.index)})


_ORDER: Final = ["rw", "rwmixread", "bs", "percentage_random", "ioengine", "direct", "iodepth", "numjobs", "fsync",
                 "fdatasync", "sync", "runtime"]  # fmt: skip


def _wrong(text: str, why: str) -> ProblemError:
    return fail(SHORTHAND, f"{text[:80]!r}: {why}", remedy=f"For example: {EXAMPLE!r}, or 'T8Q16 8k randrw 70/30 60s'.")
