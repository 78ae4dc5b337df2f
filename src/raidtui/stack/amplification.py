"""Write amplification: the types of `Layer.amplifies`, and the arithmetic of chunks and parity stripes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Final, NamedTuple

PAGE_BYTES: Final = 4096
"""md's parity levels write whole pages of each member (drivers/md/raid5.h, STRIPE_SIZE)."""
_MOST_PLACES: Final = 4096
"""Places of a block in a stripe that are looked at, where the two do not fit into each other."""


class Writes(NamedTuple):
    """Pattern of the writes to a layer."""

    block_bytes: int
    """Bytes of each write."""
    run_bytes: int
    """Largest amount of sequential bytes in flight; one block for random writes."""
    random: bool
    syncs: bool = False
    """True if the workload syncs repeatedly, not only at the end."""
    reducible: bool = True
    """True if compression or deduplication may reduce them."""
    streams: int = 1
    """Number of sequential streams in parallel."""
    aligned: bool = True
    """True if each write begins at a multiple of its size; False below a filesystem."""


class Share(NamedTuple):
    """Bytes written to one input for each byte written to the layer, summed over the devices of the input."""

    low: float | None
    """Fewest bytes written; None if unknown."""
    high: float | None
    """Upper bound of the written bytes; None if unbounded."""
    writes: Writes
    """Pattern of the writes to the input."""
    reads_low: float = 0.0
    """Fewest bytes read before the write."""
    reads_high: float | None = 0.0
    keeps: bool = True
    """True if the input keeps the data; False for journals, logs and caches."""


class Spread(NamedTuple):
    """Shares of all inputs that are written to. All `low` values belong together, and all `high` values."""

    inputs: Mapping[str, Share]
    why: str
    """Short reason: `each stripe with its parity (4/3)`, or why the shares are unknown."""


class Rows(NamedTuple):
    """Bytes written and read in parity stripes for each byte of a write."""

    written: float
    read: float
    partial: float
    """Parity of the rows that are not written whole."""


def bounds(share: Share) -> tuple[float, float]:
    """Return the bounds of a share that only depends on the geometry."""
    assert share.low is not None, "only what reduces data is not known"
    assert share.high is not None, "only what keeps metadata of every block has no bound"
    return share.low, share.high


def pieces(writes: Writes, chunk_bytes: int, devices: int) -> Writes:
    """Return the pattern of the writes to each of the devices that are striped in chunks."""
    block = min(writes.block_bytes, chunk_bytes)
    return writes._replace(block_bytes=block, run_bytes=max(block, writes.run_bytes // max(1, devices)))


def copies(count: int, writes: Writes) -> Share:
    """Return the share of `count` copies of each byte."""
    return Share(float(count), float(count), writes)


def rows(block_bytes: int, chunk_bytes: int, data: int, parity: int) -> Rows:
    """Writes of this size, each at a multiple of it, on stripes of `data` chunks and `parity` more.

    Parity is written for every page of a row that is touched. What is read first is the cheaper of two: old data and old
    parity of what is written (read-modify-write), or the rest of the row (reconstruct-write), to which a page belongs that
    is written in part; a whole row needs neither (drivers/md/raid5.c, handle_stripe_dirtying).
    """
    stripe = chunk_bytes * data
    length = -(-block_bytes // PAGE_BYTES) * PAGE_BYTES
    places = min(stripe // gcd(length, stripe), _MOST_PLACES)
    written = read = partial = 0
    for place in range(places):
        at, left = place * length % stripe, length
        while left:
            piece = min(left, stripe - at)
            whole, rest = divmod(piece, chunk_bytes)
            for columns, deep in ((whole + 1, rest), (whole, chunk_bytes - rest if whole else 0)):
                written += deep * (columns + parity)
                rest_of_row = data if block_bytes < PAGE_BYTES else data - columns
                read += deep * min(columns + parity, rest_of_row) if columns < data else 0
                partial += deep * parity if columns < data else 0
            at, left = 0, left - piece
    total = places * block_bytes
    return Rows(written / total, read / total, partial / total)


def parity_rows(writes: Writes, chunk_bytes: int, data: int, parity: int) -> tuple[Rows, Rows]:
    """Return the least and the most for such writes; sequential writes may be gathered into whole stripes."""
    stripe = chunk_bytes * data
    single = rows(writes.block_bytes, chunk_bytes, data, parity)
    # Where it begins anywhere, each chunk that it touches may be in another stripe.
    most = single if writes.aligned else rows(min(writes.block_bytes, chunk_bytes), chunk_bytes, data, parity)
    if writes.random or writes.run_bytes <= writes.block_bytes:
        # What was just read or written is still in the stripe cache when the next write of the row comes.
        return (single if writes.random else single._replace(read=0.0)), most
    if writes.run_bytes < stripe:
        return rows(writes.run_bytes, chunk_bytes, data, parity)._replace(read=0.0), most
    gathered = rows(stripe, chunk_bytes, data, parity)
    # Several streams take the stripe cache from each other before a stripe is whole.
    return gathered, gathered if writes.run_bytes >= 2 * stripe and writes.streams == 1 else most


def parity_share(writes: Writes, chunk_bytes: int, data: int, parity: int) -> Share:
    """Return the share of the members of an array with parity."""
    least, most = parity_rows(writes, chunk_bytes, data, parity)
    return Share(least.written, most.written, pieces(writes, chunk_bytes, data), least.read, most.read)


def parity_words(share: Share, data: int, parity: int) -> str:
    """Describe a share: `whole stripes, 4/3`, `parts of stripes, data with its parity, 2`."""
    whole = (data + parity) / data
    if share.low is None or share.high is None:
        return ""
    if share.high - whole < 1e-9:
        return f"whole stripes, {data + parity}/{data}"
    if share.high - share.low < 1e-9:
        return f"parts of stripes, data with its parity, {share.low:.3g}"
    return f"stripes whole or in part, {share.low:.3g} to {share.high:.3g}"
