"""What Linux and mdadm refuse, found when a scenario is read: each with its reason and a way out.

Sources: mdadm(8), mdadm's Create.c and mdadm.c, md(4), drivers/md/{raid0,raid5,raid5-cache,raid5-ppl,raid10}.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from raidtui.model.problem import Exit, Problem
from raidtui.stack.md.spec import PARITY, MdSpec, bitmap, chunk_bytes, consistency, copies, layout

MINIMUM: Final = {"raid0": 2, "raid1": 2, "raid4": 2, "raid5": 2, "raid6": 4, "raid10": 2}
"""mdadm builds raid0 and raid1 of one device only when forced, and raidtui never forces."""
MOST_DEVICES: Final = 1920
"""What a version 1 superblock has room for."""
MOST_RAID6: Final = 256
MOST_WITH_JOURNAL: Final = 203
"""A block of the journal describes one stripe (drivers/md/raid5-cache.c)."""
MOST_WITH_PPL: Final = 64
"""drivers/md/raid5-ppl.c."""
SMALLEST_CHUNK: Final = 4096
LARGEST_CHUNK: Final = 1 << 30
"""mdadm keeps it in a signed 32-bit number of bytes."""


def check(spec: MdSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Why this array cannot be, given how many devices go into each input."""
    return [
        *_members(spec, counts, place),
        *_chunk(spec, place),
        *_layout(spec, counts, place),
        *_consistency(spec, counts, place),
        *_bitmap(spec, place),
    ]


def _refusal(code: str, message: str, place: str, remedy: str) -> Problem:
    return Problem(code, message, place, remedy, int(Exit.USAGE))


