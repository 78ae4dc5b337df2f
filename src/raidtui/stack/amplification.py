"""What one byte that is written to a layer comes to in each of its inputs. Each layer says it in `amplifies(spec, …)`.

Arithmetic that several layers share is here: blocks in chunks, stripes with parity.
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
    """How writes arrive at a layer."""

    block_bytes: int
    """Of each write."""
    run_bytes: int
    """How much that follows in a row is under way at once, at most; one block where they are random."""
    random: bool
    syncs: bool = False
    """Durability is asked for again and again, not only at the end."""
    reducible: bool = True
    """Compression or deduplication might make less of them."""
    streams: int = 1
    """How many of them, each in a row of its own, come side by side."""
    aligned: bool = True
    """Each begins at a multiple of its size: not so below a filesystem, which puts blocks where there is room."""


class Share(NamedTuple):
    """What goes into one input of a layer for each byte that is written to the layer, over all devices of that input."""

    low: float | None
    """Bytes written at least; None where it cannot be known."""
    high: float | None
    """Bytes written at most; None where nothing bounds it."""
    writes: Writes
    """How they arrive there."""
    reads_low: float = 0.0
    """Bytes read before they can be written, at least."""
    reads_high: float | None = 0.0
    keeps: bool = True
    """The data stays there: False for journals, logs and caches, which it only passes."""


class Spread(NamedTuple):
    """A layer's answer: a share for every input that is written to. `low` and `high` of all inputs belong together."""

    inputs: Mapping[str, Share]
    why: str
    """In a few words: `each stripe with its parity (4/3)`, or why it cannot be known."""


class Rows(NamedTuple):
    """What a write comes to in stripes with parity, for each byte of it."""

    written: float
    read: float
    partial: float
    """Of the parity, what belongs to rows that are not written whole."""


def bounds(share: Share) -> tuple[float, float]:
    """The least and the most of a share that geometry alone determines."""
    assert share.low is not None, "only what reduces data is not known"
    assert share.high is not None, "only what keeps metadata of every block has no bound"
    return share.low, share.high


def pieces(writes: Writes, chunk_bytes: int, devices: int) -> Writes:
    """How writes arrive at each of the devices that they are spread over in chunks."""
    block = min(writes.block_bytes, chunk_bytes)
    return writes._replace(block_bytes=block, run_bytes=max(block, writes.run_bytes // max(1, devices)))


def copies(count: int, writes: Writes) -> Share:
    """Each byte as often as it is kept."""
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
    """The least and the most that such writes come to: what follows in a row may be gathered into whole stripes, or not."""
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
    """What goes to the members of an array with parity."""
    least, most = parity_rows(writes, chunk_bytes, data, parity)
    return Share(least.written, most.written, pieces(writes, chunk_bytes, data), least.read, most.read)


def parity_words(share: Share, data: int, parity: int) -> str:
    """`whole stripes: 4/3`, `data and parity of every page: 2`."""
    whole = (data + parity) / data
    if share.low is None or share.high is None:
        return ""
    if share.high - whole < 1e-9:
        return f"whole stripes, {data + parity}/{data}"
    if share.high - share.low < 1e-9:
        return f"parts of stripes, data with its parity, {share.low:.3g}"
    return f"stripes whole or in part, {share.low:.3g} to {share.high:.3g}"
