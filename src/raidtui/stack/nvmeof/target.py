"""The kernel's NVMe target (nvmet): its configfs as a list of changes, made in order and removed in any state.

Source: drivers/nvme/target/configfs.c.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.auth import SHOWN, no_auth
from raidtui.stack.configfs import CONFIGFS, Change, word
from raidtui.stack.links import ADDRESS_TAKEN, family, with_port
from raidtui.stack.nvmeof.spec import Export

NVMET: Final = CONFIGFS / "nvmet"
MODEL: Final = "raidtui"
KEY_FILE: Final = "dhchap_key"

TAKEN: Final = Refusal(
    "nvmeof-taken",
    "A name of the export is taken",
    "The kernel's NVMe target has a subsystem, host or port with a planned name already. It is not this run's and was not "
    "touched.",
    "Run it again: every plan has new names.",
)
REFUSED: Final = Refusal(
    "nvmeof-refused",
    "The kernel's NVMe target refuses the export",
    "A write into configfs failed; the message names the file. If it is the link of a port, the target cannot "
    "listen on its address.",
    "Look at the kernel's messages (dmesg).",
)


def subsystem(export: Export) -> Path:
    return NVMET / "subsystems" / export.nqn


def host(export: Export) -> Path:
    return NVMET / "hosts" / export.host_nqn


def port(export: Export) -> Path:
    return NVMET / "ports" / str(export.port)


def export_changes(export: Export, paths: Mapping[str, str], key: str = SHOWN) -> Iterator[Change]:
    """Yield the changes that export the devices; nobody can connect before the last. `paths`: of the devices below."""
    own, entry = subsystem(export), port(export)
    yield Change("mkdir", host(export))
    if export.key:
        yield Change("write", host(export) / KEY_FILE, key, secret=True)
    yield Change("mkdir", own)
    yield Change("write", own / "attr_serial", export.name)
    yield Change("write", own / "attr_model", MODEL)
    yield Change("link", own / "allowed_hosts" / export.host_nqn, str(host(export)))
    for number, namespace in enumerate(export.devices, 1):
        folder = own / "namespaces" / str(number)
        yield Change("mkdir", folder)
        yield Change("write", folder / "device_path", paths[namespace.on])
        yield Change("write", folder / "device_uuid", namespace.uuid)
        yield Change("write", folder / "enable", "1")
    yield Change("mkdir", entry)
    yield Change("write", entry / "addr_trtype", export.transport)
    yield Change("write", entry / "addr_traddr", export.address)
    if export.service:
        yield Change("write", entry / "addr_adrfam", family(export.address))
        yield Change("write", entry / "addr_trsvcid", export.service)
    if export.in_capsule_bytes is not None:
        yield Change("write", entry / "param_inline_data_size", str(export.in_capsule_bytes))
    yield Change("link", entry / "subsystems" / export.nqn, str(own))


def make(export: Export, paths: Mapping[str, str], key: str = "") -> tuple[Argv, ...]:
    """Export the devices, and return the commands. Raises ProblemError (`nvmeof-taken`, `nvmeof-refused`)."""
    done: list[Argv] = []
    for change in export_changes(export, paths, key):
        if change.secret and not change.path.exists():
            raise ProblemError(no_auth("CONFIG_NVME_TARGET_AUTH", export.name))
        try:
            change.make()
        except FileExistsError:
            raise fail(TAKEN, f"{change.path} exists already", place=str(change.path), remedy=TAKEN.way_out,
                       exit=Exit.REFUSED) from None  # fmt: skip
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise fail(ADDRESS_TAKEN, f"another target listens on {with_port(export.address, export.service)}",
                           place=export.name, remedy=ADDRESS_TAKEN.way_out, exit=Exit.BUILD_FAILED) from error  # fmt: skip
            text = f"{change.path}: {error.strerror}" + (f" ({change.told})" if change.value else "")
            raise fail(REFUSED, text, place=export.name, remedy="Look at dmesg.", exit=Exit.BUILD_FAILED) from error
        done.append(change.argv)
    return tuple(done)


def read(export: Export) -> dict[str, Any]:
    """Return the export as configfs has it; None for what is missing."""
    own, entry = subsystem(export), port(export)
    folders = sorted((own / "namespaces").glob("*"), key=lambda path: int(path.name))
    return {
        "namespaces": [{"uuid": word(one / "device_uuid"), "enabled": word(one / "enable")} for one in folders],
        "serial": word(own / "attr_serial"),
        "any_host": word(own / "attr_allow_any_host"),
        "hosts": sorted(path.name for path in (own / "allowed_hosts").glob("*")),
        "authenticated": (word(host(export) / KEY_FILE) or "").startswith("DHHC-"),
        "transport": word(entry / "addr_trtype"),
        "family": word(entry / "addr_adrfam") if export.service else "",
        "address": word(entry / "addr_traddr"),
        "service": word(entry / "addr_trsvcid") if export.service else "",
        "in_capsule_bytes": _number(entry / "param_inline_data_size") if export.in_capsule_bytes is not None else None,
        "ports": [int(path.parents[1].name) for path in _links(export)],
    }


def asked(export: Export) -> dict[str, Any]:
    """Return what `read` has to find."""
    return {
        "namespaces": [{"uuid": one.uuid, "enabled": "1"} for one in export.devices],
        "serial": export.name,
        "any_host": "0",
        "hosts": [export.host_nqn],
        "authenticated": bool(export.key),
        "transport": export.transport,
        "family": family(export.address) if export.service else "",
        "address": export.address,
        "service": export.service,
        "in_capsule_bytes": export.in_capsule_bytes,
        "ports": [export.port],
    }


def backing_paths(export: Export) -> list[str | None]:
    """Return the path of the device behind each namespace."""
    folder = subsystem(export) / "namespaces"
    return [word(folder / str(number) / "device_path") for number in range(1, len(export.devices) + 1)]


def _number(path: Path) -> int | None:
    text = word(path) or ""
    return int(text) if text.lstrip("-").isdigit() else None


def _links(export: Export) -> list[Path]:
    """Return the links by which ports offer the subsystem."""
    return sorted(NVMET.glob(f"ports/*/subsystems/{export.nqn}"))


def _is_our_port(export: Export) -> bool:
    """Return True if the port is this run's: each part of its address is the planned one, or not written yet."""
    entry = port(export)
    if not entry.is_dir() or any((entry / "subsystems").iterdir()):
        return False
    address, service = word(entry / "addr_traddr"), word(entry / "addr_trsvcid")
    return address in (None, "", export.address) and service in (None, "", export.service)