def _members(spec: MdSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    count = counts.get("on", 0)
    if count < MINIMUM[spec.level]:
        yield _refusal(
            "md-too-few",
            f"{spec.level} needs at least {MINIMUM[spec.level]} members; there are {count}",
            f"{place}.on",
            "Give its role more disks, or choose another level.",
        )
    spares = counts.get("spares", 0)
    if spec.level == "raid6" and count > MOST_RAID6:
        yield _refusal(
            "md-too-many",
            f"raid6 takes at most {MOST_RAID6} members; there are {count}",
            f"{place}.on",
            "Give its role fewer disks.",
        )
    if count + spares + counts.get("journal", 0) > MOST_DEVICES:
        yield _refusal(
            "md-too-many",
            f"an array takes at most {MOST_DEVICES} devices",
            f"{place}.on",
            "Give its roles fewer disks.",
        )
    if spec.spares is not None and spec.level == "raid0":
        yield _refusal("md-spares", "raid0 cannot rebuild anything onto spares", f"{place}.spares", "Remove spares.")


def _chunk(spec: MdSpec, place: str) -> Iterator[Problem]:
    if spec.chunk is None:
        return
    place = f"{place}.chunk"
    if spec.level == "raid1":
        yield _refusal("md-chunk", "raid1 does not stripe and has no chunk", place, "Remove chunk.")
        return
    size = spec.chunk.bytes
    if size < SMALLEST_CHUNK or size % SMALLEST_CHUNK:
        yield _refusal("md-chunk", f"a chunk of {spec.chunk.text} is not a multiple of 4KiB", place, "Such as 64KiB.")
    elif size > LARGEST_CHUNK:
        yield _refusal("md-chunk", f"a chunk of {spec.chunk.text} is larger than 1GiB", place, "Such as 512KiB.")
    elif size & (size - 1) and spec.level != "raid0":
        text = f"a chunk of {spec.chunk.text} is not a power of two, which {spec.level} needs; only raid0 does not"
        yield _refusal("md-chunk", text, place, "Such as 64KiB or 512KiB.")


def _layout(spec: MdSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    if spec.layout is None:
        wanted = copies(layout(spec) or "")
        if wanted is None or counts.get("on", 0) < MINIMUM["raid10"]:
            return
    elif spec.level not in ("raid5", "raid6", "raid10"):
        yield _refusal("md-layout", f"{spec.level} has no layouts", f"{place}.layout", "Remove layout.")
        return
    else:
        wanted = copies(spec.layout)
    if (wanted is not None) != (spec.level == "raid10"):
        known = "near2, far2, offset2" if spec.level == "raid10" else "left-symmetric, right-symmetric, …"
        yield _refusal(
            "md-layout", f"{spec.layout} is not a layout of {spec.level}", f"{place}.layout", f"Its layouts: {known}."
        )
    elif wanted is not None and wanted[1] < 2:
        yield _refusal(
            "md-layout", "one copy keeps nothing safe", f"{place}.layout", "Use raid0, or a layout of 2 or more copies."
        )
    elif wanted is not None and wanted[1] > counts.get("on", 0):
        yield _refusal(
            "md-layout",
            f"{spec.layout} keeps {wanted[1]} copies on as many members; there are {counts.get('on', 0)}",
            f"{place}.layout",
            "Give its role more disks, or ask for fewer copies.",
        )


def _consistency(spec: MdSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    at, policy, members = f"{place}.consistency", consistency(spec), counts.get("on", 0)
    if spec.level == "raid0" and spec.consistency is not None:
        yield _refusal("md-consistency", "raid0 has no redundancy that could be inconsistent", at, "Remove consistency.")
    if spec.journal is not None:
        if spec.level not in PARITY:
            yield _refusal(
                "md-journal", f"{spec.level} takes no write journal", f"{place}.journal", "Only raid4, raid5 and raid6 do."
            )
        if counts.get("journal", 0) != 1:
            text = f"a write journal is exactly one device; there are {counts.get('journal', 0)}"
            yield _refusal("md-journal", text, f"{place}.journal", "Give its role a count of 1.")
        if spec.consistency not in (None, "journal"):
            text = f"an array with a write journal cannot have the consistency policy {spec.consistency}"
            yield _refusal("md-consistency", text, at, "Remove consistency, or remove journal.")
        if members > MOST_WITH_JOURNAL:
            text = f"a write journal serves at most {MOST_WITH_JOURNAL} members; there are {members}"
            yield _refusal("md-journal", text, f"{place}.on", "Give its role fewer disks.")
    elif policy == "journal":
        yield _refusal("md-journal", "the consistency policy journal needs a journal device", at, 'Add "journal": "@role".')
    if policy == "ppl":
        if spec.level != "raid5":
            yield _refusal("md-ppl", f"only raid5 has a partial parity log, not {spec.level}", at, "Use raid5.")
        elif members > MOST_WITH_PPL:
            text = f"a partial parity log serves at most {MOST_WITH_PPL} members; there are {members}"
            yield _refusal("md-ppl", text, f"{place}.on", "Give its role fewer disks.")


def _bitmap(spec: MdSpec, place: str) -> Iterator[Problem]:
    policy, at = consistency(spec), f"{place}.bitmap"
    if spec.bitmap == "internal":
        if spec.level == "raid0":
            yield _refusal("md-bitmap", "raid0 has nothing to resync and takes no bitmap", at, "Remove bitmap.")
        elif policy != "bitmap":
            text = f"an array with the consistency policy {policy} cannot have a bitmap"
            other = "make consistency bitmap" if spec.journal is None else "the journal"
            yield _refusal("md-bitmap", text, at, f"Remove bitmap, or {other}.")
    elif spec.bitmap == "none" and policy == "bitmap":
        yield _refusal("md-bitmap", "the consistency policy bitmap needs a bitmap", at, "Remove bitmap.")
    if spec.bitmap_chunk is not None:
        at, size = f"{place}.bitmap_chunk", spec.bitmap_chunk.bytes
        if bitmap(spec) == "none":
            yield _refusal("md-bitmap", "there is no bitmap that could have a chunk", at, "Remove bitmap_chunk.")
        elif size < SMALLEST_CHUNK or size & (size - 1) or size > LARGEST_CHUNK:
            text = f"a bitmap chunk is a power of two from 4KiB to 1GiB, not {spec.bitmap_chunk.text}"
            yield _refusal("md-bitmap", text, at, "Such as 64MiB.")


def stripe_bytes(spec: MdSpec, members: int) -> int | None:
    """Data in one full stripe, which a write should fill; None for raid1."""
    chunk = chunk_bytes(spec)
    if chunk is None:
        return None
    if spec.level == "raid10":
        kind, count = copies(layout(spec) or "") or ("near", 2)
        near = count if kind == "near" else 1
        return chunk * (members // near if members % near == 0 else members)
    return chunk * (members - PARITY.get(spec.level, 0))
