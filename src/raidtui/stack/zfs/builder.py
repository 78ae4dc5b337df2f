"""Volumes and filesystems of a pool, made and destroyed by pyzfs (libzfs_core). Runs in the builder's process alone.

pyzfs takes numbers where ZFS documents words, and checks next to nothing: `lzc_create` takes a recordsize of 12345. Names
and values therefore go through libzfs itself (ctypes), with the function and in the order of `zfs create`: validation and
translation (`zfs_valid_proplist`), then the reservation of a volume (`zvol_volsize_to_reservation`). No table is copied.
Pools stay commands: neither library can create, import or destroy one.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import libzfs_core
from libzfs_core import _nvlist as nvlists
from libzfs_core.exceptions import NoSpace, ZFSError

from raidtui.base.text import clean
from raidtui.stack.zfs.commands import HOLD, ZfsPool

_FILESYSTEM: Final = 1
_VOLUME: Final = 4
"""ZFS_TYPE_FILESYSTEM and ZFS_TYPE_VOLUME (zfs/sys/fs/zfs.h)."""
_WAIT_FREE: Final = 1
"""ZPOOL_WAIT_FREE (zfs/sys/fs/zfs.h)."""
_NEWEST, _OLDEST = 9, 6
"""Numbers of libzfs.so; 6 is that of OpenZFS 2.3."""

_program = logging.getLogger("program")
Pointer = ctypes.c_void_p
Properties = dict[bytes, int | bytes]


@cache
def _libzfs() -> tuple[Any, Any]:
    """Return libzfs and a handle of it. Raises RuntimeError if it cannot be loaded."""
    for number in range(_NEWEST, _OLDEST - 1, -1):
        try:
            library = ctypes.CDLL(f"libzfs.so.{number}")
            break
        except OSError:
            continue
    else:
        raise RuntimeError("libzfs.so of OpenZFS 2.3 or newer is not installed")
    text, number64 = ctypes.c_char_p, ctypes.c_uint64
    for name, result, arguments in (
        ("libzfs_init", Pointer, ()),
        ("libzfs_print_on_error", None, (Pointer, ctypes.c_int)),
        ("libzfs_error_description", text, (Pointer,)),
        ("zpool_open", Pointer, (Pointer, text)),
        ("zpool_close", None, (Pointer,)),
        ("zfs_valid_proplist", Pointer,
         (Pointer, ctypes.c_int, Pointer, number64, Pointer, Pointer, ctypes.c_int, text)),
        ("zvol_volsize_to_reservation", number64, (Pointer, number64, Pointer)),
    ):  # fmt: skip
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    handle = library.libzfs_init()
    if not handle:
        raise RuntimeError("libzfs cannot be initialized: is the module zfs loaded?")
    library.libzfs_print_on_error(handle, 0)
    return library, handle


@contextmanager
def _opened(pool: str) -> Iterator[Any]:
    """Open a pool for libzfs. Raises RuntimeError with libzfs's words."""
    library, handle = _libzfs()
    found = library.zpool_open(handle, pool.encode())
    if not found:
        raise RuntimeError(_said())
    try:
        yield found
    finally:
        library.zpool_close(found)


def _said() -> str:
    library, handle = _libzfs()
    return clean(library.libzfs_error_description(handle).decode(errors="replace"))


def translate(zpool: ZfsPool, size_bytes: int | None) -> Properties:
    """Return the properties as `zfs create` would pass them to the kernel; `size_bytes` is that of a volume.

    Raises RuntimeError with libzfs's words for what ZFS does not take.
    """
    library, handle = _libzfs()
    given: Properties = {name.encode(): value.encode() for name, value in zpool.own.items()}
    if size_bytes is not None:
        given[b"volsize"] = size_bytes
    kind = _FILESYSTEM if size_bytes is None else _VOLUME
    ffi = nvlists._ffi
    with _opened(zpool.name) as pool:
        asked = nvlists.nvlist_in(given)
        address = int(ffi.cast("uintptr_t", asked))
        checked = library.zfs_valid_proplist(handle, kind, address, 0, None, pool, 1, b"cannot create")
        if not checked:
            raise RuntimeError(_said())
        result: Properties = {}
        with nvlists.nvlist_out(result) as out:
            out[0] = ffi.cast("nvlist_t *", checked)
        if size_bytes is not None and not zpool.sparse:
            whole = nvlists.nvlist_in(result)
            address = int(ffi.cast("uintptr_t", whole))
            result[b"refreservation"] = library.zvol_volsize_to_reservation(pool, size_bytes, address)
    return result


