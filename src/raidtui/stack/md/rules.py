"""Options that Linux and mdadm refuse, found when a scenario is read.

Sources: mdadm(8), mdadm's Create.c and mdadm.c, md(4), drivers/md/{raid0,raid5,raid5-cache,raid5-ppl,raid10}.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    return [
        *_members(spec, counts, place),
        *_chunk(spec, place),
        *_layout(spec, counts, place),
        *_consistency(spec, counts, place),
        *_bitmap(spec, place),
    ]


def _refusal(refusal: Refusal, message: str, place: str, remedy: str) -> Problem:
    return refusal.problem(message, place=place, remedy=remedy)


def _members(spec: MdSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    count = counts.get("on", 0)
    if count < MINIMUM[spec.level]:
        yield _refusal(
            TOO_FEW,
            f"{spec.level} needs at least {MINIMUM[spec.level]} members; there are {count}",
            f"{place}.on",
            "Give its role more disks, or choose another level.",
        )
    spares = counts.get("spares", 0)
    if spec.level == "raid6" and count > MOST_RAID6:
        yield _refusal(
            TOO_MANY,
            f"raid6 supports at most {MOST_RAID6} members; there are {count}",
            f"{place}.on",
            "Give its role fewer disks.",
        )
    if count + spares + counts.get("journal", 0) > MOST_DEVICES:
        yield _refusal(
            TOO_MANY,
            f"an array supports at most {MOST_DEVICES} devices",
            f"{place}.on",
            "Give its roles fewer disks.",
        )
    if spec.spares is not None and spec.level == "raid0":
        yield _refusal(SPARES, "raid0 cannot rebuild onto spares", f"{place}.spares", "Remove spares.")


def _chunk(spec: MdSpec, place: str) -> Iterator[Problem]:
    if spec.chunk is None:
        return
    place = f"{place}.chunk"
    if spec.level == "raid1":
        yield _refusal(CHUNK, "raid1 does not stripe and has no chunk", place, "Remove chunk.")
        return
    size = spec.chunk.bytes
    if size < SMALLEST_CHUNK or size % SMALLEST_CHUNK:
        yield _refusal(CHUNK, f"a chunk of {spec.chunk.text} is not a multiple of 4KiB", place, "Such as 64KiB.")
    elif size > LARGEST_CHUNK:
        yield _refusal(CHUNK, f"a chunk of {spec.chunk.text} is larger than 1GiB", place, "Such as 512KiB.")
    elif size & (size - 1) and spec.level != "raid0":
        text = f"a chunk of {spec.chunk.text} is not a power of two, as {spec.level} needs"
        yield _refusal(CHUNK, text, place, "Such as 64KiB or 512KiB.")


def _layout(spec: MdSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    if spec.layout is None:
        wanted = copies(layout(spec) or "")
        if wanted is None or counts.get("on", 0) < MINIMUM["raid10"]:
            return
    elif spec.level not in ("raid5", "raid6", "raid10"):
        yield _refusal(LAYOUT, f"{spec.level} has no layouts", f"{place}.layout", "Remove layout.")
        return
    else:
        wanted = copies(spec.layout)
    if (wanted is not None) != (spec.level == "raid10"):
        known = "near2, far2, offset2" if spec.level == "raid10" else "left-symmetric, right-symmetric, …"
        yield _refusal(
            LAYOUT, f"{spec.layout} is not a layout of {spec.level}", f"{place}.layout", f"Its layouts: {known}."
        )
    elif wanted is not None and wanted[1] < 2:
        yield _refusal(
            LAYOUT, "one copy has no redundancy", f"{place}.layout", "Use raid0, or a layout of 2 or more copies."
        )
    elif wanted is not None and wanted[1] > counts.get("on", 0):
        yield _refusal(
            LAYOUT,
            f"{spec.layout} keeps {wanted[1]} copies on as many members; there are {counts.get('on', 0)}",
            f"{place}.layout",
            "Give its role more disks, or ask for fewer copies.",
        )


def _consistency(spec: MdSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    at, policy, members = f"{place}.consistency", consistency(spec), counts.get("on", 0)
    if spec.level == "raid0" and spec.consistency is not None:
        yield _refusal(CONSISTENCY, "raid0 has no consistency policy", at, "Remove consistency.")
    if spec.journal is not None:
        if spec.level not in PARITY:
            yield _refusal(
                JOURNAL,
                f"{spec.level} has no write journal",
                f"{place}.journal",
                "Use raid4, raid5 or raid6.",
            )
        if counts.get("journal", 0) != 1:
            text = f"a write journal is exactly one device; there are {counts.get('journal', 0)}"
            yield _refusal(JOURNAL, text, f"{place}.journal", "Give its role a count of 1.")
        if spec.consistency not in (None, "journal"):
            text = f"an array with a write journal cannot have the consistency policy {spec.consistency}"
            yield _refusal(CONSISTENCY, text, at, "Remove consistency, or remove journal.")
        if members > MOST_WITH_JOURNAL:
            text = f"a write journal supports at most {MOST_WITH_JOURNAL} members; there are {members}"
            yield _refusal(JOURNAL, text, f"{place}.on", "Give its role fewer disks.")
    elif policy == "journal":
        yield _refusal(JOURNAL, "the consistency policy journal needs a journal device", at, 'Add "journal": "@role".')
    if policy == "ppl":
        if spec.level != "raid5":
            yield _refusal(PPL, f"only raid5 has a partial parity log, not {spec.level}", at, "Use raid5.")
        elif members > MOST_WITH_PPL:
            text = f"a partial parity log supports at most {MOST_WITH_PPL} members; there are {members}"
            yield _refusal(PPL, text, f"{place}.on", "Give its role fewer disks.")


def _bitmap(spec: MdSpec, place: str) -> Iterator[Problem]:
    policy, at = consistency(spec), f"{place}.bitmap"
    if spec.bitmap == "internal":
        if spec.level == "raid0":
            yield _refusal(BITMAP, "raid0 never resyncs and supports no bitmap", at, "Remove bitmap.")
        elif policy != "bitmap":
            text = f"an array with the consistency policy {policy} cannot have a bitmap"
            other = "make consistency bitmap" if spec.journal is None else "the journal"
            yield _refusal(BITMAP, text, at, f"Remove bitmap, or {other}.")
    elif spec.bitmap == "none" and policy == "bitmap":
        yield _refusal(BITMAP, "the consistency policy bitmap needs a bitmap", at, "Remove bitmap.")
    if spec.bitmap_chunk is not None:
        at, size = f"{place}.bitmap_chunk", spec.bitmap_chunk.bytes
        if bitmap(spec) == "none":
            yield _refusal(BITMAP, "bitmap_chunk needs a bitmap", at, "Remove bitmap_chunk.")
        elif size < SMALLEST_CHUNK or size & (size - 1) or size > LARGEST_CHUNK:
            text = f"a bitmap chunk is a power of two from 4KiB to 1GiB, not {spec.bitmap_chunk.text}"
            yield _refusal(BITMAP, text, at, "Such as 64MiB.")


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
