"""Job files of fio as scenarios: each job becomes a workload, and its target becomes a role and a layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from raidtui.base.text import clean
from raidtui.foreign import fio_options
from raidtui.foreign.fio_options import (
    HARMLESS,
    IMPORT_FIO_JOB,
    LEFT_OUT,
    NEVER,
    Given,
    Section,
    looks_like_one,
    read_sections,
)
from raidtui.foreign.sources import Imported, Reader, Source
from raidtui.model.problem import Problem, ProblemError, fail

READS: Final = frozenset({"read", "randread", "rw", "readwrite", "randrw"})
WRITES: Final = frozenset({"write", "randwrite", "rw", "readwrite", "randrw"})
RANDOM: Final = frozenset({"randread", "randwrite", "randrw"})
ENGINES: Final = ("io_uring", "libaio", "psync", "pvsync2", "sync")
QUEUED: Final = frozenset({"io_uring", "libaio"})
LONGEST: Final = "1h"
"""Runtime limit of a job that ends when its size is done and gives no limit."""
WHY_BUFFERED: Final = "the job file that it was imported from goes through the page cache"
_NUMBERS: Final = ("numjobs", "iodepth", "nrfiles", "fsync", "fdatasync", "rate_iops", "iodepth_batch_submit",
                   "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low", "buffer_compress_percentage",
                   "dedupe_percentage")  # fmt: skip
_FLAGS: Final = ("end_fsync", "norandommap", "refill_buffers", "hipri", "fixedbufs", "registerfiles", "overwrite")
_EXTENTS: Final = ("size", "offset", "offset_increment")
_TIMES: Final = {"ramp_time": "s", "thinktime": "us", "latency_target": "us", "latency_window": "us"}
_ONLY_RANDOM: Final = ("percentage_random", "norandommap", "random_distribution")
_ONLY_WRITES: Final = ("fsync", "fdatasync", "end_fsync", "sync", "refill_buffers", "buffer_compress_percentage",
                       "dedupe_percentage", "overwrite")  # fmt: skip
_SYNC: Final = {"0": "none", "none": "none", "1": "sync", "sync": "sync", "dsync": "dsync"}


class Loss(NamedTuple):
    """Something that does not come over. `fatal`: it stays out only where the operator says so."""

    option: str
    line: int
    why: str
    fatal: bool


class Translated(NamedTuple):
    """`options` of a fio workload, None where there is no workload in it; `files`: it measures files, not a device."""

    options: dict[str, Any] | None
    losses: tuple[Loss, ...]
    files: bool


def translate(job: Section) -> Translated:
    """Translate one job: every option is in the answer, as an option or as a loss."""
    work = _Work(job)
    whole = work.what_is_done()
    if whole:
        work.values()
        work.sizes()
        work.conditions()
        work.buffering()
        work.length()
    work.rest()
    filename = job.options.get("filename", Given(None, 0)).value
    files = any(option in job.options for option in ("directory", "nrfiles", "filesize"))
    return Translated(
        work.spec if whole else None, tuple(work.losses), files if filename is None else not filename.startswith("/dev/")
    )


class _Work:
    """Options that are left, and what was made of the others."""

    def __init__(self, job: Section) -> None:
        self.job = job
        self.left = dict(job.options)
        self.spec: dict[str, Any] = {}
        self.losses: list[Loss] = []
        self.base = 1000 if self.left.get("kb_base", Given("1024", 0)).value == "1000" else 1024

    def text(self, name: str) -> str | None:
        """The value of an option, which is then dealt with."""
        given = self.left.pop(name, None)
        return given.value if given is not None else None

    def lose(self, name: str, why: str, *, fatal: bool = True) -> None:
        line = self.job.options[name].line if name in self.job.options else self.job.line
        self.losses.append(Loss(name, line, why, fatal))

    def take(self, name: str, read: Callable[[str], Any], to: str = "") -> None:
        """Put one option into the workload, where it was given and can be read."""
        if name not in self.left:
            return
        given = self.text(name)
        if given is None:
            self.lose(name, "has no value")
            return
        try:
            self.spec[to or name] = read(given)
        except ValueError as error:
            self.lose(name, str(error))

    def what_is_done(self) -> bool:
        """Direction and engine. Return False if a workload has no such, and is then none."""
        rw, engine = self.text("rw") or "read", self.text("ioengine") or "psync"
        if rw not in READS | WRITES:
            self.lose("rw", f"{rw} is not among reading, writing and mixes of both")
        elif engine not in ENGINES:
            self.lose("ioengine", f"{engine} is not among {', '.join(ENGINES)}")
        else:
            self.spec |= {"rw": rw, "ioengine": engine}
            self.reads, self.writes = rw in READS, rw in WRITES
        return bool(self.spec)

    def values(self) -> None:
        """Options that a workload has under the same name."""

        def size(text: str) -> str:
            return fio_options.size(text, self.base)

        def of_direction(read: Callable[[str], Any]) -> Callable[[str], Any]:
            return lambda text: read(fio_options.one_of(text, self.reads, self.writes))

        if "bssplit" in self.left:
            self.take("bssplit", of_direction(lambda text: fio_options.block_mix(text, self.base)))
            self.text("bs")
        elif "bs" not in self.left:
            self.take("bsrange", of_direction(self._range), "bs")
        self.take("bs", of_direction(size))
        if "bs" not in self.spec and "bssplit" not in self.spec:
            self.spec["bs"] = "4KiB"
        for name in _EXTENTS:
            self.take(name, lambda text: fio_options.extent(text, self.base))
        self.take("filesize", size)
        self.take("rate", of_direction(size))
        for name in _NUMBERS:
            self.take(name, fio_options.number)
        for name, bare in _TIMES.items():
            self.take(name, lambda text, bare=bare: fio_options.duration(text, bare=bare))  # type: ignore[misc]
        self.take("latency_percentile", fio_options.percentile)
        self.take("rwmixwrite", lambda text: 100 - fio_options.number(text), "rwmixread")
        self.take("rwmixread", fio_options.number)
        self.take("percentage_random", of_direction(fio_options.number))
        self.take("random_distribution", of_direction(fio_options.distribution))
        for name in _FLAGS:
            given = self.left.pop(name, None)
            if given is not None and given.value not in (None, "0", "1"):
                self.lose(name, f"{given.value} is neither 0 nor 1")
            elif given is not None and given.value != "0":
                self.spec[name] = True
        if "sync" in self.left:
            word = self.text("sync") or "1"
            if word not in _SYNC:
                self.lose("sync", f"{word} is neither none, sync nor dsync")
            elif _SYNC[word] != "none":
                self.spec["sync"] = _SYNC[word]

    def _range(self, text: str) -> str:
        least, _, most = text.partition("-")
        if fio_options.size_bytes(least, self.base) != fio_options.size_bytes(most, self.base):
            raise ValueError("blocks of any size in a range are not known here: use bssplit")
        return fio_options.size(least, self.base)

    def sizes(self) -> None:
        """Keep one of size and filesize, and leave out an io_size that equals the size."""
        given = {name: option.value or "" for name, option in self.job.options.items()}
        if "size" in self.spec and "filesize" in self.spec:
            whole = fio_options.size_bytes(given["filesize"], self.base) * self.spec.get("nrfiles", 1)
            if not given["size"].endswith("%") and fio_options.size_bytes(given["size"], self.base) == whole:
                del self.spec["size"]
            else:
                del self.spec["filesize"]
                self.lose("filesize", "only part of each file would be used: a workload has size or filesize")
        if "io_size" in self.left and given["io_size"] == given.get("size", ""):
            self.text("io_size")

    def conditions(self) -> None:
        """Leave out options that do nothing with this direction, order or engine, in fio as here."""
        if self.spec["ioengine"] not in QUEUED and self.spec.get("iodepth", 1) > 1:
            self.lose("iodepth", f"{self.spec.pop('iodepth')} is 1 with {self.spec['ioengine']}, in fio too", fatal=False)
        if not (self.reads and self.writes):
            self._drop(("rwmixread",), "is about a mix, and this is none")
        # fio repeats its sequence of offsets unless it is told not to; a workload here does not.
        given = self.left.pop("randrepeat", None)
        if self.spec["rw"] not in RANDOM:
            self._drop(_ONLY_RANDOM, "is about random offsets, and these are sequential")
        elif given is None or given.value != "0":
            self.spec["randrepeat"] = True
        for name in ("fsync", "fdatasync"):
            if self.spec.get(name) == 0:
                del self.spec[name]
        if not self.writes:
            self._drop(_ONLY_WRITES, "is about what is written, and nothing is")

    def _drop(self, names: tuple[str, ...], why: str) -> None:
        for name in names:
            if self.spec.pop(name, None) is not None:
                self.lose(name, why, fatal=False)

    def buffering(self) -> None:
        direct, buffered = self.left.pop("direct", None), self.left.pop("buffered", None)
        if (direct is not None and direct.value != "0") or (buffered is not None and buffered.value == "0"):
            return
        if self.spec["ioengine"] == "libaio" and self.spec.get("iodepth", 1) > 1:
            self.lose("iodepth", "libaio keeps no queue without direct=1")
            self.spec.pop("iodepth")
        self.spec |= {"direct": False, "why_buffered": WHY_BUFFERED}

    def length(self) -> None:
        self.take("runtime", lambda text: fio_options.duration(text, bare="s"))
        if "runtime" not in self.spec:
            self.spec["runtime"] = LONGEST
            self.lose("runtime", f"is not given: it ends when its size is done, at the latest after {LONGEST}", fatal=False)
        based = self.left.pop("time_based", None)
        if based is None or based.value == "0":
            self.spec["time_based"] = False

    def rest(self) -> None:
        """Report the options that no workload has."""
        for name, given in self.left.items():
            if "$" in (given.value or ""):
                self.lose(name, f"{clean(given.value)} would be expanded by fio")
            elif name in LEFT_OUT:
                self.lose(name, f"left out: {LEFT_OUT[name]}", fatal=False)
            elif (name if given.value is None else f"{name}={given.value}") in HARMLESS:
                continue
            elif (word := name.partition(" ")[0]) in NEVER:
                self.lose(name, f"{NEVER[word]}, which raidtui never does because a file says so")
            else:
                self.lose(name, "has no counterpart here")


_REMEDY: Final = "Change the job file, or import it with --leave-out."
_BLOCK: Final = {"disk": {"disk": {"on": "@data", "mode": "each"}}}
_FIO_JOB_FILES: Final = {"xfs": {"filesystem": {"type": "xfs", "on": "@data"}}}


class JobFile:
    """Read by raidtui itself: fio's own reader of job files runs code and expands variables."""

    name = "fio-job"
    title = "a job file of fio, as a scenario"

    def claims(self, source: Source) -> bool:
        return looks_like_one(source.data)

    def read(self, sources: Sequence[Source], *, leave_out: bool) -> Imported:
        """Raises ProblemError (`import-fio-job`) with everything that has no counterpart."""
        workloads: dict[str, Any] = {}
        problems: list[Problem] = []
        notes: list[str] = []
        kinds: dict[bool, str] = {}
        for source in sources:
            jobs = read_sections(source)
            losses = list(_together(jobs))
            for job in jobs:
                made = translate(job)
                losses += made.losses
                if made.options is not None:
                    workloads[_free_name(job.name, workloads)] = {"fio": made.options}
                    kinds.setdefault(made.files, job.name)
            problems += [_problem(source, loss) for loss in losses if loss.fatal]
            notes += _notes(source, losses)
        if len(kinds) > 1:
            text = f"{clean(kinds[False])} measures a device and {clean(kinds[True])} measures files"
            raise fail(IMPORT_FIO_JOB, text, place=clean(sources[0].name), remedy="Import them from files of their own.")
        if problems and not leave_out:
            raise ProblemError(*dict.fromkeys(problems))
        if not workloads:
            raise fail(IMPORT_FIO_JOB, "nothing is left that could be measured", place=clean(sources[0].name))
        return Imported(_scenario(sources, workloads, files=True in kinds), ".scenario.json", tuple(notes))


