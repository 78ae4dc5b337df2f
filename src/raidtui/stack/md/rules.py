"""Options that Linux and mdadm refuse, found when a scenario is read.

Sources: mdadm(8), mdadm's Create.c and mdadm.c, md(4), drivers/md/{raid0,raid5,raid5-cache,raid5-ppl,raid10}.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from raidtui.model.problem import Problem, Refusal
from raidtui.stack.md.spec import PARITY, MdSpec, bitmap, chunk_bytes, consistency, copies, layout

MINIMUM: Final = {"raid0": 2, "raid1": 2, "raid4": 2, "raid5": 2, "raid6": 4, "raid10": 2}
"""mdadm builds raid0 and raid1 of one device only when forced, and raidtui never forces."""
MOST_DEVICES: Final = 1920
"""Room in a version 1 superblock."""
MOST_RAID6: Final = 256
MOST_WITH_JOURNAL: Final = 203
"""One block of the journal has to describe a whole stripe (drivers/md/raid5-cache.c)."""
MOST_WITH_PPL: Final = 64
"""drivers/md/raid5-ppl.c."""
SMALLEST_CHUNK: Final = 4096
LARGEST_CHUNK: Final = 1 << 30
"""mdadm keeps it in a signed 32-bit number of bytes."""

TOO_FEW: Final = Refusal(
    "md-too-few",
    "Too few members",
    "The level needs more devices than its role has: two, or four for raid6. raidtui never forces mdadm to build less.",
    "Raise the count of the role, or choose another level.",
)
TOO_MANY: Final = Refusal(
    "md-too-many",
    "Too many members",
    "A superblock has room for 1920 devices, and raid6 supports at most 256.",
    "Lower the count of the role, or stack several arrays.",
)
CHUNK: Final = Refusal(
    "md-chunk",
    "Invalid chunk size",
    "A chunk is a power of two from 4KiB to 1GiB, for raid0 any multiple of 4KiB; raid1 does not stripe and has none.",
    'Write something like "64KiB" or "512KiB", or leave chunk out.',
)
LAYOUT: Final = Refusal(
    "md-layout",
    "The level has no such layout",
    "raid10 has near, far and offset layouts with at least two copies and at most as many copies as members; raid5 and "
    "raid6 have symmetric, asymmetric and parity-first or -last layouts; the other levels have none.",
    'Write "near2", "far2" or "offset2" for raid10, or leave layout out.',
)
SPARES: Final = Refusal(
    "md-spares",
    "Spares without redundancy",
    "A spare replaces a failed member; raid0 has no redundancy to rebuild it from.",
    "Leave spares out, or choose a level with redundancy.",
)
JOURNAL: Final = Refusal(
    "md-journal",
    "The write journal is not possible",
    "Only raid4, raid5 and raid6 support a write journal, on exactly one device, for at most 203 members.",
    "Give the journal a role with a count of 1, or leave it out.",
)
PPL: Final = Refusal(
    "md-ppl",
    "The partial parity log is not possible",
    "A partial parity log exists for raid5 only, with at most 64 members.",
    "Use raid5, or another consistency policy.",
)
CONSISTENCY: Final = Refusal(
    "md-consistency",
    "Contradicting consistency policy",
    "The policy follows from the journal and the bitmap; raid0 has none.",
    "Leave consistency out, or make journal, bitmap and consistency agree.",
)
BITMAP: Final = Refusal(
    "md-bitmap",
    "The bitmap is not possible",
    "A write-intent bitmap needs the consistency policy bitmap; its chunk is a power of two, large enough that the bitmap "
    "fits into the room beside the superblock.",
    "Leave bitmap and bitmap_chunk out, or set consistency to bitmap.",
)


def check(spec: MdSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Return the reasons why this array cannot be built; `counts`: number of devices by input."""
    found = (_members(spec, counts), _chunk(spec), _layout(spec, counts), _consistency(spec, counts), _bitmap(spec))
    return [
        refusal.problem(message, place=f"{place}.{option}", remedy=remedy)
        for refusal, message, option, remedy in chain.from_iterable(found)
    ]


Found = Iterator[tuple[Refusal, str, str, str]]
"""Refusal, message, option and remedy of each problem."""


def _members(spec: MdSpec, counts: Mapping[str, int]) -> Found:
    count = counts.get("on", 0)
    if count < MINIMUM[spec.level]:
        text = f"{spec.level} needs at least {MINIMUM[spec.level]} members; there are {count}"
        yield TOO_FEW, text, "on", "Give its role more disks, or choose another level."
    if spec.level == "raid6" and count > MOST_RAID6:
        text = f"raid6 supports at most {MOST_RAID6} members; there are {count}"
        yield TOO_MANY, text, "on", "Give its role fewer disks."
    if count + counts.get("spares", 0) + counts.get("journal", 0) > MOST_DEVICES:
        yield TOO_MANY, f"an array supports at most {MOST_DEVICES} devices", "on", "Give its roles fewer disks."
    if spec.spares is not None and spec.level == "raid0":
        yield SPARES, "raid0 cannot rebuild onto spares", "spares", "Remove spares."


