"""An index of result files in SQLite. It is a cache: whatever is wrong with it, it is made anew from the files."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from raidtui.base.text import clean
from raidtui.model.jsonio import MAX_RESULT_BYTES
from raidtui.results.extract import Extract, slim
from raidtui.results.library.lean import lean_extract

VERSION: Final = 1
"""Of the index and of what extracts hold. Another one than the file's: it is made anew."""
_BATCH = 500
"""Files after which what was read is kept, and of which extracts are held at a time."""
_TABLES = """
CREATE TABLE file (
  path TEXT PRIMARY KEY, mtime_ns INTEGER, size INTEGER, inode INTEGER, run TEXT, scenario TEXT, title TEXT, host TEXT,
  started TEXT, cells INTEGER, valid INTEGER, exit INTEGER, rehearsal INTEGER, complete INTEGER, problem TEXT, words TEXT
) WITHOUT ROWID;
CREATE INDEX file_started ON file (started DESC, path);
CREATE TABLE extract (path TEXT PRIMARY KEY, data BLOB);
"""

Stamp = tuple[int, int, int]
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Extract)


class Known(NamedTuple):
    """One file of the library."""

    path: Path
    run: str
    scenario: str
    title: str
    host: str
    started: str
    cells: int
    valid: int
    exit: int | None
    rehearsal: bool
    complete: bool
    problem: str
    """Why it cannot be read; empty where it can."""


class Refreshed(NamedTuple):
    """What a look at the folder came to."""

    files: int
    read: int
    """New or changed since the look before."""
    gone: int


class Library:
    """The result files of one folder. Use it in one thread, and close it."""

    def __init__(self, folder: Path, index: Path) -> None:
        """`index` is the index's own file, in a folder that is there; it may be deleted at any time between uses."""
        self._folder, self._index = folder, index
        self._db = self._opened()

    def close(self) -> None:
        self._db.close()

    def refresh(self) -> Refreshed:
        """Read what is new or changed, forget what is gone. One file that cannot be read is kept with its reason."""
        try:
            return self._refreshed()
        except sqlite3.OperationalError:
            raise  # it is in use: whoever writes it has not finished
        except sqlite3.DatabaseError:
            self._db.close()
            self._db = self._anew()
            return self._refreshed()

    def _refreshed(self) -> Refreshed:
        found = dict(self._files())
        known = {
            row[0]: (row[1], row[2], row[3]) for row in self._db.execute("SELECT path, mtime_ns, size, inode FROM file")
        }
        gone = [(path,) for path in known if path not in found]
        with self._db:
            self._db.executemany("DELETE FROM file WHERE path = ?", gone)
            self._db.executemany("DELETE FROM extract WHERE path = ?", gone)
        changed = [path for path, stamp in found.items() if known.get(path) != stamp]
        for start in range(0, len(changed), _BATCH):
            with self._db:
                for path in changed[start : start + _BATCH]:
                    self._keep(path, found[path])
        return Refreshed(len(found), len(changed), len(gone))

    def search(self, words: str = "", limit: int = -1) -> list[Known]:
        """Files in which every one of the words is found, the newest first. Without a limit all of them."""
        wanted = words.casefold().split()
        where = " AND ".join(["instr(words, ?) > 0"] * len(wanted)) or "1"
        columns = "path, run, scenario, title, host, started, cells, valid, exit, rehearsal, complete, problem"
        query = f"SELECT {columns} FROM file WHERE {where} ORDER BY started DESC, path LIMIT ?"  # noqa: S608
        return [Known(Path(row[0]), *row[1:]) for row in self._db.execute(query, [*wanted, limit])]

    def extracts(self, paths: Sequence[Path]) -> Iterator[Extract]:
        """What a comparison needs of these files, in this order, from the index. Those that are no results are left out."""
        for start in range(0, len(paths), _BATCH):
            part = [str(path) for path in paths[start : start + _BATCH]]
            marks = ",".join("?" * len(part))
            rows = self._db.execute(f"SELECT path, data FROM extract WHERE path IN ({marks})", part)  # noqa: S608
            data = dict(rows.fetchall())
            for path in part:
                if path in data:
                    yield _DECODER.decode(data[path])

    def _opened(self) -> sqlite3.Connection:
        try:
            return _connect(self._index)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            return self._anew()

    def _anew(self) -> sqlite3.Connection:
        """An empty index in place of a broken one."""
        for ending in ("", "-wal", "-shm", "-journal"):
            self._index.with_name(self._index.name + ending).unlink(missing_ok=True)
        return _connect(self._index)

    def _files(self) -> Iterator[tuple[str, Stamp]]:
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".json") and not entry.name.startswith(".") and _is_text(entry.path):
                        info = entry.stat()
                        if stat.S_ISREG(info.st_mode):
                            yield entry.path, (info.st_mtime_ns, info.st_size, info.st_ino)
        except OSError:
            return

    def _keep(self, path: str, stamp: Stamp) -> None:
        """Read one file into the index."""
        self._db.execute("DELETE FROM extract WHERE path = ?", (path,))
        try:
            found, exit_code = _read(path, stamp[1])
            row = _row(path, stamp, found, exit_code)
            self._db.execute("INSERT INTO extract VALUES (?, ?)", (path, _ENCODER.encode(slim(found))))
        except (OSError, ValueError, RecursionError) as error:
            row = _unreadable(path, stamp, error)
        self._db.execute(f"INSERT OR REPLACE INTO file VALUES ({','.join('?' * len(row))})", row)  # noqa: S608


def _is_text(path: str) -> bool:
    """A name that is not UTF-8 has no place in the index; such a file is compared by its path."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _connect(path: Path) -> sqlite3.Connection:
    """The index, empty where it is of another version. Raises DatabaseError where it is none."""
    db = sqlite3.connect(path, timeout=10)
    try:
        # What a crash loses is read again: nothing waits for the disk.
        db.execute("PRAGMA synchronous = OFF")
        with closing(db.execute("PRAGMA user_version")) as rows:
            version = rows.fetchone()[0]
        if version != VERSION:
            db.executescript("DROP TABLE IF EXISTS file; DROP TABLE IF EXISTS extract;" + _TABLES)
            db.execute(f"PRAGMA user_version = {VERSION}")
            db.commit()
    except BaseException:
        db.close()
        raise
    return db


def _read(path: str, size: int) -> tuple[Extract, int | None]:
    if size > MAX_RESULT_BYTES:
        raise ValueError(f"it has more than {MAX_RESULT_BYTES >> 20} MiB")
    return lean_extract(Path(path).read_bytes())


def _row(path: str, stamp: Stamp, found: Extract, exit_code: int | None) -> tuple[object, ...]:
    scenario, title, host = clean(found.scenario, 80), clean(found.title, 200), clean(found.host, 60)
    names = [*found.layouts, *found.workloads, found.facts.get("kernel", ""), found.facts.get("disks", "")]
    words = [
        scenario,
        title,
        host,
        found.run,
        found.started,
        Path(path).name,
        *names,
        "rehearsal" if found.rehearsal else "",
    ]
    return (path, *stamp, clean(found.run, 80), scenario, title, host, clean(found.started, 40), len(found.points),
            sum(point.valid for point in found.points), exit_code, found.rehearsal, found.complete, "",
            " ".join(words)[:8000].casefold())  # fmt: skip


def _unreadable(path: str, stamp: Stamp, error: Exception) -> tuple[object, ...]:
    reason = clean(getattr(error, "strerror", None) or error, 300)
    name = clean(Path(path).name, 200)
    return (path, *stamp, "", name, "", "", "", 0, 0, None, False, False, reason, f"{name} unreadable".casefold())
