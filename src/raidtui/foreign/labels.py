"""Facts about a workload in labels and commands: block size, queue, jobs, direction. It reads words and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from raidtui.model.table import Pattern

MAX_CHARACTERS: Final = 4000
_SIZE: Final = re.compile(r"(?<![\w.])(\d{1,7}(?:\.\d)?)\s?([kKmMgGкКмМ])(?:i?[bBбБ])?(?![\w%/])")
_OF_THE_LAYOUT: Final = re.compile(
    r"(?<![\w.])\d{1,7}\s?[kKmM](?:i?[bB])?[ -](?:chunks?|stripes?|recordsize|volblocksize)(?![a-z])"
    r"|(?<![a-z])(?:chunk|stripe|recordsize|volblocksize)(?:[ -]?size)?\s?[=: ]\s?\d{1,7}\s?[kKmM](?:i?[bB])?(?![\w%/])",
    re.IGNORECASE,
)
"""Sizes in a label that are not those of operations."""
_FACTOR: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "к": 1 << 10, "м": 1 << 20}
_QUEUE: Final = re.compile(r"(?<![a-z])(?:qd|(?:io[ _-]?|queue[ _-]?)?depth|q)\s*[=:]?\s*(\d{1,6})(?!\d)", re.IGNORECASE)
_JOBS: Final = re.compile(
    r"(?<![a-z])(?:num)?(?:jobs?|threads?)\s*[=:]\s*(\d{1,5})|(?<![\w.=:])(\d{1,5})[ -]?(?:jobs|threads)(?![a-z]|\s*[=:])",
    re.IGNORECASE,
)
_T_AND_Q: Final = re.compile(
    r"(?<![A-Za-z])T(\d{1,5})Q(\d{1,6})(?!\d)|(?<![A-Za-z])Q(\d{1,6})T(\d{1,5})(?!\d)", re.IGNORECASE
)
_FSYNC: Final = re.compile(r"f(?:data)?sync\s*[=:]\s*(\d{1,6})", re.IGNORECASE)
_PERCENTS: Final = (
    ("read_percent", re.compile(r"(\d{1,3})\s*rdpct", re.IGNORECASE)),
    ("read_percent", re.compile(r"(\d{1,3})\s*/\s*\d{1,3}\s*r/w", re.IGNORECASE)),
    ("read_percent", re.compile(r"(\d{1,3})\s*%\s*reads?(?![a-z])", re.IGNORECASE)),
    ("read_percent", re.compile(r"(?<!\d)(\d{1,3})\s*r(?:ead)?\s*[/:+-]\s*\d{1,3}\s*w(?:rite)?(?![a-z])", re.IGNORECASE)),
    ("read_percent", re.compile(r"(?<![a-z])r(?:ead)?\s?(\d{1,3})\s*[/:+-]?\s*w(?:rite)?\s?\d{1,3}(?!\d)", re.IGNORECASE)),
    ("read_percent", re.compile(r"(?P<rest>\d{1,3})\s*%\s*writ(?:es?|ing)(?![a-z])", re.IGNORECASE)),
    ("random_percent", re.compile(r"(\d{1,3})\s*(?:randompct|%\s*(?:rng|rand(?:om)?)(?![a-z]))", re.IGNORECASE)),
    ("random_percent", re.compile(r"(?P<rest>\d{1,3})\s*%\s*seq", re.IGNORECASE)),
)
"""Shares of reads and of random operations; `rest` is what is left to 100 %."""
_HALVES: Final = re.compile(r"(?<![\d.])(\d{1,2})\s?[/:]\s?(\d{1,2})(?![\d.])")
_OTHER_HALVES: Final = re.compile(r"writes?\s*[/:,]\s*read|seq", re.IGNORECASE)
_READ: Final = re.compile(
    r"(?<![a-z])(?:rand|rnd|seq|re|f)?read|чтени|lecture|lesen|lectura|leitura|lettura|读|讀", re.IGNORECASE
)
_WRITE: Final = re.compile(
    r"(?<![a-z])(?:rand|rnd|seq|re|f)?writ|запис|recording|écriture|schreib|escrit|gravação|scrittura|写|寫", re.IGNORECASE
)
_RANDOM: Final = re.compile(r"(?<![a-z])(?:rand|rnd)|случайн|aléatoire|zufäll|aleat[oó]ri|casuale|随机|隨機", re.IGNORECASE)
_SEQUENTIAL: Final = re.compile(
    r"(?<![a-z])seq|последоват|линейн|linear|séquen|secuen|sequen[cz]|顺序|順序|循序", re.IGNORECASE
)
_LARGEST_BLOCK: Final = 64 << 20
"""A larger size in a label is that of a file or a volume."""


class Said(NamedTuple):
    """Facts about a workload in a text; None for what it does not say."""

    block_bytes: int | None = None
    iodepth: int | None = None
    numjobs: int | None = None
    fsync: int | None = None
    pattern: Pattern | None = None
    random: bool | None = None
    read_percent: float | None = None
    random_percent: float | None = None


@lru_cache(maxsize=4096)
def read_label(label: str) -> Said:
    """`Random read 4k qd=128 jobs=16`, `8k-75rdpct-80randompct`, `rand-write-4k-t4q128`, also in other languages."""
    text = label[:MAX_CHARACTERS].replace("_", " ")
    percents: dict[str, float] = {}
    for name, pattern in _PERCENTS:
        if (match := pattern.search(text)) is not None:
            share = float(match.group(1))
            percents.setdefault(name, 100.0 - share if "rest" in pattern.groupindex else share)
            text = text[: match.start()] + " " + text[match.end() :]
    text = _OF_THE_LAYOUT.sub(" ", text)
    sizes = {int(float(number) * _FACTOR[unit.lower()]) for number, unit in _SIZE.findall(text)}
    blocks = [size for size in sizes if size <= _LARGEST_BLOCK]
    threads, depth = _number(_JOBS, text), _number(_QUEUE, text)
    if (both := _T_AND_Q.search(text)) is not None:
        t1, q1, q2, t2 = both.groups()
        threads, depth = int(t1 or t2), int(q1 or q2)
    reads, writes = bool(_READ.search(text)), bool(_WRITE.search(text))
    random, sequential = bool(_RANDOM.search(text)), bool(_SEQUENTIAL.search(text))
    read_percent = percents.get("read_percent", _halves(text))
    direction: Pattern | None = "mixed" if reads and writes else "read" if reads else "write" if writes else None
    return Said(
        blocks[0] if len(blocks) == 1 else None, depth, threads, _number(_FSYNC, text),
        direction if read_percent is None else _pattern(read_percent), None if random == sequential else random,
        read_percent, percents.get("random_percent"),
    )  # fmt: skip


def _pattern(read_percent: float) -> Pattern:
    return "read" if read_percent == 100 else "write" if read_percent == 0 else "mixed"


def read_command(command: str) -> Said | None:
    """Return the facts of the first command in a text; None if no known tool is called."""
    text = re.split(r"&&|;|\n|\|", command[:MAX_CHARACTERS])[0].strip()
    for tool, read in _TOOLS:
        if re.search(rf"(?:^|[\s/]){tool}(?:\s|$)", text, re.IGNORECASE):
            return read(text)
    return None


def job_name(command: str) -> str:
    """The name that a fio command gives its job, or nothing."""
    match = re.search(r"(?:^|\s)--?name[= ](\S+)", command[:MAX_CHARACTERS])
    return match.group(1) if match and re.search(r"(?:^|[\s/])fio\s", command) else ""


def size_bytes(text: str) -> int | None:
    """`4k`, `4096`, `1MiB`: as fio means them."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d+)?)\s*([kKmMgGtT]?)(?:i?[bB])?", text.strip())
    if match is None:
        return None
    return int(
        float(match.group(1)) * {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}[match.group(2).lower()]
    )


