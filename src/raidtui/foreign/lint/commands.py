"""Check of labels of workloads and layouts against the commands beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from raidtui.foreign.labels import Said, job_name, read_command, read_label
from raidtui.model import findings
from raidtui.model.table import Asked, Finding, Table

_WORDS: Final = {
    "block_bytes": "block size", "iodepth": "queue depth", "numjobs": "number of jobs", "fsync": "fsync",
    "pattern": "direction", "random": "order", "read_percent": "share of reads",
    "random_percent": "share of random operations",
}  # fmt: skip
_PLURAL: Final = {"label": "labels", "name of the job": "names of jobs"}
_NOT_PRINTED: Final = {"fsync": "sync=", "read_percent": "rwmixread="}
_DURABLE: Final = re.compile(r"(?<![a-z])f(?:data)?sync(?![a-z]|\s*[=:]?\s*\d)", re.IGNORECASE)
_NOT_DURABLE: Final = re.compile(
    r"(?:no|non|without|w/o|before|after|excl\w*)[- ]+f(?:data)?sync|f(?:data)?sync[ =:]*(?:off|no)\b", re.IGNORECASE
)
_FLUSHES: Final = re.compile(r"(?<!engine=)sync=(?!0)|sync_file_range|sync\s+\d|\.(?:fio|ini|job)(?:\s|$)")
"""Options of fio that make writes durable, and job files, which may have them."""


def check_labels(table: Table) -> Iterator[Finding]:
    """`label-command`, one for each thing that a label says and its command does not.

    A tool's output may name one command for many workloads: it is reported once.
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
    """Facts in the label, and in the columns beside it."""
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
        kind = f"{_PLURAL[what]} say another {words} than the command"
        yield Finding(findings.LABEL_COMMAND.code, where, sentence, says, has, kind)


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
        kind = "labels say fsync, and the command has none"
        yield Finding(findings.LABEL_COMMAND.code, where, sentence, "fsync", "none", kind)


_LEVEL: Final = r"(?:--level[= ]|mdadm\b[^;|&]*?\s(?-i:-l)\s?)(?:raid)?"
_STRUCTURE: Final = (
    ("raid-z3", r"raid-?z3", r"\braidz3\b"),
    ("raid-z2", r"raid-?z2", r"\braidz2\b"),
    ("raid-z", r"raid-?z1?(?!\d)", r"\braidz1?\b"),
    ("raid10", r"raid[- ]?10", _LEVEL + r"10\b|--type raid10"),
    ("raid6", r"raid[- ]?6(?!\d)", _LEVEL + r"6(?![\d%.])|--type raid6"),
    ("raid5", r"raid[- ]?5(?!\d)", _LEVEL + r"5(?![\d%.])|--type raid5"),
    ("raid1", r"raid[- ]?1(?!\d)", _LEVEL + r"1(?![\d%.])|--type (?:raid1|mirror)\b"),
    ("raid0", r"raid[- ]?0|stripe", _LEVEL + r"(?:0\b|stripe)|--type (?:striped?|raid0)\b"),
    ("mirror", r"mirror", r"\bmirror\b"),
)
"""A name, how labels write it, and how mdadm, lvcreate and zpool do."""
_PLAIN_SIZE: Final = (
    r"(?:mdadm\b[^;|&]*?\s(?:--chunk[= ]|-c\s?)|lvcreate\b[^;|&]*?\s(?:--stripesize[= ]|-I\s?))(\d{1,5})(?![\w.])"
)
_CHOICES: Final = (
    ("ext4|xfs|btrfs|f2fs", "", r"mkfs[. ](?:-t )?"),
    ("lz4|zstd|gzip|lzjb|zle", "", r"compress(?:ion)?="),
    ("writeback|writethrough|writearound", "", r"cache[-_]?mode[= ]+"),
    ("ppl|bitmap|resync|journal", "", r"--consistency-policy[= ]"),
    ("standard|always|disabled", r"sync[=: ]", r"(?<![a-z])sync="),
)
"""Kinds of structures: their names, and the words before them in labels and in commands."""
_MEMBERS: Final = re.compile(
    r"(?<![\w.])(\d{1,3})\s?x?\s?(?:disks?|drives?|devices|members|ssds?|hdds?|nvmes?)(?![a-z])", re.IGNORECASE
)
_DEVICES: Final = re.compile(r"(?:--(?:raid|spare)-devices[= ]|\s-[nx]\s?)(\d{1,3})(?![\w.])")
_SWITCHES: Final = (("compress", r"compress(?:ion)?"), ("dedup", r"dedup"))


