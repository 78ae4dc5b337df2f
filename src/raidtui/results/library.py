"""Index of result files in SQLite, with their extracts; texts that results share are stored once.

It is a cache: whatever is wrong with it, it is made anew from the files.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.base.collecting import uncollected
from raidtui.base.text import clean
from raidtui.model.host import HostCores
from raidtui.model.jsonio import MAX_RESULT_BYTES
from raidtui.model.mark import Mark
from raidtui.model.measure import Latency
from raidtui.model.network import NetTotals
from raidtui.model.sweep import Swept
from raidtui.results.extract import Extract, Point, lean_extract

VERSION: Final = 10
"""Version of the index and of its extracts. A file with another version is rebuilt."""
_WAIT_S = 10.0
"""For another process that writes the index."""
_BATCH = 500
"""Files after which what was read is kept, and of which extracts are held at a time."""
_TABLES = """
CREATE TABLE file (
  path TEXT PRIMARY KEY, mtime_ns INTEGER, size INTEGER, inode INTEGER, run TEXT, scenario TEXT, title TEXT, host TEXT,
  started TEXT, cells INTEGER, valid INTEGER, exit INTEGER, rehearsal INTEGER, complete INTEGER, problem TEXT, words TEXT
) WITHOUT ROWID;
CREATE INDEX file_started ON file (started DESC, path);
CREATE TABLE extract (path TEXT PRIMARY KEY, data BLOB);
CREATE TABLE shared (digest BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID;
CREATE TABLE swept (rows INTEGER);
INSERT INTO swept VALUES (0);
"""
_KNOWN = "path, run, scenario, title, host, started, cells, valid, exit, rehearsal, complete, problem"
_NAMES = ("file", "extract", "shared", "swept")
_SWEEP_FROM = 1000
"""So much that no result has any more may stay in `shared`, and as much again as was left by the last sweep."""

Stamp = tuple[int, int, int]


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
    """Reason why the file cannot be read; empty if it can."""


class Refreshed(NamedTuple):
    """Outcome of a scan of the folder."""

    files: int
    read: int
    """New or changed since the look before."""
    gone: int


class Library:
    """The result files of one folder. Use it in one thread, and close it."""

    def __init__(self, folder: Path, index: Path | None) -> None:
        """`index` is the index's own file, in a folder that is there; it may be deleted at any time between uses.

        None keeps it in memory, for as long as the library is open.
        """
        self._folder, self._index, self._gone = folder, index, 0
        self._db = self._opened()

    def close(self) -> None:
        self._db.close()

    def refresh(self) -> Refreshed:
        """Read what is new or changed, forget what is gone. One file that cannot be read is kept with its reason."""
        steps = list(self.refreshing())
        return Refreshed(sum(map(len, steps)), sum(map(len, steps[1:])), self._gone)

    def refreshing(self) -> Iterator[list[str]]:
        """The same step by step: paths of what was known already, then those that were read, the newest first.

        A library that turns out to be broken begins again.
        """
        try:
            yield from self._refreshing()
        except sqlite3.OperationalError:
            raise  # it is in use: whoever writes it has not finished
        except sqlite3.DatabaseError:
            self._db.close()
            self._db = self._anew()
            yield from self._refreshing()

    def _refreshing(self) -> Iterator[list[str]]:
        found = dict(self._files())
        known = {
            row[0]: (row[1], row[2], row[3]) for row in self._db.execute("SELECT path, mtime_ns, size, inode FROM file")
        }
        changed = sorted((path for path, stamp in found.items() if known.get(path) != stamp), key=found.__getitem__)
        old = [(path,) for path in known if known[path] != found.get(path)]
        self._gone = sum(path not in found for path in known)
        with self._db:
            self._db.executemany("DELETE FROM file WHERE path = ?", old)
            self._db.executemany("DELETE FROM extract WHERE path = ?", old)
        yield [path for path, stamp in found.items() if known.get(path) == stamp]
        for end in range(len(changed), 0, -_BATCH):
            batch = changed[max(0, end - _BATCH) : end]
            with uncollected(len(batch) == _BATCH):
                self._keep([(path, found[path]) for path in batch])
            yield batch
        if old:
            self._sweep()

    def search(self, words: str = "", limit: int = -1) -> list[Known]:
        """Files in which every one of the words is found, the newest first. Without a limit all of them."""
        wanted = words.casefold().split()
        where = " AND ".join(["instr(words, ?) > 0"] * len(wanted)) or "1"
        query = f"SELECT {_KNOWN} FROM file WHERE {where} ORDER BY started DESC, path LIMIT ?"  # noqa: S608
        return [Known(Path(row[0]), *row[1:]) for row in self._db.execute(query, [*wanted, limit])]

    def known(self, paths: Sequence[str]) -> list[Known]:
        """Return the known facts of these files, in no order."""
        rows = self._select(f"SELECT {_KNOWN} FROM file WHERE path", paths)  # noqa: S608
        return [Known(Path(row[0]), *row[1:]) for row in rows]

    def extracts(self, paths: Sequence[Path]) -> list[Extract]:
        """Return the extracts of these files, in this order, from the index. Files that are no results are left out.

        Raises DatabaseError where the index is not whole.
        """
        unfolding, found = Unfolding(), []
        with uncollected(len(paths) > _BATCH):
            for start in range(0, len(paths), _BATCH):
                try:
                    found += self._extracts([str(path) for path in paths[start : start + _BATCH]], unfolding)
                except (ValueError, LookupError) as error:
                    raise sqlite3.DatabaseError(f"it is not whole: {error}") from None
        return found

    def _extracts(self, paths: Sequence[str], unfolding: Unfolding) -> list[Extract]:
        data = dict(self._select("SELECT path, data FROM extract WHERE path", paths))
        kept = [KEPT.decode(data[path]) for path in paths if path in data]
        missing = {digest for one in kept for digest in unfolding.missing(one)}
        shared = dict(self._select("SELECT digest, data FROM shared WHERE digest", list(missing)))
        return [unfolding.extract(one, shared) for one in kept]

    def _select(self, query: str, wanted: Sequence[str | bytes]) -> Iterator[Any]:
        """Rows of a query whose last column is one of what is wanted."""
        for start in range(0, len(wanted), _BATCH):
            part = wanted[start : start + _BATCH]
            yield from self._db.execute(f"{query} IN ({','.join('?' * len(part))})", part)

    def _sweep(self) -> None:
        """Forget what no result shares any more, once it may be as much as what some do."""
        with closing(self._db.execute("SELECT (SELECT count(*) FROM shared), max(rows) FROM swept")) as rows:
            there, left = rows.fetchone()
        if there <= 2 * left + _SWEEP_FROM:
            return
        try:
            used = {one for (data,) in self._db.execute("SELECT data FROM extract") for one in shared_of(KEPT.decode(data))}
        except ValueError as error:
            raise sqlite3.DatabaseError(f"it is not whole: {error}") from None
        unused = [(digest,) for (digest,) in self._db.execute("SELECT digest FROM shared") if digest not in used]
        with self._db:
            self._db.executemany("DELETE FROM shared WHERE digest = ?", unused)
            self._db.execute("UPDATE swept SET rows = ?", (there - len(unused),))

    def _opened(self) -> sqlite3.Connection:
        try:
            return _connect(self._index)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            return self._anew()

    def _anew(self) -> sqlite3.Connection:
        """An empty index in place of a broken one."""
        if self._index is not None:
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
        except FileNotFoundError:
            return

    def _keep(self, files: Sequence[tuple[str, Stamp]]) -> None:
        """Read these files into the index."""
        rows, extracts, shared = [], [], {}
        for path, stamp in files:
            try:
                found, exit_code = _read(path, stamp[1])
                data, common = packed(found)
                rows.append(_row(path, stamp, found, exit_code))
                extracts.append((path, data))
                shared.update(common)
            except (OSError, ValueError, RecursionError) as error:
                rows.append(_unreadable(path, stamp, error))
        with self._db:
            self._db.executemany("INSERT OR IGNORE INTO shared VALUES (?, ?)", shared.items())
            self._db.executemany("INSERT OR REPLACE INTO extract VALUES (?, ?)", extracts)
            self._db.executemany(f"INSERT OR REPLACE INTO file VALUES ({','.join('?' * len(rows[0]))})", rows)  # noqa: S608


def _is_text(path: str) -> bool:
    """A name that is not UTF-8 has no place in the index; such a file is compared by its path."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _connect(path: Path | None) -> sqlite3.Connection:
    """The index, empty where it is of another version. Raises DatabaseError where it is none."""
    db = sqlite3.connect(":memory:" if path is None else path, timeout=_WAIT_S)
    try:
        # What a crash loses is read again: nothing waits for the disk.
        db.execute("PRAGMA synchronous = OFF")
        with closing(db.execute("PRAGMA user_version")) as rows:
            version = rows.fetchone()[0]
        if version != VERSION:
            db.executescript("".join(f"DROP TABLE IF EXISTS {name};" for name in _NAMES) + _TABLES)
            db.execute(f"PRAGMA user_version = {VERSION}")
            db.commit()
    except BaseException:
        db.close()
        raise
    return db


def _read(path: str, size: int) -> tuple[Extract, int | None]:
    if size > MAX_RESULT_BYTES:
        raise ValueError(f"it has more than {MAX_RESULT_BYTES >> 20} MiB")
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return lean_extract(file.read())


def _row(path: str, stamp: Stamp, found: Extract, exit_code: int | None) -> tuple[object, ...]:
    scenario, title, host = clean(found.scenario, 80), clean(found.title, 200), clean(found.host, 60)
    facts = [found.facts.get("kernel", ""), found.facts.get("disks", ""), "rehearsal" if found.rehearsal else ""]
    words = [scenario, title, host, found.run, found.started, Path(path).name, *found.layouts, *found.workloads, *facts]
    return (path, *stamp, clean(found.run, 80), scenario, title, host, clean(found.started, 40), len(found.points),
            sum(point.valid for point in found.points), exit_code, found.rehearsal, found.complete, "",
            " ".join(words)[:8000].casefold())  # fmt: skip


def _unreadable(path: str, stamp: Stamp, error: Exception) -> tuple[object, ...]:
    reason = clean(getattr(error, "strerror", None) or error, 300)
    name = clean(Path(path).name, 200)
    return (path, *stamp, "", name, "", "", "", 0, 0, None, False, False, reason, f"{name} unreadable".casefold())


Shared = Mapping[bytes, bytes]
"""Texts that results have in common, encoded, by digest."""


class _KeptPoint(msgspec.Struct, frozen=True, array_like=True, gc=False):
    id: str
    layout: int
    """Position among the extract's layouts; `workload` likewise."""
    workload: int
    round: int
    part: str
    valid: bool
    reasons: tuple[str, ...]
    marks: tuple[Mark, ...]
    iops: float | None
    bytes_per_s: float | None
    latency: dict[str, Latency]
    cpu_cores_used: float | None
    write_amplification: float | None
    started: str
    seconds: float
    command: bytes
    facts: bytes
    again: bool
    queue_depth: int | None
    storage_cores: float | None
    networks: dict[str, NetTotals]
    hosts: dict[str, HostCores]
    daemons: dict[str, int]


class Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One extract; bytes are digests of what is shared."""

    run: str
    points: tuple[_KeptPoint, ...]
    scenario: str
    title: str
    host: str
    started: str
    rehearsal: bool
    complete: bool
    failed: dict[str, str]
    layouts: bytes
    workloads: bytes
    facts: bytes
    sweeps: dict[str, Swept] = {}


_ENCODER = msgspec.msgpack.Encoder()
KEPT = msgspec.msgpack.Decoder(Kept)
_LAYOUTS = msgspec.msgpack.Decoder(dict[str, dict[str, str]])
_TEXTS = msgspec.msgpack.Decoder(dict[str, str])
_WORDS = msgspec.msgpack.Decoder(tuple[str, ...])


def packed(found: Extract) -> tuple[bytes, dict[bytes, bytes]]:
    """Return a measured result's extract without whole cells, and what it shares with others, by digest."""
    shared: dict[bytes, bytes] = {}

    def share(value: object) -> bytes:
        data = _ENCODER.encode(value)
        digest = blake2b(data, digest_size=16).digest()
        shared[digest] = data
        return digest

    layouts = {name: place for place, name in enumerate(found.layouts)}
    workloads = {name: place for place, name in enumerate(found.workloads)}
    points = tuple(
        _KeptPoint(
            one.id, layouts[one.layout], workloads[one.workload], one.round, one.part, one.valid, one.reasons, one.marks,
            one.iops, one.bytes_per_s, one.latency, one.cpu_cores_used, one.write_amplification, one.started, one.seconds,
            share(one.command), share(one.facts), one.again, one.queue_depth, one.storage_cores,
            one.networks, one.hosts, one.daemons,
        )
        for one in found.points
    )  # fmt: skip
    kept = Kept(
        found.run, points, found.scenario, found.title, found.host, found.started, found.rehearsal, found.complete,
        found.failed, share(found.layouts), share(found.workloads), share(found.facts), found.sweeps,
    )  # fmt: skip
    return _ENCODER.encode(kept), shared


def shared_of(kept: Kept) -> Iterator[bytes]:
    """Yield the digests of all that it shares."""
    yield from (kept.layouts, kept.workloads, kept.facts)
    for point in kept.points:
        yield point.command
        yield point.facts


class Unfolding:
    """Makes extracts of stored ones. What they share is decoded once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def missing(self, kept: Kept) -> list[bytes]:
        """Return the digests that `extract` has not seen yet."""
        return [digest for digest in shared_of(kept) if digest not in self._known]

    def extract(self, kept: Kept, shared: Shared) -> Extract:
        """Return the extract; `shared` has what was missing. Raises ValueError or KeyError where the index is not whole."""
        layouts = self._value(kept.layouts, shared, _LAYOUTS)
        workloads = self._value(kept.workloads, shared, _TEXTS)
        names, loads = list(layouts), list(workloads)
        points = tuple(
            Point(
                one.id, names[one.layout], loads[one.workload], one.round, one.part, one.valid, one.reasons, one.marks,
                one.iops, one.bytes_per_s, one.latency, one.cpu_cores_used, one.write_amplification, one.started,
                one.seconds, self._value(one.command, shared, _WORDS), self._value(one.facts, shared, _TEXTS),
                one.again, queue_depth=one.queue_depth, storage_cores=one.storage_cores, networks=one.networks,
                hosts=one.hosts, daemons=one.daemons,
            )
            for one in kept.points
        )  # fmt: skip
        return Extract(
            kept.run, points, kept.scenario, kept.title, kept.host, kept.started, kept.rehearsal, kept.complete, layouts,
            kept.failed, workloads, self._value(kept.facts, shared, _TEXTS), sweeps=kept.sweeps,
        )  # fmt: skip

    def _value(self, digest: bytes, shared: Shared, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
        found = self._known.get(digest)
        if found is None:
            found = self._known[digest] = decoder.decode(shared[digest])
        return found
