"""Looking at a disk's raw file from outside the guest, quickly: what was never written is never read."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

_BLOCK = 4096
_CHUNK = 4 << 20
_ZEROS = bytes(_CHUNK)


def make_sparse(path: Path, size_bytes: int) -> None:
    """A new file of zeroes that takes no room."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(fd, size_bytes)
    finally:
        os.close(fd)


def content_hash(path: Path) -> str:
    """SHA-256 over size and every 4 KiB block that is not all zeroes, with its offset.

    A hole and written zeroes are the same to a guest, so they are the same here.
    """
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        digest.update(b"%d\n" % os.fstat(file.fileno()).st_size)
        for offset, data in _written(file.fileno()):
            if data == _ZEROS[: len(data)]:
                continue
            for at in range(0, len(data), _BLOCK):
                block = data[at : at + _BLOCK]
                if block != _ZEROS[: len(block)]:
                    digest.update(b"%d\n" % (offset + at))
                    digest.update(block)
    return digest.hexdigest()


def is_zero(path: Path) -> bool:
    """True where a guest would read nothing but zeroes."""
    with path.open("rb", buffering=0) as file:
        return all(data == _ZEROS[: len(data)] for _, data in _written(file.fileno()))


def _written(fd: int) -> Iterator[tuple[int, bytes]]:
    """The file's data extents, cut at multiples of the block size so that equal content gives equal blocks."""
    size = os.fstat(fd).st_size
    offset = 0
    while offset < size:
        try:
            start = os.lseek(fd, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        end = os.lseek(fd, start, os.SEEK_HOLE)
        start -= start % _BLOCK
        end = min(size, end + -end % _BLOCK)
        for at in range(max(start, offset), end, _CHUNK):
            yield at, os.pread(fd, min(_CHUNK, end - at), at)
        offset = end
