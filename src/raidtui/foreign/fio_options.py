"""Options in a job file of fio: its sections and lines, the values, and options without a counterpart in a scenario.

Nothing is expanded, included or run. Every function that reads a value raises ValueError with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from raidtui.base.text import clean
from raidtui.foreign.sources import Source
from raidtui.model.problem import Refusal, fail

IMPORT_FIO_JOB: Final = Refusal(
    "import-fio-job",
    "The fio job cannot be imported as it is",
    "The job file contains something that raidtui never does (run commands, open files, pick devices by itself) or "
    "cannot do, and leaving it out would change what is measured.",
    "Change the job file, or import it with --leave-out, which lists what was left out.",
)
MAX_BYTES: Final = 1 << 20
MAX_SECTIONS: Final = 200
_SECTION: Final = re.compile(r"\[(.+)\]")
_COMMENT: Final = re.compile(r"[;#].*")
ALIASES: Final = {
    "readwrite": "rw", "blocksize": "bs", "blockalign": "ba", "timeout": "runtime", "iodepth_batch": "iodepth_batch_submit",
    "iodepth_batch_complete": "iodepth_batch_complete_min", "io_limit": "io_size", "memory": "mem",
    "wait_for_previous": "stonewall",
    "nr_files": "nrfiles",
}  # fmt: skip


class Given(NamedTuple):
    """The value of one option, None where it stands alone, and its line."""

    value: str | None
    line: int


class Section(NamedTuple):
    """A job: its name and its options, with those of the global sections before it."""

    name: str
    line: int
    options: dict[str, Given]


def looks_like_one(data: bytes) -> bool:
    """Sections in brackets, of which one or the globals say what is done or with which engine."""
    text = data[:65536].decode("utf-8", "replace")
    return bool(
        re.search(r"^\s*\[[^\]\n]+\]\s*(?:[;#].*)?$", text, re.MULTILINE)
        and re.search(r"^\s*(?:rw|readwrite|ioengine|bs|blocksize)\s*=", text, re.MULTILINE)
    )


def read_sections(source: Source) -> list[Section]:
    """Return all jobs of the file. Raises ProblemError (`import-fio-job`) for other or too large files."""
    if len(source.data) > MAX_BYTES:
        raise _wrong(source, 0, "it is larger than any job file")
    try:
        text = source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong(source, 0, f"byte {error.start} is not UTF-8") from None
    jobs: list[Section] = []
    common: dict[str, Given] = {}
    here: dict[str, Given] | None = None
    for line, content in _contents(text):
        if match := _SECTION.fullmatch(content):
            name = match.group(1).strip()
            if name == "global":
                here = common
                continue
            # A later global section holds for the jobs that follow it alone.
            here = dict(common)
            jobs.append(Section(name, line, here))
            if len(jobs) > MAX_SECTIONS:
                raise _wrong(source, line, f"it has more than {MAX_SECTIONS} jobs")
        elif here is None:
            raise _wrong(source, line, "an option stands before any section")
        else:
            name, equals, value = content.partition("=")
            name = ALIASES.get(name.strip(), name.strip())
            here[name] = Given(value.strip() if equals else None, line)
    if not jobs:
        raise _wrong(source, 0, "it has no job")
    return jobs


def _contents(text: str) -> Iterator[tuple[int, str]]:
    for line, content in enumerate(text.splitlines(), 1):
        if content := _COMMENT.sub("", content).strip():
            yield line, content


def _wrong(source: Source, line: int, message: str) -> Exception:
    place = f"{clean(source.name)}:{line}" if line else clean(source.name)
    return fail(IMPORT_FIO_JOB, message, place=place, remedy="Is it a job file of fio's?")


def _words(text: str, reason: str) -> dict[str, str]:
    """Return the reason for each word of a text."""
    return dict.fromkeys(text.split(), reason)


LEFT_OUT: Final = {
    **_words("filename directory filename_format unique_filename lockfile allow_mounted_write allow_file_create",
             "the layout says what is measured"),
    **_words("name description group_reporting write_bw_log write_lat_log write_iops_log write_hist_log bwavgtime "
             "iopsavgtime log_avg_msec log_hist_msec log_hist_coarseness log_entries log_max_value log_offset log_prio "
             "log_compression log_compression_cpus log_store_compressed log_unix_epoch log_alternate_epoch per_job_logs "
             "clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures disk_util "
             "unified_rw_reporting block_error_percentiles stats unit_base kb_base",
             "raidtui reports and keeps its series in its own way"),
    **_words("stonewall wait_for exitall exit_what new_group startdelay", "workloads run one after another"),
    **_words("create_serialize create_fsync create_on_open fallocate unlink unlink_each_loop openfiles file_append",
             "raidtui lays its files out, and removes them, in its own way"),
    **_words("thread exitall_on_error", "raidtui runs fio with threads, and stops at the first error"),
    **_words("userspace_reap", "it changes how completions are fetched, not what is measured"),
}  # fmt: skip
"""Options without which the same is measured; they are left out, with a note."""
HARMLESS: Final = _words(
    "invalidate invalidate=1 scramble_buffers scramble_buffers=1 loops=1 pre_read=0 zero_buffers=0 gtod_reduce=0 "
    "thinktime_blocks=1 thinktime_spin=0 file_service_type=roundrobin latency_run=0 do_verify=0 verify=0 "
    "random_generator=tausworthe io_submit_mode=inline continue_on_error=none fadvise_hint=0 fadvise_hint=1 "
    "iodepth_mode=stepped create_only=0 zonemode=none ignore_error=0 mem=malloc fsync_on_close=0 fill_device=0 "
    "sync_file_range=0 allrandrepeat=0 rate_ignore_thinktime=0 rw_sequencer=sequential rate_process=linear "
    "norandommap=0", "fio does so anyway"
)
"""Options that say what fio does anyway."""
NEVER: Final = {
    **_words("exec_prerun exec_postrun program arguments", "runs a command"),
    **_words("include read_iolog write_iolog opendir merge_blktrace_file verify_state_load verify_state_save",
             "opens a file"),
    **_words("replay_redirect", "picks a device by itself"),
    **_words("ioscheduler cgroup", "changes the server"),
    **_words("uid gid", "changes the user"),
    **_words("profile", "makes jobs of its own"),
}  # fmt: skip
"""Options that raidtui never takes over from a file."""
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NUMBER: Final = re.compile(r"(0x[0-9a-fA-F]{1,15}|[0-9]{1,18})([kmgtp]?)(i?)(b?)", re.IGNORECASE)
_TIME: Final = re.compile(r"([0-9]{1,12})(d|h|m|s|ms|us|msec|usec|sec)?", re.IGNORECASE)
_US: Final = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "sec": 1_000_000,
              "ms": 1000, "msec": 1000, "us": 1, "usec": 1}  # fmt: skip
_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def size_bytes(text: str, base: int) -> int:
    """Bytes. With `base` 1024, fio's default, `4k` and `4kb` are 4096 and `4kib` is 4000; with 1000 it is the reverse."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a plain size")
    number, power, i, b = (group.lower() for group in match.groups())
    flipped = bool(i and b)
    step = base if not flipped else {1024: 1000, 1000: 1024}[base]
    return int(number, 0) * int(step ** _POWERS[power])