def _chunk(spec: MdSpec) -> Found:
    if spec.chunk is None:
        return
    size, text = spec.chunk.bytes, f"a chunk of {spec.chunk.text} is"
    if spec.level == "raid1":
        yield CHUNK, "raid1 does not stripe and has no chunk", "chunk", "Remove chunk."
    elif size < SMALLEST_CHUNK or size % SMALLEST_CHUNK:
        yield CHUNK, f"{text} not a multiple of 4KiB", "chunk", "Such as 64KiB."
    elif size > LARGEST_CHUNK:
        yield CHUNK, f"{text} larger than 1GiB", "chunk", "Such as 512KiB."
    elif size & (size - 1) and spec.level != "raid0":
        yield CHUNK, f"{text} not a power of two, as {spec.level} needs", "chunk", "Such as 64KiB or 512KiB."


def _layout(spec: MdSpec, counts: Mapping[str, int]) -> Found:
    count, name = counts.get("on", 0), spec.layout
    wanted = copies(layout(spec) or "") if name is None else copies(name)
    if name is None and (wanted is None or count < MINIMUM["raid10"]):
        return
    if name is not None and spec.level not in ("raid5", "raid6", "raid10"):
        yield LAYOUT, f"{spec.level} has no layouts", "layout", "Remove layout."
    elif (wanted is not None) != (spec.level == "raid10"):
        known = "near2, far2, offset2" if spec.level == "raid10" else "left-symmetric, right-symmetric, …"
        yield LAYOUT, f"{name} is not a layout of {spec.level}", "layout", f"Its layouts: {known}."
    elif wanted is not None and wanted[1] < 2:
        yield LAYOUT, "one copy has no redundancy", "layout", "Use raid0, or a layout of 2 or more copies."
    elif wanted is not None and wanted[1] > count:
        text = f"{name} keeps {wanted[1]} copies on as many members; there are {count}"
        yield LAYOUT, text, "layout", "Give its role more disks, or ask for fewer copies."


def _consistency(spec: MdSpec, counts: Mapping[str, int]) -> Found:
    policy, members, journals = consistency(spec), counts.get("on", 0), counts.get("journal", 0)
    fewer = "Give its role fewer disks."
    if spec.level == "raid0" and spec.consistency is not None:
        yield CONSISTENCY, "raid0 has no consistency policy", "consistency", "Remove consistency."
    if spec.journal is not None:
        if spec.level not in PARITY:
            yield JOURNAL, f"{spec.level} has no write journal", "journal", "Use raid4, raid5 or raid6."
        if journals != 1:
            text = f"a write journal is exactly one device; there are {journals}"
            yield JOURNAL, text, "journal", "Give its role a count of 1."
        if spec.consistency not in (None, "journal"):
            text = f"an array with a write journal cannot have the consistency policy {spec.consistency}"
            yield CONSISTENCY, text, "consistency", "Remove consistency, or remove journal."
        if members > MOST_WITH_JOURNAL:
            yield JOURNAL, f"a write journal supports at most {MOST_WITH_JOURNAL} members; there are {members}", "on", fewer
    elif policy == "journal":
        text = "the consistency policy journal needs a journal device"
        yield JOURNAL, text, "consistency", 'Add "journal": "@role".'
    if policy == "ppl" and spec.level != "raid5":
        yield PPL, f"only raid5 has a partial parity log, not {spec.level}", "consistency", "Use raid5."
    elif policy == "ppl" and members > MOST_WITH_PPL:
        yield PPL, f"a partial parity log supports at most {MOST_WITH_PPL} members; there are {members}", "on", fewer


def _bitmap(spec: MdSpec) -> Found:
    policy = consistency(spec)
    if spec.bitmap == "internal" and spec.level == "raid0":
        yield BITMAP, "raid0 never resyncs and supports no bitmap", "bitmap", "Remove bitmap."
    elif spec.bitmap == "internal" and policy != "bitmap":
        text = f"an array with the consistency policy {policy} cannot have a bitmap"
        other = "make consistency bitmap" if spec.journal is None else "the journal"
        yield BITMAP, text, "bitmap", f"Remove bitmap, or {other}."
    elif spec.bitmap == "none" and policy == "bitmap":
        yield BITMAP, "the consistency policy bitmap needs a bitmap", "bitmap", "Remove bitmap."
    if (chunk := spec.bitmap_chunk) is None:
        return
    if bitmap(spec) == "none":
        yield BITMAP, "bitmap_chunk needs a bitmap", "bitmap_chunk", "Remove bitmap_chunk."
    elif not SMALLEST_CHUNK <= chunk.bytes <= LARGEST_CHUNK or chunk.bytes & (chunk.bytes - 1):
        text = f"a bitmap chunk is a power of two from 4KiB to 1GiB, not {chunk.text}"
        yield BITMAP, text, "bitmap_chunk", "Such as 64MiB."


def stripe_bytes(spec: MdSpec, members: int) -> int | None:
    """Return the data bytes of one full stripe; None for raid1."""
    chunk = chunk_bytes(spec)
    if chunk is None:
        return None
    if spec.level == "raid10":
        kind, count = copies(layout(spec) or "") or ("near", 2)
        near = count if kind == "near" else 1
        return chunk * (members // near if members % near == 0 else members)
    return chunk * (members - PARITY.get(spec.level, 0))
