"""Find what makes a finished fio's numbers wrong. fio ends with 0 after many a failure: nothing is taken on its word."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from raidtui.base.text import clean
from raidtui.load.fio.report import Group, Report
from raidtui.model.mark import Coded
from raidtui.model.plan import TargetKind

STOPPED_BY_SIGNAL: Final = 128
_LEAST_ASLEEP_S: Final = 0.5
"""Two clocks are read one after the other, and a busy machine takes its time in between; no suspend is this short."""
_SHORT: Final = 0.98
_LONG: Final = 1.02
_LATE_S: Final = 0.25
"""How much later than the first the last of many jobs may begin on a busy machine: much of a short run."""
_MANY_SYNCS: Final = 1.1
"""Times as many syncs as were asked for, from which on it is said."""
_MEANINGS: Final = {
    5: "I/O error: a device or an array member failed",
    6: "no such device: it went away",
    12: "out of memory",
    16: "the device is in use by something else",
    19: "no such device: it went away",
    22: "the device does not take such I/O: block size or alignment may not fit its sectors",
    28: "the device went away: a block device that is removed reports itself full",
    35: "operations took so long that its jobs gave up waiting for each other (5 s): have fewer jobs or smaller blocks",
    52: "the device is reserved by another host",
    61: "a medium error: the sector cannot be read",
    84: "integrity error: the data on the device does not match its checksum",
    95: "the device or kernel does not support this kind of I/O",
    110: "the device did not answer in time",
}


class Asked(NamedTuple):
    """What a run was to do. `min_bytes`: what it must have moved when it ends by itself before `runtime_s`."""

    jobs: int
    runtime_s: float
    time_based: bool
    min_bytes: int = 0
    blocks: tuple[tuple[int, int], ...] = ()
    """Block sizes in bytes, each with its share in percent."""
    kind: TargetKind = "block"
    stretch_bytes: int = 0
    """Length of one job's region, or of one file; 0 where it is not known."""
    evenly: bool = True
    """Every part of it is used about as often as any other."""
    fsync: int = 0
    """fsync after every so many writes; 0 never."""
    fdatasync: int = 0
    timed_syncs: bool = True
    """fio's latencies of syncs are those of syncs."""


class Ended(NamedTuple):
    """How the process ended. `span_s` and `asleep_s` are the runner's: wall time, and how much of it was a suspend."""

    code: int
    stderr: str
    talk: str
    span_s: float
    asleep_s: float = 0.0
    stopped: bool = False
    overdue: bool = False
    """raidtui ended it, because it did not end by itself."""
    cut: bool = False
    """Its last report is incomplete."""
    unread: str = ""
    """Why a report could not be read."""


def problems_of(asked: Asked, ended: Ended, report: Report | None) -> Iterator[str]:
    """Yield a sentence for each reason why the numbers are no result; none when everything is as it should be."""
    fio = _name(report)
    if ended.stopped:
        yield Coded("stopped-early", "it was stopped before its end")
    if ended.overdue:
        yield f"{fio} did not end by itself and was ended: a device probably hangs (see dmesg)"
    if ended.cut:
        yield f"the last report of {fio} is cut off: it ended while it wrote it"
    if ended.unread:
        yield f"a report of {fio} cannot be read: {clean(ended.unread)}; another version of fio may write it differently"
    asked_to_end = ended.stopped or ended.overdue
    if ended.code != 0 and not (asked_to_end and ended.code == STOPPED_BY_SIGNAL):
        yield _bad_end(ended, fio)
    if ended.asleep_s > _LEAST_ASLEEP_S:
        yield Coded("suspended", f"the machine was suspended for {ended.asleep_s:.1f} s")
    if report is None:
        yield f"{fio} ended without a report: there are no numbers"
    else:
        yield from _doubts(asked, report, ended, whole=not asked_to_end)


def remarks_of(asked: Asked, report: Report) -> Iterator[str]:
    """Yield what fio did otherwise than it was asked to, where its numbers stand nevertheless."""
    fio, writes, done = _name(report), report.group.write.ios, report.group.syncs
    wanted = _syncs_wanted(asked, writes)
    if done and not asked.timed_syncs:
        yield (
            f"{fio} does not time syncs with libaio, so their latency is not reported: what it prints counts from the "
            "operation before (for the latency of a sync use ioengine=psync or io_uring)"
        )
    if wanted and done > wanted * _MANY_SYNCS + asked.jobs:
        yield (
            f"{fio} did {done} syncs for {writes} writes, and {wanted} were asked for: it repeats a sync where a read "
            "follows, and with io_uring for each operation in flight (fio 3.39 does not)"
        )


def _name(report: Report | None) -> str:
    return f"fio {report.version}" if report is not None else "fio"


_SAID_LINES = 3


