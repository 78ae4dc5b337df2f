"""Labels of workloads against the commands that stand beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from raidtui.model.table import Asked, Finding, Table
from raidtui.results.labels import Said, job_name, read_command, read_label

_WORDS: Final = {
    "block_bytes": "block size", "iodepth": "queue depth", "numjobs": "number of jobs", "fsync": "fsync",
    "pattern": "direction", "random": "order", "read_percent": "share of reads",
    "random_percent": "share of random operations",
}  # fmt: skip
_NOT_PRINTED: Final = {"fsync": "sync=", "read_percent": "rwmixread="}
_DURABLE: Final = re.compile(r"(?<![a-z])f(?:data)?sync(?![a-z]|\s*[=:]?\s*\d)", re.IGNORECASE)
_NOT_DURABLE: Final = re.compile(
    r"(?:no|non|without|w/o|before|after|excl\w*)[- ]+f(?:data)?sync|f(?:data)?sync[ =:]*(?:off|no)\b", re.IGNORECASE
)
_FLUSHES: Final = re.compile(r"(?<!engine=)sync=(?!0)|sync_file_range|sync\s+\d|\.(?:fio|ini|job)(?:\s|$)")
"""Options of fio that make writes durable, and job files, which may have them."""


def check(table: Table) -> Iterator[Finding]:
    """`label-command`, one for each thing that a label says and its command does not.

    Of what a tool printed, one command may be of many workloads: what is wrong with it is said once.
    """
    said: set[tuple[str, str]] = set()
    for key, asked in table.workloads.items():
        for finding in _of_workload(table, key, asked):
            again = (asked.place, finding.sentence.rpartition(" says ")[2])
            if table.kind == "published" or not asked.place or again not in said:
                said.add(again)
                yield finding


def _of_workload(table: Table, key: str, asked: Asked) -> Iterator[Finding]:
    if not asked.command or (done := read_command(asked.command)) is None:
        return
    if table.kind == "printed":
        # Tools print some of what they were asked, and nothing of the rest.
        done = done._replace(**{field: None for field, option in _NOT_PRINTED.items() if option not in asked.command})
    label = asked.label or key
    place = f" ({asked.place})" if asked.place else ""
    yield from _compared(_asked(asked, label), done, label, f"{label}{place}", "label")
    if table.kind == "published":
        yield from _durable(label, asked.command, f"{label}{place}")
    if name := job_name(asked.command):
        yield from _compared(read_label(name), done, name, f"{label}, job {name}{place}", "name of the job")


def _asked(asked: Asked, label: str) -> Said:
    """What the label says, and what columns beside it say."""
    said = read_label(label)
    beside = {name: getattr(asked, name) for name in Said._fields if getattr(asked, name) is not None}
    return said._replace(**{name: value for name, value in beside.items() if getattr(said, name) is None})


def _compared(said: Said, done: Said, label: str, where: str, what: str) -> Iterator[Finding]:
    for field, words in _WORDS.items():
        published, computed = getattr(said, field), getattr(done, field)
        if published is None or computed is None or published == computed:
            continue
        if field == "random" and (said.random_percent is not None or done.random_percent is not None):
            continue
        if field == "iodepth" and said.numjobs is None and published == computed * (done.numjobs or 1):
            continue  # the depth of all jobs together
        says, has = _text(field, published), _text(field, computed)
        sentence = f"The {what} {label!r} says {words} {says}; the command has {has}."
        yield Finding("label-command", where, sentence, says, has)


def _text(field: str, value: Any) -> str:
    if field == "block_bytes":
        return f"{value:,} bytes"
    if field == "random":
        return "random" if value else "sequential"
    return f"{value:g} %" if field.endswith("percent") else str(value)


def _durable(label: str, command: str, where: str) -> Iterator[Finding]:
    """A label that says fsync, of a command of fio that makes nothing durable."""
    said = _DURABLE.search(label) and not _NOT_DURABLE.search(label)
    if said and re.search(r"(?:^|[\s/])fio\s", command) and not _FLUSHES.search(command):
        sentence = f"The label {label!r} says fsync; the command has none."
        yield Finding("label-command", where, sentence, "fsync", "none")


CHECK = check
