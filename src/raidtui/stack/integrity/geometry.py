"""Space for data on an integrity device, as the kernel computes it (drivers/md/dm-integrity.c, initialize_superblock,
calculate_journal_section_size, calculate_device_limits, get_provided_data_sectors).

The device has a superblock, a journal, and runs of tags before each 16 MiB of data.
"""

from __future__ import annotations

from typing import Final

SECTOR: Final = 512
_SUPERBLOCK_SECTORS: Final = 8
_PADDING_SECTORS: Final = 8
_INTERLEAVE_SECTORS: Final = 32768
_MOST_JOURNAL_SECTORS: Final = 131072
_JOURNAL_SHARE: Final = 7
"""The journal takes 1/128 of the device, up to 64 MiB."""
_METADATA_SECTORS: Final = 8
"""Metadata of a section of the journal."""
_DATA_OF_SECTOR: Final = 504
"""Bytes of entries in a sector of the journal, which ends with the number of the commit."""


def section_sectors(tag_bytes: int, sector_bytes: int) -> int:
    """Return the sectors of one section of the journal, the unit of a commit."""
    blocks = sector_bytes // SECTOR
    entry = -(-(8 + 8 * blocks + tag_bytes) // 8) * 8
    return _DATA_OF_SECTOR // entry * _METADATA_SECTORS * blocks + _METADATA_SECTORS


def journal_sectors(size_sectors: int, tag_bytes: int, sector_bytes: int) -> int:
    """Return the sectors of the journal on a device of this size: whole sections."""
    section = section_sectors(tag_bytes, sector_bytes)
    return max(1, min(_MOST_JOURNAL_SECTORS, size_sectors >> _JOURNAL_SHARE) // section) * section


def data_bytes(size_bytes: int, tag_bytes: int, sector_bytes: int) -> int:
    """Return the bytes for data on a device of this size; 0 if it is too small."""
    size = size_bytes // SECTOR
    start = _SUPERBLOCK_SECTORS + journal_sectors(size, tag_bytes, sector_bytes)
    run = tag_bytes * _INTERLEAVE_SECTORS * SECTOR // sector_bytes
    run = -(-run // (_PADDING_SECTORS * SECTOR)) * _PADDING_SECTORS
    if start + _PADDING_SECTORS >= size:
        return 0

    def fits(sectors: int) -> bool:
        area, offset = divmod(sectors - 1, _INTERLEAVE_SECTORS)
        return start + area * _INTERLEAVE_SECTORS + (area + 1) * run + offset < size

    found = 0
    for bit in range(size.bit_length() - 1, 2, -1):
        if fits(found | 1 << bit):
            found |= 1 << bit
    return found * SECTOR