def check_layouts(table: Table) -> Iterator[Finding]:
    """`label-command`, one for each thing that the label of a layout says and its command does not."""
    for key, subject in table.layouts.items():
        if subject.command:
            label = subject.label or key
            place = f" ({subject.place})" if subject.place else ""
            yield from _structures(label, subject.command, f"{label}{place}")
            yield from _members(label, subject.command, f"{label}{place}")


def _structures(label: str, command: str, where: str) -> Iterator[Finding]:
    """Level, sizes and switches of a layout."""
    said, done = _structure(label, 1), _structure(command, 2)
    if said and done and said != done and not _alike(said, done, command):
        yield _differs(label, where, said, done)
    wanted = set(re.findall(r"(?<![\w.])(\d{1,4}[kKmM])(?![\w])", label.replace("_", "-")))
    known = set(re.findall(r"(?:volblocksize|recordsize|chunk|--chunk|--stripesize)[= ](\d{1,4}[kKmM])", command))
    # mdadm and lvcreate count plain numbers in KiB.
    known |= {f"{size}k" for size in re.findall(_PLAIN_SIZE, command)}
    # A size beside the name of a workload is that of its operations.
    known = known if read_label(label).pattern is None else set()
    if known and (missing := {size.lower() for size in wanted} - {size.lower() for size in known}):
        yield _differs(label, where, ", ".join(sorted(missing)), ", ".join(sorted(known)))
    for names, in_labels, in_commands in _CHOICES:
        in_label = _one(rf"(?<![a-z0-9]){in_labels}({names})(?![a-z0-9])", label)
        in_command = _one(rf"{in_commands}({names})\b", command)
        if in_label and in_command and in_label != in_command:
            yield _differs(label, where, in_label, in_command)
    for name, pattern in _SWITCHES:
        set_to = re.findall(rf"{pattern}=(\w+)", command)
        if re.search(rf"(?<![a-z])(?:no|without) {pattern}|(?<![a-z])un{pattern}", label, re.IGNORECASE):
            for value in set_to[-1:]:
                if value != "off":
                    yield _differs(label, where, f"no {name}", f"{name}={value}")
        switched = re.search(rf"{pattern}[=:](on|off)", label, re.IGNORECASE)
        if switched and set_to and (switched.group(1).lower() == "off") != (set_to[-1] == "off"):
            yield _differs(label, where, f"{name}={switched.group(1)}", f"{name}={set_to[-1]}")


def _alike(said: str, done: str, command: str) -> bool:
    """Return True if two names mean one structure: a mirror is a RAID1, and several of ZFS in one pool are a RAID10."""
    if done == "mirror":
        return said == "raid1" or (said == "raid10" and len(re.findall(r"\bmirror\b", command)) > 1)
    return said == "mirror" and done == "raid1"


def _members(label: str, command: str, where: str) -> Iterator[Finding]:
    """Return the number of disks in an mdadm command, if there is exactly one."""
    wanted = {int(count) for count in _MEMBERS.findall(label)}
    counts = [int(count) for count in _DEVICES.findall(command)]
    if len(wanted) != 1 or command.count("mdadm") != 1 or not counts:
        return
    (count,) = wanted
    if count not in (counts[0], sum(counts)):
        yield _differs(label, where, f"{count} disks", f"{counts[0]}")


def _one(pattern: str, text: str) -> str:
    """The one name that a pattern finds in a text; nothing where it finds none or several."""
    found = {match.lower() for match in re.findall(pattern, text, re.IGNORECASE)}
    return found.pop() if len(found) == 1 else ""


def _structure(text: str, column: int) -> str:
    """The one structure that a text names; nothing where it names none or several."""
    if column == 2 and "zpool create" in text:
        zpool = text[text.index("zpool create") :].partition(";")[0].partition("zfs create")[0]
        return next(
            (entry[0] for entry in _STRUCTURE if entry[2].startswith(r"\b") and re.search(entry[2], zpool)), "raid0"
        )
    if column == 2 and not re.search(r"mdadm|lvcreate", text):
        return ""
    found = [entry[0] for entry in _STRUCTURE if re.search(entry[column], text, re.IGNORECASE)]
    return found[0] if len(found) == 1 else ""


def _differs(label: str, where: str, said: str, done: str) -> Finding:
    sentence = f"The label {label!r} says {said}; the command has {done}."
    kind = "labels of layouts say something else than the command"
    return Finding(findings.LABEL_COMMAND.code, where, sentence, said, done, kind)