def removals(export: Export) -> Iterator[tuple[Argv, Callable[[], None]]]:
    """Yield what removes the part of the export that still exists, as command and function, in the order to do it."""
    own = subsystem(export)
    for link in _links(export):
        yield ("rm", str(link)), link.unlink
    if _is_our_port(export):
        yield ("rmdir", str(port(export))), port(export).rmdir
    for folder in sorted((own / "namespaces").glob("*")):
        off = Change("write", folder / "enable", "0")
        yield off.argv, off.make
        yield ("rmdir", str(folder)), folder.rmdir
    for link in sorted((own / "allowed_hosts").glob("*")):
        yield ("rm", str(link)), link.unlink
    for folder in (own, host(export)):
        if folder.is_dir():
            yield ("rmdir", str(folder)), folder.rmdir


def remove(export: Export) -> tuple[tuple[Argv, ...], str]:
    """Remove what exists of the export. Return the commands, and what could not be removed, as a sentence or empty."""
    done: list[Argv] = []
    for argv, work in removals(export):
        with suppress(FileNotFoundError):
            try:
                work()
            except FileNotFoundError:
                raise
            except OSError as error:
                return tuple(done), f"{' '.join(argv)}: {error.strerror}"
        done.append(argv)
    return tuple(done), ""


def remove_argvs(export: Export) -> tuple[Argv, ...]:
    """Return the commands that remove a whole export."""
    own = subsystem(export)
    namespaces = [own / "namespaces" / str(number) for number in range(1, len(export.devices) + 1)]
    return (
        ("rm", str(port(export) / "subsystems" / export.nqn)),
        ("rmdir", str(port(export))),
        *(argv for folder in namespaces
          for argv in (Change("write", folder / "enable", "0").argv, ("rmdir", str(folder)))),
        ("rm", str(own / "allowed_hosts" / export.host_nqn)),
        ("rmdir", str(own)),
        ("rmdir", str(host(export))),
    )  # fmt: skip


def exists(export: Export) -> bool:
    """Return True if anything of the export exists in configfs."""
    return any(os.path.lexists(path) for path in (subsystem(export), host(export))) or _is_our_port(export)