def _together(jobs: Sequence[Section]) -> Iterator[Loss]:
    """Jobs that fio would run at the same time as the one before."""
    for before, job in pairwise(jobs):
        waits = job.options.get("stonewall")
        if (waits is None or waits.value == "0") and "wait_for" not in job.options:
            text = f"{clean(job.name)} and {clean(before.name)} run at the same time in fio, and one after another here"
            yield Loss("stonewall", job.line, text, fatal=True)


def _problem(source: Source, loss: Loss) -> Problem:
    text = loss.why if loss.option == "stonewall" else f"{clean(loss.option)}: {loss.why}"
    return IMPORT_FIO_JOB.problem(clean(text, 400), place=f"{clean(source.name)}:{loss.line}", remedy=_REMEDY)


def _notes(source: Source, losses: Sequence[Loss]) -> Iterator[str]:
    """Yield a sentence for each reason, with the options that it explains."""
    reasons: dict[str, list[str]] = {}
    for loss in losses:
        why = f"left out: {loss.why}" if loss.fatal and loss.option != "stonewall" else loss.why
        options = reasons.setdefault(why, [])
        if loss.option not in options:
            options.append(loss.option)
    for why, options in reasons.items():
        yield clean(f"{source.name}: {', '.join(options)}: {why}.", 2000)


def _scenario(sources: Sequence[Source], workloads: dict[str, Any], *, files: bool) -> dict[str, Any]:
    names = ", ".join(PurePath(source.name).name for source in sources)
    return {
        "schema": "raidtui.scenario/1",
        "name": _name(PurePath(sources[0].name).stem) or "imported",
        "title": clean(f"Imported from {names}", 190),
        "roles": {"data": {"count": 1}},
        "layouts": _FIO_JOB_FILES if files else _BLOCK,
        "workloads": workloads,
        "policy": {"initial_sync": "skip-if-zeroed"},
    }


def _free_name(given: str, taken: dict[str, Any]) -> str:
    name = _name(given) or "job"
    number = 2
    free = name
    while free in taken:
        free, number = f"{name[:56]}-{number}", number + 1
    return free


def _name(text: str) -> str:
    """Turn a text into the form of names in a scenario: lower case, without blanks."""
    return re.sub(r"[^a-z0-9._+-]+", "-", text.lower()).strip("-._+")[:60]


FIO_JOB: Reader = JobFile()