def _fio(text: str) -> Said | None:
    options = dict(_options(text))
    rw = options.get("rw", options.get("readwrite", "read")).partition(":")[0]
    # Runs of unlike jobs, mixes of block sizes and job files say more than one thing.
    if len(re.findall(r"(?:^|\s)--?name[= ]", text)) > 1 or re.search(r"\.(?:fio|ini|job)(?:\s|$)", text):
        return None
    one_block = not {"bssplit", "bsrange", "blocksize_range"} & set(options) and not {",", "-"} & set(options.get("bs", ""))
    pattern: Pattern = "mixed" if rw in ("rw", "readwrite", "randrw") else "read" if "read" in rw else "write"
    flushes = [whole(options[name]) for name in ("fsync", "fdatasync") if name in options]
    return Said(
        size_bytes(options.get("bs", options.get("blocksize", "4k"))) if one_block else None,
        whole(options.get("iodepth", "1")), whole(options.get("numjobs", "1")),
        max((n for n in flushes if n is not None), default=0), pattern, rw.startswith("rand"),
        _reads(options) if pattern == "mixed" else None,
        _percent(options["percentage_random"]) if "percentage_random" in options else None,
    )  # fmt: skip


def _reads(options: Mapping[str, str]) -> float | None:
    """Percent of a mix of fio's that are reads."""
    writes = _percent(options["rwmixwrite"]) if "rwmixwrite" in options and "rwmixread" not in options else None
    return 100.0 - writes if writes is not None else _percent(options.get("rwmixread", "50"))