def create(zpool: ZfsPool, size_bytes: int | None = None) -> bool:
    """Create the measured volume of this size, or the filesystem; False if the pool has no room for it."""
    properties = translate(zpool, size_bytes)
    kind = "zfs" if size_bytes is None else "zvol"
    _tell("lzc_create", zpool.dataset, kind, properties)
    try:
        libzfs_core.lzc_create(zpool.dataset.encode(), kind, properties)
    except NoSpace:
        return False
    except ZFSError as error:
        raise _failure(error) from error
    return True


def exists(dataset: str) -> bool:
    """Return True if there is such a volume, filesystem or snapshot."""
    return bool(libzfs_core.lzc_exists(dataset.encode()))


def destroy(dataset: str, snapshot: str = "") -> None:
    """Destroy a volume or filesystem with its snapshot, as far as they exist."""
    if snapshot and exists(snapshot):
        if _is_held(snapshot):
            _tell("lzc_release", snapshot, HOLD)
            _call(libzfs_core.lzc_release, {snapshot.encode(): [HOLD.encode()]})
        _tell("lzc_destroy_snaps", snapshot)
        _call(libzfs_core.lzc_destroy_snaps, [snapshot.encode()], defer=False)
    if exists(dataset):
        _tell("lzc_destroy", dataset)
        _call(libzfs_core.lzc_destroy, dataset.encode())


def sync(pool: str) -> None:
    """Write everything that is dirty in a pool to its disks."""
    _tell("lzc_sync", pool)
    _call(libzfs_core.lzc_sync, pool.encode())


def snapshot(pool: str, snapshot: str) -> None:
    """Take a snapshot of what is on the disks, and hold it."""
    sync(pool)
    _tell("lzc_snapshot", snapshot)
    _call(libzfs_core.lzc_snapshot, [snapshot.encode()])
    hold(snapshot)


def hold(snapshot: str) -> None:
    """Keep others from destroying a snapshot until this process ends, unless it is held already."""
    if not _is_held(snapshot):
        _tell("lzc_hold", snapshot, HOLD)
        _call(libzfs_core.lzc_hold, {snapshot.encode(): HOLD.encode()}, _ends_with_process())


def _is_held(snapshot: str) -> bool:
    return HOLD.encode() in _call(libzfs_core.lzc_get_holds, snapshot.encode())


@cache
def _ends_with_process() -> int:
    """Return a descriptor whose end, which is that of this process, releases what is held by it."""
    return os.open("/dev/zfs", os.O_RDWR | os.O_CLOEXEC)


def roll_back(pool: str, dataset: str, snapshot: str) -> int:
    """Roll a volume or an unmounted filesystem back, and wait until everything that was written since is free.

    Return the bytes written since.
    """
    hold(snapshot)  # again, if another builder took it
    sync(pool)
    _tell("lzc_rollback_to", dataset, snapshot)
    _call(libzfs_core.lzc_rollback_to, dataset.encode(), snapshot.encode())
    sync(pool)
    _wait_until_freed(pool)
    program = b"args = ...; return (zfs.get_prop(args['argv'][1], 'written'))"
    return int(_call(libzfs_core.lzc_channel_program_nosync, pool.encode(), program, params=[dataset.encode()]))


def checkpoint(pool: str) -> None:
    """Take the checkpoint of a pool: what is on its disks now stays there."""
    sync(pool)
    _tell("lzc_pool_checkpoint", pool)
    _call(libzfs_core.lzc_pool_checkpoint, pool.encode())


def _wait_until_freed(pool: str) -> None:
    """Wait until ZFS freed what was destroyed, which it does in the background. pyzfs does not bind this call."""
    core = ctypes.CDLL("libzfs_core.so.3", use_errno=True)
    waited = ctypes.c_int()
    _tell("lzc_wait", pool, "free")
    if code := core.lzc_wait(pool.encode(), _WAIT_FREE, ctypes.byref(waited)):
        raise OSError(code, f"lzc_wait: {os.strerror(code)}")


def _call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function of pyzfs. Raises RuntimeError with its words."""
    try:
        return function(*args, **options)
    except ZFSError as error:
        raise _failure(error) from error


def _tell(function: str, *words: str | Mapping[bytes, int | bytes]) -> None:
    """Tell a call like a command, before it begins: the function, then its arguments, properties as `name=value`."""
    argv = [function]
    for word in words:
        argv += [word] if isinstance(word, str) else [f"{name.decode()}={_text(value)}" for name, value in word.items()]
    _program.info("Running... %s", " ".join(argv))


def _text(value: int | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _failure(error: ZFSError) -> RuntimeError:
    """Return pyzfs's message without its number; it names datasets as bytes."""
    name = error.name.decode(errors="replace") if isinstance(error.name, bytes) else str(error.name or "")
    reasons = [clean(str(each)) for each in getattr(error, "errors", ())]
    return RuntimeError(": ".join(filter(None, (error.message or type(error).__name__, clean(name), *reasons))))
