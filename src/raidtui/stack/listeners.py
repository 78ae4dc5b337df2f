"""Addresses and ports on which something of this server listens already: targets in configfs, and sockets of processes.

Sources: drivers/nvme/target/configfs.c, drivers/target/iscsi/iscsi_target_configfs.c, proc_net(5).
"""

from __future__ import annotations

import ipaddress
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_text
from raidtui.base.text import clean
from raidtui.model.problem import Exit, Problem
from raidtui.stack.configfs import CONFIGFS, word
from raidtui.stack.links import ADDRESS_TAKEN, with_port

_LISTENS: Final = "0A"
"""State of a listening socket in /proc/net/tcp."""


class Tree(NamedTuple):
    """Where the kernel shows listeners."""

    nvmet: Path = CONFIGFS / "nvmet"
    lio: Path = CONFIGFS / "target"
    proc: Path = Path("/proc")


HERE: Final = Tree()


class Listener(NamedTuple):
    """Somebody on an address and a port."""

    who: str
    address: str
    port: str
    rdma: bool
    """It listens by RDMA devices; `tcp` says if by a socket, too."""
    tcp: bool = True
    remedy: str = ""


def taken(address: str, port: str | int, *, tcp: bool, rdma: bool, place: str, tree: Tree = HERE) -> Iterator[Problem]:
    """Yield a problem (`export-address-taken`) if something listens where a target of TCP or RDMA would listen.

    Ports of RDMA are no ports of TCP: a target that has only one kind is in nobody's way who has only the other.
    """
    for one in _listeners(tree, str(port)):
        if ((tcp and one.tcp) or (rdma and one.rdma)) and _same(one.address, address):
            text = f"{with_port(address, port)} is taken: {one.who} listens on {with_port(one.address, one.port)}"
            yield ADDRESS_TAKEN.problem(text, place=place, exit=Exit.REFUSED,
                                        remedy=f"{one.remedy} {ADDRESS_TAKEN.way_out}".strip())  # fmt: skip
            return


def _listeners(tree: Tree, port: str) -> Iterator[Listener]:
    """Yield who listens on a port, those with a name first."""
    yield from _nvme_targets(tree.nvmet, port)
    yield from _portals(tree.lio / "iscsi", port)
    yield from _sockets(tree.proc, port)


def _nvme_targets(nvmet: Path, port: str) -> Iterator[Listener]:
    for folder in sorted(nvmet.glob("ports/*")):
        address, service, kind = (word(folder / f"addr_{name}") or "" for name in ("traddr", "trsvcid", "trtype"))
        names = sorted(path.name for path in (folder / "subsystems").glob("*"))
        # A port listens as long as it offers a subsystem.
        if names and service == port and kind in ("tcp", "rdma"):
            who = f"port {folder.name} of the kernel's NVMe target ({clean(names[0], 120)})"
            remedy = f"Remove {folder}/subsystems/{clean(names[0], 120)} if nobody needs it."
            yield Listener(who, address, port, kind == "rdma", kind == "tcp", remedy)


def _portals(iscsi: Path, port: str) -> Iterator[Listener]:
    for folder in sorted(iscsi.glob("*/tpgt_*/np/*")):
        address, _, own = folder.name.rpartition(":")
        if own == port:
            name = clean(folder.parents[2].name, 200)
            who = f"the iSCSI target {name}"
            yield Listener(who, address.strip("[]"), port, word(folder / "iser") == "1", True,
                           f"targetcli ls /iscsi/{name} shows it; remove it if nobody needs it.")  # fmt: skip


def _sockets(proc: Path, port: str) -> Iterator[Listener]:
    for address, inode in _listening(proc, int(port)):
        found = _owner(proc, inode)
        remedy = f"End {found} if nobody needs it." if found else ""
        yield Listener(found or "a socket of the kernel", _address(address), port, False, True, remedy)


def tcp_listens(port: int) -> bool:
    """Return True if something listens on this TCP port, on any address. Nothing connects to it."""
    return any(_listening(HERE.proc, port))


def _listening(proc: Path, port: int) -> Iterator[tuple[str, str]]:
    """Yield address, as proc_net(5) has it, and inode of each TCP socket that listens on a port."""
    wanted = f"{port:04X}"
    for table in ("tcp", "tcp6"):
        for row in (line.split() for line in (read_text(proc / "net" / table) or "").splitlines()[1:]):
            if len(row) > 9 and row[3] == _LISTENS and (address := row[1].partition(":"))[2] == wanted:
                yield address[0], row[9]


def _owner(proc: Path, inode: str) -> str:
    """Return the process that has a socket open; empty if none has."""
    for folder in proc.glob("[0-9]*") if inode != "0" else ():
        with suppress(OSError):
            for fd in (folder / "fd").iterdir():
                with suppress(OSError):
                    if str(fd.readlink()) == f"socket:[{inode}]":
                        name = clean(read_text(folder / "comm") or "?", 40)
                        return f"{name} (pid {folder.name})"
    return ""


def _address(text: str) -> str:
    """Return the address that /proc/net/tcp or tcp6 shows: words of 32 bits in the processor's order."""
    if not re.fullmatch(r"[0-9A-F]{8}|[0-9A-F]{32}", text):
        return text
    words = struct.pack(f"={len(text) // 8}I", *(int(text[at : at + 8], 16) for at in range(0, len(text), 8)))
    found = ipaddress.ip_address(words)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def _same(listens: str, address: str) -> bool:
    """Return True if what listens on one address is in the way of the other."""
    try:
        one, other = ipaddress.ip_address(listens.partition("%")[0]), ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return listens == address
    # `::` takes IPv4 too, unless its socket says otherwise, which nothing shows.
    return one == other or (one.is_unspecified and (one.version == 6 or other.version == 4))