def size(text: str, base: int) -> str:
    """A size with its unit, exact: `4KiB`, `10GiB`, `1000B`."""
    count = size_bytes(text, base)
    if count >= 10**15:
        raise ValueError(f"{text} is larger than any disk")
    for unit_bytes, unit in _UNITS:
        if count and count % unit_bytes == 0:
            return f"{count // unit_bytes}{unit}"
    return f"{count}B"


def extent(text: str, base: int) -> str:
    """A size, or a share as it is: `80%`."""
    if re.fullmatch(r"[0-9]{1,3}%", text):
        return text
    return size(text, base)


def duration(text: str, *, bare: str) -> str:
    """A time; a number alone counts in `bare` (`s` or `us`)."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a plain time")
    us = int(match.group(1)) * _US[(match.group(2) or bare).lower()]
    if us % 1_000_000 == 0:
        return f"{us // 1_000_000}s"
    whole, rest = divmod(us, 1000)
    return f"{whole}ms" if not rest else f"{whole}.{rest:03d}ms"


def number(text: str) -> int:
    """A whole number, maybe with fio's suffixes: `1k` operations are 1024."""
    return size_bytes(text, 1024)


def percentile(text: str) -> float:
    """A share in percent, which may be a fraction."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text):
        raise ValueError(f"{text} is not a share in percent")
    return float(text)


def one_of(text: str, reads: bool, writes: bool) -> str:
    """Return the value for one direction out of `read,write,trim`. The first one applies to all that are left out."""
    parts = text.split(",")
    read, write = parts[0], parts[1] if len(parts) > 1 and parts[1] else parts[0]
    if reads and writes and read != write:
        raise ValueError(f"{text} differs for reads and writes")
    return write if writes and not reads else read


def block_mix(text: str, base: int) -> str:
    """`4k/60:64k/40`; shares that are left out get equal parts of what is left."""
    found: list[tuple[str, int | None]] = []
    for part in text.split(":"):
        block, _, share = part.partition("/")
        found.append((size(block, base), int(share) if share else None))
    return ":".join(f"{block}/{share}" for (block, _), share in zip(found, _filled([s for _, s in found]), strict=True))


def distribution(text: str) -> str:
    """`zipf:1.2`, `zoned:50/5:30/15:20/80` …; shares of zones that are left out get what is left."""
    kind, colon, rest = text.partition(":")
    if kind != "zoned" or not colon:
        if not re.fullmatch(r"random|(zipf|pareto|normal):[0-9.]+", text):
            raise ValueError(f"{text} is not a distribution that is known here")
        return text
    zones = [part.split("/") for part in rest.split(":")]
    if not all(len(zone) == 2 and zone[0].isdigit() for zone in zones):
        raise ValueError(f"{text} has zones that are not access/size in percent")
    sizes = _filled([int(zone[1]) if zone[1] else None for zone in zones])
    return "zoned:" + ":".join(f"{zone[0]}/{share}" for zone, share in zip(zones, sizes, strict=True))


def _filled(shares: list[int | None]) -> list[int]:
    missing = shares.count(None)
    left = 100 - sum(share for share in shares if share is not None)
    if missing and (left <= 0 or left % missing):
        raise ValueError("shares that are left out cannot be filled in")
    return [left // missing if share is None else share for share in shares]
