"""Check a finished fio run for reasons to distrust its numbers. fio returns exit code 0 after many failures."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from raidtui.base.text import clean
from raidtui.load.child import STOPPED_EARLY
from raidtui.load.fio.report import Group, Report
from raidtui.model.mark import Coded
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Refusal
from raidtui.model.refusals import FIO_ENGINE_VERSION

STOPPED_BY_SIGNAL: Final = 128
_LEAST_ASLEEP_S: Final = 0.5
"""Tolerance between two clock readings on a busy machine; no suspend is this short."""
_SHORT: Final = 0.98
_LONG: Final = 1.02
_SHOWN_LINES: Final = 3
_LATE_S: Final = 0.25
"""Delay with which the last of many jobs may start on a busy machine."""
_NOT_LOADED: Final = ("bad ioops version", "failed to load engine", "undefined symbol")
"""Messages of a fio that cannot load an engine from a file."""
_MANY_SYNCS: Final = 1.1
"""Ratio of done to requested syncs from which on a remark is made."""
_ERRORS: Final = {
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

JOBS_MISSING: Final = Refusal(
    "jobs-missing",
    "Not all jobs ran",
    "The total runtime of the jobs is too short: a job ended early, or never began.",
    "Look at dmesg and at the free memory, and run the cell again (--layout, --workload).",
)
IO_ERROR: Final = Refusal(
    "io-error",
    "I/O errors",
    "An operation failed. A disk or a member of an array is failing or was removed, or the filesystem is full.",
    "Look at dmesg and at the disks (smartctl), and run the cell again (--layout, --workload).",
)


class Asked(NamedTuple):
    """The requested work. `min_bytes`: least number of bytes if the run ends before `runtime_s`."""

    jobs: int
    runtime_s: float
    time_based: bool
    min_bytes: int = 0
    blocks: tuple[tuple[int, int], ...] = ()
    """Block sizes in bytes, each with its share in percent."""
    kind: TargetKind = "block"
    stretch_bytes: int = 0
    """Length of one job's region, or of one file; 0 if unknown."""
    evenly: bool = True
    """True if all parts of the region are used about equally often."""
    fsync: int = 0
    """Number of writes before each fsync; 0: no fsync."""
    fdatasync: int = 0
    timed_syncs: bool = True
    """True if fio times syncs correctly."""


class Ended(NamedTuple):
    """End of the fio process. `span_s`: wall time; `asleep_s`: part of it in which the machine was suspended."""

    code: int
    stderr: str
    text: str
    """Output between the reports."""
    span_s: float
    asleep_s: float = 0.0
    stopped: bool = False
    overdue: bool = False
    """True if raidtui ended it because of a limit."""
    cut: bool = False
    """True if the last report is incomplete."""
    unread: str = ""
    """Reason why a report could not be decoded; empty if none."""


def problems_of(asked: Asked, ended: Ended, report: Report | None) -> Iterator[str]:
    """Yield a sentence for each reason why the numbers are not valid."""
    fio = _name(report)
    if ended.stopped:
        yield Coded(STOPPED_EARLY.code, "the workload was stopped before its end")
    if ended.overdue:
        yield f"{fio} exceeded its time limit and was ended: a device probably hangs (see dmesg)"
    if ended.cut:
        yield f"the last report of {fio} is incomplete: fio ended while writing it"
    if ended.unread:
        yield f"a report of {fio} cannot be read: {clean(ended.unread)} (other versions of fio may use another format)"
    asked_to_end = ended.stopped or ended.overdue
    if ended.code != 0 and not (asked_to_end and ended.code == STOPPED_BY_SIGNAL):
        yield _bad_end(ended, fio)
    if ended.asleep_s > _LEAST_ASLEEP_S:
        yield Coded("suspended", f"the machine was suspended for {ended.asleep_s:.1f} s")
    if report is None:
        yield f"{fio} ended without a report, so there are no numbers"
    else:
        yield from _doubts(asked, report, ended, whole=not asked_to_end)


def remarks_of(asked: Asked, report: Report) -> Iterator[str]:
    """Yield remarks about deviations that do not invalidate the numbers."""
    fio, writes, done = _name(report), report.group.write.ios, report.group.syncs
    wanted = _syncs_wanted(asked, writes)
    if done and not asked.timed_syncs:
        yield (f"{fio} does not time syncs with libaio, so their latency is left out (use ioengine=psync or io_uring)")
    if wanted and done > wanted * _MANY_SYNCS + asked.jobs:
        yield (
            f"{fio} did {done} syncs for {writes} writes, but {wanted} were requested: it repeats a sync before a read, "
            "and with io_uring for each operation in flight (fio 3.39 does not)"
        )


