"""Descriptions of an md array: text, defaults, tolerated failures and write amplification.

Sources: the kernel's Documentation/driver-api/md/raid5-cache.rst and raid5-ppl.rst, drivers/md/raid5.c, md(4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.stack.amplification import (
    PAGE_BYTES,
    Share,
    Spread,
    Writes,
    bounds,
    parity_rows,
    parity_share,
    parity_words,
    pieces,
)
from raidtui.stack.amplification import copies as copies_share
from raidtui.stack.layer import EVERY_WRITE, WritePath
from raidtui.stack.md.spec import DEFAULT_CHUNK_BYTES, PARITY, MdSpec, bitmap, chunk_bytes, consistency, copies, layout

_MDADM: Final = "mdadm's default"


def describe(spec: MdSpec, counts: Mapping[str, int]) -> str:
    """Return a short description: `raid5 of 4, chunk 64KiB, consistency ppl`."""
    found = [f"{spec.level} of {counts.get('on', 0)}"]
    if layout(spec) is not None and spec.layout is not None:
        found.append(spec.layout)
    if (chunk := chunk_bytes(spec)) is not None:
        found.append(f"chunk {spec.chunk.text if spec.chunk else f'{chunk >> 10}KiB'}")
    if consistency(spec) not in (None, "resync"):
        found.append(f"consistency {consistency(spec)}")
    return ", ".join(found)


def defaults(spec: MdSpec, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """Return, for each optional field, its effective value and the reason."""
    policy, name = consistency(spec), layout(spec)
    chunk = ("none", "raid1 does not stripe") if spec.level == "raid1" else (f"{DEFAULT_CHUNK_BYTES >> 10}KiB", _MDADM)
    bits = "none", f"it follows from consistency {policy}"
    if policy in (None, "bitmap"):
        bits = ("none", f"{spec.level} never resyncs") if policy is None else ("internal", bits[1])
    kept = "resync", "without journal and bitmap a crash is followed by a full resync"
    if spec.level == "raid0":
        kept = "none", "raid0 has no redundancy to keep consistent"
    elif spec.journal is not None:
        kept = "journal", "it follows from the journal"
    elif spec.bitmap == "internal":
        kept = "bitmap", "it follows from the bitmap"
    no_bitmap = bitmap(spec) == "none"
    return {
        "chunk": chunk,
        "layout": ("none", f"{spec.level} has no layouts") if name is None else (name, _MDADM),
        "journal": ("none", "a write journal needs a device"),
        "spares": ("none", "every disk of the role is a member"),
        "bitmap": bits,
        "bitmap_chunk": ("none", "there is no bitmap") if no_bitmap else ("64MiB or more", "mdadm chooses it by the size"),
        "consistency": kept,
        "metadata": ("1.2", _MDADM),
    }


def tolerates_failures(spec: MdSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return, by input, how many of its devices may fail without data loss, and a sentence about it."""
    members = counts.get("on", 0)
    count = may_fail(spec, members)
    if count == 0:
        found = {"on": (0, "no member")}
    else:
        which = f"any {count} of the {members} members" if count > 1 or members > 1 else "the member"
        if spec.level == "raid10" and members > count + 1:
            which += ", and more while every block keeps a copy"
        if spec.level == "raid1":
            which = f"all of the {members} members but one"
        found = {"on": (count, which)}
    if "journal" in counts:
        found["journal"] = (counts["journal"], "the journal: the array becomes read-only, no data is lost")
    if spares := counts.get("spares"):
        what = "the spare" if spares == 1 else f"all {plural(spares, 'spare')}"
        found["spares"] = (spares, f"{what}: the next failed member is not replaced")
    return found


def may_fail(spec: MdSpec, members: int) -> int:
    """Return how many members may fail without data loss, whichever these are."""
    if spec.level == "raid0":
        return 0
    if spec.level == "raid1":
        return max(0, members - 1)
    if spec.level == "raid10":
        return (copies(layout(spec) or "") or ("near", 2))[1] - 1
    return PARITY[spec.level]


def amplifies(spec: MdSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """Return the write amplification by input. Writes of superblocks and bitmap bits are few and not counted."""
    members, chunk = counts.get("on", 0), chunk_bytes(spec) or DEFAULT_CHUNK_BYTES
    if spec.level == "raid0":
        return Spread({"on": copies_share(1, pieces(writes, chunk, members))}, "striped, 1")
    if spec.level == "raid1":
        return Spread({"on": copies_share(members, writes)}, f"{members} copies")
    if spec.level == "raid10":
        count = may_fail(spec, members) + 1
        return Spread({"on": copies_share(count, pieces(writes, chunk, members // count))}, f"{count} copies")
    return _with_parity(spec, members, chunk, writes)


def _with_parity(spec: MdSpec, members: int, chunk: int, writes: Writes) -> Spread:
    parity = PARITY[spec.level]
    data = max(1, members - parity)
    share = parity_share(writes, chunk, data, parity)
    words = parity_words(share, data, parity)
    if spec.journal is not None:
        return Spread({"on": share, "journal": _journal(share, writes)}, f"{words}, and the same bytes to the journal")
    if consistency(spec) == "ppl":
        return Spread({"on": _with_log(share, writes, chunk, data)}, f"{words}, and the partial parity log")
    return Spread({"on": share}, words)


def _journal(share: Share, writes: Writes) -> Share:
    """Return the share of the journal: data and parity, and one descriptor page for each write or for many in flight."""
    low, high = bounds(share)
    log = writes._replace(random=False, run_bytes=max(writes.run_bytes, writes.block_bytes))
    return Share(low, high + PAGE_BYTES / writes.block_bytes, log, keeps=False)


def _with_log(share: Share, writes: Writes, chunk: int, data: int) -> Share:
    """Return the members' share with a partial parity log: for each row that is not written whole, its partial parity and
    one header page, for each write or for many at once."""
    low, high = bounds(share)
    least, most = parity_rows(writes, chunk, data, 1)
    header = PAGE_BYTES / writes.block_bytes
    return share._replace(low=low + least.partial, high=high + most.partial + header)


def write_path(spec: MdSpec) -> tuple[WritePath, ...]:
    """Return the journal: in both its modes, data and parity go to it before the members (raid5-cache.c)."""
    return (WritePath("journal", ("on",), EVERY_WRITE, large=True),) if spec.journal is not None else ()