def _dd(text: str) -> Said | None:
    operands = dict(re.findall(r"(?:^|\s)([a-z]+)=(\S+)", text))
    source, target = operands.get("if", ""), operands.get("of", "")
    pattern: Pattern | None = "write" if source.startswith(("/dev/zero", "/dev/urandom")) else None
    if target == "/dev/null":
        pattern = "read"
    block = operands.get("bs") or operands.get("obs" if pattern == "write" else "ibs", "512")
    return Said(size_bytes(block), 1, 1, None, pattern, False)


def _iozone(text: str) -> Said | None:
    records = re.findall(r"\s-r\s*(\d{1,9})([kKmM]?)", text)
    sizes = {int(size) << (20 if unit in ("m", "M") else 10) for size, unit in records}
    return Said(sizes.pop() if len(sizes) == 1 else None)


def _vdbench(text: str) -> Said | None:
    options = {name.lower(): value for name, value in re.findall(r"(\w+)=([\w.%]+)", text)}
    if not options:
        return read_label(text)
    read = _percent(options["rdpct"]) if "rdpct" in options else None
    return Said(
        size_bytes(options.get("xfersize", "")), None, whole(options.get("threads", "")), None,
        None if read is None else _pattern(read), None, read,
        _percent(options["seekpct"]) if "seekpct" in options else None,
    )  # fmt: skip


_TOOLS: Final[tuple[tuple[str, Callable[[str], Said | None]], ...]] = (
    ("fio", _fio), ("dd", _dd), ("iozone", _iozone), ("vdbench", _vdbench),
)  # fmt: skip


def _options(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"(?:^|\s)--?([A-Za-z_]+)(?:=|\s+)([^\s-]\S*)", text):
        yield match.group(1).lower().replace("block_size", "bs"), match.group(2).strip("\"'")


def _halves(text: str) -> float | None:
    """Reads of `randrw 70/30`: reads come first, unless the label says something else."""
    match = _HALVES.search(text)
    if match is None or int(match.group(1)) + int(match.group(2)) != 100 or _OTHER_HALVES.search(text):
        return None
    return float(match.group(1))


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = {int(next(group for group in match.groups() if group)) for match in pattern.finditer(text)}
    return found.pop() if len(found) == 1 else None


def whole(text: str) -> int | None:
    """Return the whole number of at most nine digits; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _percent(text: str) -> float | None:
    percent = whole(text.rstrip("%"))
    return None if percent is None else float(percent)
