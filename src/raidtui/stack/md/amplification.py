"""What a byte that is written to an md array comes to on its members and in its journal.

Sources: the kernel's Documentation/driver-api/md/raid5-cache.rst and raid5-ppl.rst, drivers/md/raid5.c, md(4).
"""

from __future__ import annotations

from collections.abc import Mapping

from raidtui.stack.amplification import (
    PAGE_BYTES,
    Share,
    Spread,
    Writes,
    bounds,
    copies,
    parity_rows,
    parity_share,
    parity_words,
    pieces,
)
from raidtui.stack.md import describe
from raidtui.stack.md.spec import DEFAULT_CHUNK_BYTES, PARITY, MdSpec, chunk_bytes, consistency


def amplifies(spec: MdSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """Superblocks and the bits of a write-intent bitmap are not counted: they are few."""
    members, chunk = counts.get("on", 0), chunk_bytes(spec) or DEFAULT_CHUNK_BYTES
    if spec.level == "raid0":
        return Spread({"on": copies(1, pieces(writes, chunk, members))}, "striped, 1")
    if spec.level == "raid1":
        return Spread({"on": copies(members, writes)}, f"{members} copies")
    if spec.level == "raid10":
        count = describe.may_fail(spec, members) + 1
        return Spread({"on": copies(count, pieces(writes, chunk, members // count))}, f"{count} copies")
    return _with_parity(spec, members, chunk, writes)


def _with_parity(spec: MdSpec, members: int, chunk: int, writes: Writes) -> Spread:
    parity = PARITY[spec.level]
    data = max(1, members - parity)
    share = parity_share(writes, chunk, data, parity)
    words = parity_words(share, data, parity)
    if spec.journal is not None:
        return Spread({"on": share, "journal": _journal(share, writes)}, f"{words}, all of it through the journal as well")
    if consistency(spec) == "ppl":
        return Spread({"on": _with_log(share, writes, chunk, data)}, f"{words}, and the log of partial parity")
    return Spread({"on": share}, words)


def _journal(share: Share, writes: Writes) -> Share:
    """Data and parity go to it before they go to the members, with a page that describes them: for many writes at once
    where many are in flight, for each one where they come one by one."""
    low, high = bounds(share)
    log = writes._replace(random=False, run_bytes=max(writes.run_bytes, writes.block_bytes))
    return Share(low, high + PAGE_BYTES / writes.block_bytes, log, keeps=False)


def _with_log(share: Share, writes: Writes, chunk: int, data: int) -> Share:
    """Partial parity of every row that is not written whole lies on the member of its parity, behind a header of a page
    (for many writes at once, or for each)."""
    low, high = bounds(share)
    least, most = parity_rows(writes, chunk, data, 1)
    header = PAGE_BYTES / writes.block_bytes
    return share._replace(low=low + least.partial, high=high + most.partial + header)
