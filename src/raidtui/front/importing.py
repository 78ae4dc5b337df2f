"""Import files of other tools: detect their kind and read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.base.text import clean
from raidtui.foreign.columns import has_known_unit
from raidtui.foreign.documents import READERS, readers_of
from raidtui.foreign.headings import MAPPED_ROLES
from raidtui.foreign.sources import Imported, Reader, Source
from raidtui.front.files import read_bytes
from raidtui.model.problem import Refusal, fail
from raidtui.model.refusals import IMPORT_UNKNOWN

MAP: Final = Refusal(
    "map",
    "--map is not valid",
    "--map states the meaning of a column of a plain table, in the form ROLE=HEADING.",
    "For example: --map layout=Setup --map bandwidth:MiB/s=Speed.",
)


def import_files(words: Sequence[str], *, leave_out: bool = False, mapping: Sequence[str] = ()) -> Imported:
    """Import `[KIND] FILE…`. Raises ProblemError: `file`, `import-unknown`, and those of the readers."""
    kind, names = ("", words)
    if words[0] in READERS:
        kind, names = words[0], words[1:]
    if not names:
        raise fail(IMPORT_UNKNOWN, "no file was named", place=kind, remedy=f"raidtui import {kind} FILE")
    columns = column_mapping(mapping)
    sources = [Source(name, read_bytes(name), columns) for name in names]
    reader = READERS[kind] if kind else _reader_of(sources)
    return reader.read(sources, leave_out=leave_out)


def column_mapping(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return role and heading of each --map: `layout=Setup`, `bandwidth:MiB/s=Speed`. Raises ProblemError (`map`)."""
    found = []
    for word in words:
        role, equals, heading = word.partition("=")
        if not equals or not heading.strip() or role.partition(":")[0] not in MAPPED_ROLES:
            known = f"ROLE is one of {', '.join(MAPPED_ROLES)}; a unit stands behind a colon: bandwidth:MiB/s=Speed."
            raise fail(MAP, f"--map {clean(word)} is not of the form ROLE=HEADING", remedy=known)
        if not has_known_unit(role):
            remedy = "bandwidth:MiB/s, latency:us, iops:kIOPS; share:LAYOUT names the layout that is 100 %."
            raise fail(MAP, f"--map {clean(word)}: {clean(role.partition(':')[2])!r} is not a unit of it", remedy=remedy)
        found.append((role, heading.strip()))
    return tuple(found)


def _reader_of(sources: Sequence[Source]) -> Reader:
    """Return the reader that recognises all the files."""
    known = f"Name it: {', '.join(READERS)}."
    found: list[Reader] = []
    for source in sources:
        claimed = readers_of(source)
        if not claimed:
            raise fail(IMPORT_UNKNOWN, "the kind of this file was not recognised", place=clean(source.name), remedy=known)
        found += claimed
    if len(kinds := sorted({reader.name for reader in found})) > 1:
        raise fail(IMPORT_UNKNOWN, f"these are of several kinds: {', '.join(kinds)}", remedy="Import each kind alone.")
    return found[0]