def _name(report: Report | None) -> str:
    return f"fio {report.version}" if report is not None else "fio"


def _bad_end(ended: Ended, fio: str) -> str:
    how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
    lines = [line.strip() for line in (ended.stderr + "\n" + ended.text).splitlines() if line.strip()]
    # When a device is removed, each operation in flight prints the same error; the last line is fio's summary.
    said = clean(" · ".join(lines if len(lines) <= _SHOWN_LINES else [lines[0], "…", lines[-1]]))
    sentence = f"{fio} ended with {how}" + (f": {said}" if said else " and no message")
    # "bad ioops version 34 (want 36)", "failed to load engine", or a symbol that this fio does not have
    foreign = any(word in line for line in lines for word in _NOT_LOADED)
    return Coded(FIO_ENGINE_VERSION.code, sentence) if foreign else sentence


def _doubts(asked: Asked, report: Report, ended: Ended, *, whole: bool) -> Iterator[str]:
    group, fio = report.group, _name(report)
    if group.error:
        reason = _ERRORS.get(group.error, os.strerror(group.error))
        if asked.kind == "directory" and group.error == errno.ENOSPC:
            reason = "the filesystem is full"
        yield Coded(IO_ERROR.code, f"fio reported error {group.error}: {reason}")
    if not group.ios:
        yield Coded("nothing-measured", "no operation completed")
        return
    # Reads of a removed device return no data and no error, and fio counts them as done.
    moved, least = group.read.bytes + group.write.bytes, _least_bytes(asked, group.ios)
    if moved < least and not group.error:
        yield (
            f"{fio} counted {group.ios} operations, but they moved {moved} bytes instead of at least "
            f"{math.ceil(least)}: a device probably went away (see dmesg)"
        )
    for word, short in (("reads", _short_reads(asked, group)), ("writes", group.write.short_ios)):
        if short:
            yield f"{fio} counted {short} {word} of less than a block: the target ends before the region"
    if dropped := group.read.drop_ios + group.write.drop_ios:
        yield f"{fio} dropped {dropped} operations"
    if group.runtime_s > ended.span_s * _LONG + 0.1:
        passed = f"fio measured {group.runtime_s:.1f} s, but only {ended.span_s:.1f} s passed"
        yield Coded("clock-jumped", f"{passed}: a clock jumped")
    if whole and not group.error:
        yield from _missing(asked, report)


def _short_reads(asked: Asked, group: Group) -> int:
    """Return the number of reads that moved less than a block.

    fio adds the number of fdatasyncs to its count of short reads, with every I/O engine (ioengines.c: total_io_u has one
    element too few); the fdatasyncs are known from their latencies.
    """
    unplaced = group.syncs - group.sync.ios if group.sync is not None and asked.fdatasync else 0
    return max(0, group.read.short_ios - unplaced)


def _syncs_wanted(asked: Asked, writes: int) -> int:
    """Return the requested number of syncs. After a write that is due for both, fio does only the fsync."""
    wanted = sum(writes // every for every in (asked.fsync, asked.fdatasync) if every)
    return wanted - (writes // math.lcm(asked.fsync, asked.fdatasync) if asked.fsync and asked.fdatasync else 0)


def _least_bytes(asked: Asked, ios: int) -> float:
    """Return the least number of bytes that `ios` operations move: for a mix of block sizes, the mean minus six sigma.

    At the end of a region fio uses smaller blocks: in each pass, up to the size of the largest block may be moved in the
    smallest ones.
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
    """Yield the work that a run without error left undone."""
    group = report.group
    runtime_s = group.runtime_s
    if not asked.time_based and runtime_s < asked.runtime_s * _SHORT:
        moved = group.read.bytes + group.write.bytes
        if moved < asked.min_bytes:
            yield Coded(STOPPED_EARLY.code, f"the workload ended after {moved} of {asked.min_bytes} bytes")
        return
    if runtime_s < asked.runtime_s * _SHORT:
        yield Coded(STOPPED_EARLY.code, f"the workload ran {runtime_s:.2f} s instead of {asked.runtime_s:g} s")
    if not asked.time_based:
        return
    # group_reporting does not tell how many jobs ran, but job_runtime is the sum of their runtimes, and each runs for the
    # requested time, or longer if its last operation is slow.
    each_s = min(runtime_s, asked.runtime_s)
    ran = group.job_runtime / 1000 / each_s if each_s else 0.0
    late = _LATE_S / each_s if each_s else 0.0
    if asked.jobs - ran > max(0.5, asked.jobs * max(1 - _SHORT, late)):
        yield Coded(JOBS_MISSING.code, f"only {ran:.1f} of {asked.jobs} jobs ran")
