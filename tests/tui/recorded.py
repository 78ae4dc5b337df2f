"""A journal of a real run: four single disks, then RAID5 with a journal disk, two workloads."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import msgspec

from raidtui.model.event import Record

FOLDER = Path(__file__).parent.parent / "data" / "tui"
RUN = "20261120-160012-954u2g0v"


@cache
def records() -> tuple[Record, ...]:
    decoder = msgspec.json.Decoder(Record)
    lines = gzip.decompress((FOLDER / "write-hole.journal.jsonl.gz").read_bytes()).splitlines()
    return tuple(decoder.decode(line) for line in lines)


def until(at_s: float) -> list[Record]:
    """The records up to a second of the run."""
    return [record for record in records() if record.at_s <= at_s]
