"""fio's command line. Job files are never used: their parser runs commands and expands variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any, Final

import msgspec

from raidtui.load.fio import images
from raidtui.load.fio.spec import GRAIN_BYTES, FioSpec, files_of, region_of
from raidtui.model.plan import TargetKind
from raidtui.model.units import Duration, Extent, Size

STATUS_INTERVAL_S: Final = 1
# Options that keep fio harmless and its report readable. Threads, because forked workers leave the session and go on
# writing when fio itself is killed.
FIXED: Final = (
    "--output-format=json+",
    f"--status-interval={STATUS_INTERVAL_S}",
    "--eta=never",
    "--group_reporting=1",
    "--percentile_list=50:90:99:99.9:99.99",
    "--clat_percentiles=1",
    "--thread=1",
    "--allow_mounted_write=0",
    "--exitall_on_error=1",
)
_ALWAYS: Final = frozenset({"rw", "ioengine", "iodepth", "numjobs", "runtime", "time_based", "direct", "randrepeat"})
_CREATE: Final[dict[TargetKind, str]] = {
    "block": "--allow_file_create=0", "directory": "--allow_file_create=1", "image": "--allow_file_create=0",
}  # fmt: skip
"""fio must not create a file in place of a removed device; only the folder of a cell may hold files."""
_EXTENTS: Final = ("size", "offset", "offset_increment")
_FILES: Final = ("nrfiles", "filesize")
_NOT_FIOS: Final = frozenset({"why_buffered"})
_DEFAULTS: Final = {field.name: field.default for field in msgspec.structs.fields(FioSpec)}
_PREFILL_BOUND: Final = "7d"


def command(
    spec: FioSpec, paths: Sequence[str], *, fio: str = "fio", size_bytes: int | None = None, kind: TargetKind = "block"
) -> tuple[str, ...]:
    """Return the argv for targets at `paths`, one section each. Images are opened by engines of fio for them.

    With `size_bytes`, regions are in bytes, the same on every device; without, shares stay shares, as a plan shows them
    before the target exists.
    """
    argv = [*images.environment(paths, kind), fio, *FIXED, _CREATE[kind]]
    if not spec.writes:
        argv.append("--readonly")
    own = images.ioengine(paths, kind)
    argv += (f"--ioengine={own}" if own is not None and one.startswith("--ioengine=") else one for one in _options(spec))
    if spec.latency_target is not None:
        # Without latency_run, fio ends as soon as it has found a depth, before the runtime is over.
        argv.append("--latency_run=1")
    if spec.bssplit is not None and spec.random and not spec.norandommap:
        # fio with a random map cuts blocks that overlap used ones, which changes the shares.
        argv.append("--norandommap=1")
    argv += _files(spec, size_bytes) if kind == "directory" else _region(spec, size_bytes)
    for number, path in enumerate(paths):
        argv += [f"--name=d{number}", *_opened(path, kind)]
    return tuple(argv)


def _opened(path: str, kind: TargetKind) -> list[str]:
    """Return the options by which fio opens one part of a target."""
    if kind == "block":
        return [f"--filename={_file_name(path)}"]
    if kind == "directory":
        # fio uses lstat: without the slash, a link to a folder does not count as a folder.
        return [f"--directory={_file_name(path)}/"]
    return images.opened(path)


def prefill_spec(spec: FioSpec, size_bytes: int, *, kind: TargetKind = "block") -> FioSpec:
    """Return sequential writes that cover the region of `spec`, incompressible unless `spec` states otherwise."""
    base = FioSpec(rw="write", iodepth=16, runtime=Duration(_PREFILL_BOUND), time_based=False, refill_buffers=True)
    if spec.buffer_compress_percentage or spec.dedupe_percentage:
        # The data to read is then like the data that the workload writes.
        base = msgspec.structs.replace(
            base, refill_buffers=False, buffer_compress_percentage=spec.buffer_compress_percentage,
            dedupe_percentage=spec.dedupe_percentage,
        )  # fmt: skip
    if kind == "directory":
        # Files with the names and sizes that the workload uses.
        found = files_of(spec, size_bytes)
        return msgspec.structs.replace(
            base, bs=_block(found.each), iodepth=max(1, 16 // spec.numjobs), numjobs=spec.numjobs, nrfiles=spec.nrfiles,
            filesize=Size(f"{found.each}B"), end_fsync=True,
        )  # fmt: skip
    region_bytes = max(0, min(region_of(spec, size_bytes).end, size_bytes))
    rounded = min(-(-region_bytes // GRAIN_BYTES) * GRAIN_BYTES, size_bytes)
    return msgspec.structs.replace(base, bs=_block(rounded), size=Extent(f"{rounded}B"))


def _block(whole_bytes: int) -> Size:
    return Size(f"{gcd(whole_bytes, GRAIN_BYTES)}B")


def _options(spec: FioSpec) -> Iterator[str]:
    for name in spec.__struct_fields__:
        value = getattr(spec, name)
        if value is None or name in _NOT_FIOS or name in _EXTENTS or name in _FILES:
            continue
        if name in _ALWAYS or value != _DEFAULTS.get(name):
            yield f"--{name}={_text(name, value, spec)}"


def _region(spec: FioSpec, size_bytes: int | None) -> Iterator[str]:
    if size_bytes is None:
        for name in _EXTENTS:
            if (extent := getattr(spec, name)) is not None:
                yield f"--{name}={extent.text if extent.bytes is None else extent.bytes}"
        return
    region = region_of(spec, size_bytes)
    yield f"--size={region.size}"
    if region.offset:
        yield f"--offset={region.offset}"
    if region.step:
        yield f"--offset_increment={region.step}"


def _files(spec: FioSpec, size_bytes: int | None) -> Iterator[str]:
    yield f"--nrfiles={spec.nrfiles}"
    if size_bytes is None:
        if spec.filesize is not None:
            yield f"--filesize={spec.filesize.bytes}"
        elif spec.size is not None:
            yield f"--size={spec.size.text if spec.size.bytes is None else spec.size.bytes}"
        return
    found = files_of(spec, size_bytes)
    yield f"--filesize={found.each}"
    yield f"--size={found.job_bytes}"


def _text(name: str, value: Any, spec: FioSpec) -> str:
    if name == "bssplit":
        return ":".join(f"{size}/{share}" for size, share in spec.block_sizes)
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Size):
        return str(value.bytes)
    if isinstance(value, Duration):
        return _time(value, bare_us=name == "thinktime")
    return str(value)


def _time(duration: Duration, *, bare_us: bool) -> str:
    us = round(duration.seconds * 1e6)
    if bare_us:
        return str(us)
    if us % 1_000_000 == 0:
        return f"{us // 1_000_000}s"
    return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"


def _file_name(path: str) -> str:
    if not path.isprintable():
        raise ValueError(f"{path!r} is not a valid path of a target")
    return path.replace("\\", "\\\\").replace(":", "\\:")  # fio splits file names at bare colons