def _bad_end(ended: Ended, fio: str) -> str:
    how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
    lines = [line.strip() for line in (ended.stderr + "\n" + ended.talk).splitlines() if line.strip()]
    # Every operation in flight says the same when a device goes; the last line has fio's own words for it.
    said = clean(" · ".join(lines if len(lines) <= _SAID_LINES else [lines[0], "…", lines[-1]]))
    return f"{fio} ended with {how}" + (f": {said}" if said else " and said nothing")


def _doubts(asked: Asked, report: Report, ended: Ended, *, whole: bool) -> Iterator[str]:
    group, fio = report.group, _name(report)
    if group.error:
        meaning = _MEANINGS.get(group.error, os.strerror(group.error))
        if asked.kind == "directory" and group.error == errno.ENOSPC:
            meaning = "the filesystem is full"
        yield Coded("io-error", f"fio met error {group.error}: {meaning}")
    if not group.ios:
        yield Coded("nothing-measured", "not one operation was done")
        return
    # Reads of a device that went away end at once, without an error, with nothing: fio counts them as done.
    moved, least = group.read.bytes + group.write.bytes, _least_bytes(asked, group.ios)
    if moved < least and not group.error:
        yield (
            f"{fio} counts {group.ios} operations as done, and they moved {moved} bytes instead of at least "
            f"{math.ceil(least)}: a device probably went away (see dmesg)"
        )
    for word, short in (("reads", _short_reads(asked, group)), ("writes", group.write.short_ios)):
        if short:
            yield f"{fio} counts {short} {word} that moved less than a block: the target ends before the region does"
    if dropped := group.read.drop_ios + group.write.drop_ios:
        yield f"{fio} says that it dropped {dropped} operations, which were to be done"
    if group.runtime_s > ended.span_s * _LONG + 0.1:
        passed = f"fio measured {group.runtime_s:.1f} s, and only {ended.span_s:.1f} s passed"
        yield Coded("clock-jumped", f"{passed}: a clock jumped")
    if whole and not group.error:
        yield from _missing(asked, report)


def _short_reads(asked: Asked, group: Group) -> int:
    """Count reads that moved less than a block.

    fio has no place for its count of fdatasyncs: it adds them to that of short reads, whatever the I/O engine (ioengines.c,
    total_io_u is one short). How many there were it says beside their latencies.
    """
    unplaced = group.syncs - group.sync.ios if group.sync is not None and asked.fdatasync else 0
    return max(0, group.read.short_ios - unplaced)


def _syncs_wanted(asked: Asked, writes: int) -> int:
    """Count the syncs that so many writes ask for. After a write that asks for both, fio does fsync alone."""
    wanted = sum(writes // every for every in (asked.fsync, asked.fdatasync) if every)
    return wanted - (writes // math.lcm(asked.fsync, asked.fdatasync) if asked.fsync and asked.fdatasync else 0)


def _least_bytes(asked: Asked, ios: int) -> float:
    """Bound what `ios` operations move from below; with a mix of block sizes, six standard errors below what is expected.

    Where a block does not fit into what is left of the region, fio takes a smaller one: of each pass, as much as the
    largest block holds may be moved in the smallest ones.
    """
    if not asked.blocks:
        return 0.0
    sizes = [size for size, _ in asked.blocks]
    mean = sum(size * share for size, share in asked.blocks) / 100
    variance = sum((size - mean) ** 2 * share for size, share in asked.blocks) / 100
    at_end = min(1.0, max(sizes) / asked.stretch_bytes) if asked.stretch_bytes else 0.0
    if not asked.evenly:
        at_end = 1.0
    expected = 1 / ((1 - at_end) / mean + at_end / min(sizes))
    return ios * max(min(sizes), expected - 6 * math.sqrt(variance / ios))


def _missing(asked: Asked, report: Report) -> Iterator[str]:
    """What a run that ended by itself without an error did not do."""
    group = report.group
    runtime_s = group.runtime_s
    if not asked.time_based and runtime_s < asked.runtime_s * _SHORT:
        moved = group.read.bytes + group.write.bytes
        if moved < asked.min_bytes:
            yield Coded("stopped-early", f"it ended after {moved} of {asked.min_bytes} bytes")
        return
    if runtime_s < asked.runtime_s * _SHORT:
        yield Coded("stopped-early", f"it ran {runtime_s:.2f} s instead of {asked.runtime_s:g} s")
    if not asked.time_based:
        return
    # group_reporting does not say how many jobs ran, but job_runtime is the sum of all their runtimes, and each runs for as
    # long as it was told to; longer where its last operation takes long, so the longest says nothing of the others.
    each_s = min(runtime_s, asked.runtime_s)
    ran = group.job_runtime / 1000 / each_s if each_s else 0.0
    late = _LATE_S / each_s if each_s else 0.0
    if asked.jobs - ran > max(0.5, asked.jobs * max(1 - _SHORT, late)):
        yield Coded("jobs-missing", f"only {ran:.1f} of {asked.jobs} jobs ran")
