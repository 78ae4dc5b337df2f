"""Preconditioning: sequential writes of so many times a disk's capacity, as SNIA's test specification has it."""

from __future__ import annotations

from typing import Final

from raidtui.load.fio.options import FioSpec
from raidtui.model.units import Duration, Extent, Size

BLOCK_BYTES: Final = 128 << 10
_BOUND: Final = "7d"


def lengths(capacity_bytes: int, times: float, most_bytes: int | None = None) -> list[int]:
    """How many bytes from the beginning are written, pass by pass: whole passes, then the rest. Whole blocks each.

    `most_bytes` is for rehearsals: one short pass.
    """
    if most_bytes is not None:
        return [length for length in (_whole(min(most_bytes, capacity_bytes * times)),) if length]
    passes = [1.0] * int(times) + ([times - int(times)] if times % 1 else [])
    return [length for share in passes if (length := _whole(capacity_bytes * share))]


def fill_spec(length_bytes: int) -> FioSpec:
    """One pass: 128 KiB sequential writes of data that neither compresses nor repeats."""
    return FioSpec(
        rw="write", bs=Size("128KiB"), iodepth=32, runtime=Duration(_BOUND), time_based=False, refill_buffers=True,
        size=Extent(f"{length_bytes}B"),
    )  # fmt: skip


def _whole(length_bytes: float) -> int:
    return int(length_bytes) // BLOCK_BYTES * BLOCK_BYTES
